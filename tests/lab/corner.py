"""A small log, whose visits are independent, with pools of different sizes; and the same users, really served."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.lab.logs.log import Chunk, Log
from maskedbandit.lab.worlds.contexts import ArmAnswer, Contexts
from maskedbandit.privacy.statistics import clip_vector

RATES = np.array([[0.1, 0.2, 0.1], [0.7, 0.8, 0.9]])  # of clicks, by group and article
POOLS = np.array([0, 2, 5]), np.array([0, 1, 0, 1, 2])  # of two and of three articles
CHANCES = np.array([[[0.8, 0.2, 0.0], [0.2, 0.8, 0.0]], [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]])  # by pool and group


@dataclass(frozen=True)
class Corner(Log):
    """Users of two groups; group 1 mostly comes with the pool of three articles, group 0 with that of two.

    Articles are shown with the same chance, or, if `biased`, group by group.
    """

    events: int = 400
    biased: bool = False
    least: float = 0.2
    pieces: int = 1  # that its visits are told in

    d = 2
    k = 3
    recorded = False
    radius = article_radius = 2**0.5

    def pools(self):
        return POOLS

    def articles(self):
        return np.arange(3), np.eye(3, 2)

    def chunks(self, seed=0):
        rng = np.random.Generator(np.random.PCG64([17, seed]))
        group = rng.integers(0, 2, self.events)
        pool = (rng.random(self.events) < np.where(group, 0.95, 0.05)).astype(np.int64)
        chance = CHANCES[pool, group] if self.biased else np.where(np.arange(3) < 2 + pool[:, None], 1, 0)
        chance = chance / chance.sum(axis=1, keepdims=True)
        arm = (rng.random((self.events, 1)) >= np.cumsum(chance, axis=1)[:, :2]).sum(axis=1)
        click = (rng.random(self.events) < RATES[group, arm]).astype(float)
        user = np.stack([np.ones(self.events), group.astype(float)], axis=1)
        visits = np.arange(self.events), user, arm, click, pool, chance[np.arange(self.events), arm]
        for some in np.array_split(np.arange(self.events), self.pieces):
            yield Chunk(*(column[some] for column in visits))


class CornerParameters(NamedTuple):
    """Pools, and the chances of a click."""

    starts: np.ndarray
    arms: np.ndarray
    rates: np.ndarray


@dataclass(frozen=True)
class Live(Contexts):
    """The same users, really served."""

    d = 2
    k = 3
    rows = 1
    signed = False

    def parameters(self):
        return CornerParameters(*POOLS, RATES)

    @staticmethod
    @kernel
    def present(numbers, i, t, x, stream):
        group = stream.generator.integers(0, 2)
        x[0, 0] = 1.0 / np.sqrt(2.0)
        x[0, 1] = group / np.sqrt(2.0)
        clip_vector(x[0], False)
        return 1 if stream.generator.random() < (0.95 if group == 1 else 0.05) else 0

    @staticmethod
    @kernel
    def answer(numbers, i, t, x, arm, stream):
        rate = numbers.rates[1 if x[0, 1] > 0.0 else 0, arm]
        return ArmAnswer(1.0, 1.0 if stream.generator.random() < rate else 0.0, rate, rate)
