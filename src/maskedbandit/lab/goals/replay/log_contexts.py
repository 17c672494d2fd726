"""A log as a source of contexts: the features of each visit, and what was clicked."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.core import Floats, Integers, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.logs.log import Chunk, Log
from maskedbandit.lab.streams import Rewards
from maskedbandit.lab.worlds.contexts import ArmAnswer, Contexts
from maskedbandit.privacy.statistics import clip_vector


class Page(NamedTuple):
    """Some visits of a log, and its tables."""

    starts: Integers
    arms: Integers
    user: Floats  # [n, numbers of a user]
    shown: Integers
    click: Floats
    pool: Integers
    propensity: Floats
    articles: Floats  # [k, numbers of an article]
    scale: float  # brings contexts into the unit ball


def refuse_impossible(chunk: Chunk, least: float) -> None:
    """Raise unless propensities are in the range that the log states, and clicks are 0 or 1, as the loss assumes."""
    possible = (chunk.propensity >= least * (1 - 1e-9)) & (chunk.propensity <= 1)  # false of nan
    if not np.all(possible):
        allowed = f"a probability from {least:g}, the least that the log states, to 1"
        raise InvalidValue("propensity", float(chunk.propensity[~possible][0]), allowed)
    bits = (chunk.click == 0) | (chunk.click == 1)
    if not np.all(bits):
        raise InvalidValue("click", float(chunk.click[~bits][0]), "0 or 1")


@dataclass(frozen=True)
class LogContexts(Contexts):
    """The contexts of a log: the features of the user, or their products with those of each article."""

    log: Log
    context: Literal["user", "product"]
    signed = False
    pools = True

    def __post_init__(self) -> None:
        if not isinstance(self.log, Log):
            raise InvalidValue("log", self.log, "a log, such as RecordedLog(folder) or Newsroom()")
        if self.context not in ("user", "product"):
            raise InvalidValue("context", self.context, "'user' or 'product'")

    @property
    def k(self) -> int:
        return self.log.k

    @property
    def d(self) -> int:
        return self.log.d if self.context == "user" else self.log.d * self.log.articles()[1].shape[1]

    @property
    def rows(self) -> int:
        return 1 if self.context == "user" else self.k

    def page(self, chunk: Chunk) -> Page:
        """The numbers of a chunk, after a check."""
        refuse_impossible(chunk, self.log.least)
        articles, product = self.log.articles()[1], self.context == "product"
        scale = 1 / (self.log.radius * (self.log.article_radius if product else 1.0))
        (starts, arms), own = self.log.pools(), articles if product else articles[:0]
        return Page(starts, arms, chunk.user, chunk.arm, chunk.click, chunk.pool, chunk.propensity, own, scale)

    @staticmethod
    @kernel
    def present(page: Page, i: int, t: int, x: Floats, stream: Rewards) -> int:
        pool, width = page.pool[i], page.user.shape[1]
        if page.articles.shape[0] == 0:
            for a in range(width):
                x[0, a] = page.user[i, a] * page.scale
            clip_vector(x[0], False)
            return pool
        for position in range(page.starts[pool], page.starts[pool + 1]):
            arm = page.arms[position]
            for a in range(width):
                for b in range(page.articles.shape[1]):
                    x[arm, a * page.articles.shape[1] + b] = page.user[i, a] * page.articles[arm, b] * page.scale
            clip_vector(x[arm], False)
        return pool

    @staticmethod
    @kernel
    def answer(page: Page, i: int, t: int, x: Floats, arm: int, stream: Rewards) -> ArmAnswer:
        if page.shown[i] != arm:
            return ArmAnswer(0.0, 0.0, 0.0, 0.0)
        return ArmAnswer(1.0 / page.propensity[i], page.click[i], 0.0, 0.0)
