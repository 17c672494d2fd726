"""Logs of visits: who came, what could be shown, what was, with which chance, and whether it was clicked.

A folder of a log holds

    articles.parquet       id, f1 ... f6: the articles; their rows are the arms
    pools.parquet          arms: the arms that could be shown
    events-00000.parquet   time, arm, click, pool, u1 ... u6, propensity; then events-00001.parquet and so on
    log.json               written last: how many events there are, from which files, and what was irregular in them
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.errors import InvalidValue

CHUNK = 2**16
FINISHED = "log.json"
RADIUS = 2**0.5  # a constant 1, and shares that add up to 1

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Chunk(NamedTuple):
    """Some events in a row."""

    time: Integers
    user: Reals  # [n, d]
    arm: Integers  # row of the articles
    click: Reals  # 0 or 1
    pool: Integers  # row of the pools
    propensity: Reals  # the chance with which the arm was shown


class Log(ABC):
    """Visits in order of time, read a chunk at a time, so that memory does not grow with their number."""

    d: int  # numbers of a user
    k: int  # articles in all
    events: int
    recorded: bool  # whether every seed gives the same events
    least: float  # no candidate was shown with a smaller chance
    radius: float  # no user is longer, as the format of the log has it; nothing is learned from users for it
    article_radius: float

    @abstractmethod
    def pools(self) -> tuple[Integers, Integers]:
        """Starts and arms: those of pool p are arms[starts[p]:starts[p + 1]]."""

    @abstractmethod
    def articles(self) -> tuple[Integers, Reals]:
        """Ids, and features [k, d]."""

    @abstractmethod
    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        """The events; where they are drawn, a seed gives the same ones again."""


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
