"""A recorded log: a folder that `maskedbandit convert` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.logs.log import CHUNK, Chunk, Integers, Log, Reals

FINISHED = "log.json"

RADIUS = 2**0.5  # a constant 1, and shares that add up to 1


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
        folder = Path(self.folder)
        try:
            about = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
            known = {name: about[name] for name in ("events", "k", "d", "least")}
        except (OSError, ValueError, KeyError, TypeError):
            raise InvalidValue("log", str(self.folder), "a folder that `maskedbandit convert` finished") from None
        for name, value in {"folder": folder, "about": about, **known}.items():
            object.__setattr__(self, name, value)

    def pools(self) -> tuple[Integers, Integers]:
        lists = self._table("pools")["arms"]
        starts = np.concatenate([[0], np.cumsum(lists.list.len().to_numpy())])
        return starts.astype(np.int64), lists.explode().to_numpy().astype(np.int64)

    def articles(self) -> tuple[Integers, Reals]:
        table = self._table("articles")
        return table["id"].to_numpy().astype(np.int64), self._numbers(table, "f")

    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        for part in range(self.about["parts"]):
            whole = self._table(f"events-{part:05d}")
            for start in range(0, whole.height, CHUNK):
                table = whole[start : start + CHUNK]
                time, arm, pool = (table[name].to_numpy().astype(np.int64) for name in ("time", "arm", "pool"))
                click, propensity = (table[name].to_numpy().astype(np.float64) for name in ("click", "propensity"))
                yield Chunk(time, self._numbers(table, "u"), arm, click, pool, propensity)

    def _table(self, name: str) -> Any:
        import polars as pl  # not at the top: generated logs need none

        return pl.read_parquet(self.folder / f"{name}.parquet")

    def _numbers(self, table: Any, letter: str) -> Reals:
        columns = [table[f"{letter}{i + 1}"].to_numpy() for i in range(self.d)]
        return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.float64)
