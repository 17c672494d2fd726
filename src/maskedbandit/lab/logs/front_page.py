"""The log of a front page: the recorded one if there is one, and otherwise a generated one of the same kind."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from maskedbandit.core import Floats, Integers
from maskedbandit.lab.logs.log import Chunk, Log
from maskedbandit.lab.logs.newsroom import Newsroom
from maskedbandit.lab.logs.recorded_log import FINISHED, RADIUS, RecordedLog


@dataclass(frozen=True)
class FrontPage(Log):
    """The log that `maskedbandit convert` wrote to a folder; if there is none, `Newsroom(events, seed)`.

    >>> FrontPage(folder="no/such/folder", events=1000).real
    Newsroom(events=1000, seed=0, size=20, lifetime=3400000, bias=0.0, d=6, k=20, least=0.05)
    """

    folder: str = "data/front_page/log"
    events: int = 1_000_000
    seed: int = 0
    real: Log = field(init=False)
    radius = article_radius = RADIUS

    def __post_init__(self) -> None:
        there = (Path(self.folder) / FINISHED).exists()
        real = RecordedLog(Path(self.folder)) if there else Newsroom(self.events, self.seed)
        object.__setattr__(self, "real", real)
        for name in ("events", "k", "d", "least", "recorded"):
            object.__setattr__(self, name, getattr(real, name))

    def pools(self) -> tuple[Integers, Integers]:
        return self.real.pools()

    def articles(self) -> tuple[Integers, Floats]:
        return self.real.articles()

    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        return self.real.chunks(seed)
