"""Logs of visits: the user, the candidates, the article shown, its probability, and whether it was clicked.

A folder of a log holds

    articles.parquet       id, f1 ... f6: the articles; their rows are the arms
    pools.parquet          arms: the arms that could be shown
    events-00000.parquet   time, arm, click, pool, u1 ... u6, propensity; then events-00001.parquet and so on
    log.json               written last: the number of events, their source files, and what was irregular in them
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from maskedbandit.core import Floats, Integers

CHUNK = 2**16


class Chunk(NamedTuple):
    """Some consecutive events."""

    time: Integers
    user: Floats  # [n, d]
    arm: Integers  # row of the articles
    click: Floats  # 0 or 1
    pool: Integers  # row of the pools
    propensity: Floats  # the probability with which the arm was shown


class Log(ABC):
    """Visits in order of time, read a chunk at a time, so that memory does not grow with their number."""

    d: int  # numbers of a user
    k: int  # articles in all
    events: int
    recorded: bool  # whether every seed gives the same events
    least: float  # no candidate was shown with a smaller probability
    radius: float  # a bound on the norm of every user's features, from the format, not from the users
    article_radius: float

    @abstractmethod
    def pools(self) -> tuple[Integers, Integers]:
        """Starts, one more than there are pools, and arms: those of pool p are arms[starts[p]:starts[p + 1]]."""

    @abstractmethod
    def articles(self) -> tuple[Integers, Floats]:
        """Ids, and features [k, d]."""

    @abstractmethod
    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        """The events; if they are drawn, the same seed gives the same events."""
