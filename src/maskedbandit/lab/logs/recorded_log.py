"""A recorded log: a folder that `maskedbandit convert` wrote."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maskedbandit.core import Floats, Integers
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.logs.log import CHUNK, Chunk, Log
from maskedbandit.privacy.exact import to_whole

FINISHED = "log.json"

RADIUS = 2**0.5  # a constant 1, and memberships that add up to 1


@dataclass(frozen=True)
class RecordedLog(Log):
    """A log in a folder, which is the same for every seed.

    Parameters
    ----------
    folder : where `maskedbandit convert` wrote it

    >>> RecordedLog("no/such/folder")
    Traceback (most recent call last):
    maskedbandit.errors.InvalidValue: log is 'no/such/folder': it must be a folder that `maskedbandit convert` finished
    """

    recorded = True
    radius = article_radius = RADIUS

    folder: Path
    events: int = field(init=False)
    k: int = field(init=False)
    d: int = field(init=False)
    least: float = field(init=False)
    about: dict[str, Any] = field(init=False, compare=False, repr=False)  # what log.json says

    def __post_init__(self) -> None:
        try:
            folder = Path(self.folder)
            about = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
            known = {name: about[name] for name in ("events", "k", "d", "parts", "least")}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            given: Any = self.folder  # a table, for one
            shown = str(given) if isinstance(given, str | Path) else type(given).__name__
            allowed = "a folder that `maskedbandit convert` finished" + (
                "" if isinstance(given, str | Path) else "; a data frame is read by FrameLog"
            )
            raise InvalidValue("log", shown, allowed) from None
        least = known.pop("least")
        if not isinstance(least, int | float) or not 0 < least <= 1:
            raise InvalidValue(f"least in {folder / FINISHED}", least, "a probability above 0")
        for name, value in known.items():
            to_whole(f"{name} in {folder / FINISHED}", value, 1, 10**12)
        del known["parts"]
        for name, value in {"folder": folder, "about": about, "least": least, **known}.items():
            object.__setattr__(self, name, value)

    def pools(self) -> tuple[Integers, Integers]:
        with self._damage("pools"):
            lists = self._table("pools")["arms"]
            starts = np.concatenate([[0], np.cumsum(lists.list.len().to_numpy())]).astype(np.int64)
            arms = lists.explode().to_numpy().astype(np.int64)
        self._refuse_outside("pools", "arms", arms, self.k)
        return starts, arms

    def articles(self) -> tuple[Integers, Floats]:
        with self._damage("articles"):
            table = self._table("articles")
            ids, features = table["id"].to_numpy().astype(np.int64), self._numbers(table, "f")
        if ids.size != self.k:
            raise InvalidValue("articles.parquet", ids.size, f"{self.k} rows, as {FINISHED} says")
        return ids, features

    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        pools = self.pools()[0].size - 1
        for part in range(self.about["parts"]):
            name = f"events-{part:05d}"
            with self._damage(name):
                events = self._table(name)
            for start in range(0, events.height, CHUNK):
                with self._damage(name):
                    table = events[start : start + CHUNK]
                    time, arm, pool = (table[each].to_numpy().astype(np.int64) for each in ("time", "arm", "pool"))
                    click, propensity = (table[each].to_numpy().astype(np.float64) for each in ("click", "propensity"))
                    user = self._numbers(table, "u")
                self._refuse_outside(name, "arm", arm, self.k)
                self._refuse_outside(name, "pool", pool, pools)
                yield Chunk(time, user, arm, click, pool, propensity)

    def _table(self, name: str) -> Any:
        import polars as pl  # not at the top: generated logs need none

        return pl.read_parquet(self.folder / f"{name}.parquet")

    def _numbers(self, table: Any, letter: str) -> Floats:
        columns = [table[f"{letter}{i + 1}"].to_numpy() for i in range(self.d)]
        return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.float64)

    @contextmanager
    def _damage(self, name: str) -> Iterator[None]:
        """Raise an error that names the file, whatever is wrong with it."""
        import polars as pl

        try:
            yield
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, TypeError, ValueError) as wrong:
            reason = str(wrong).partition("\n")[0]
            allowed = f"a folder that `maskedbandit convert` wrote: {name}.parquet cannot be read ({reason})"
            raise InvalidValue("log", str(self.folder), allowed) from None

    def _refuse_outside(self, file: str, column: str, rows: Integers, size: int) -> None:
        """Raise unless all rows are in the other table, which compiled loops do not check."""
        outside = rows[(rows < 0) | (rows >= size)]
        if outside.size:
            name = f"{column} in {self.folder / file}.parquet"
            raise InvalidValue(name, int(outside[0]), f"a row from 0 to {size - 1} of the table that it points to")
