"""Means that change now and then, each arm in its own way: another arm may be best from then on.

A policy that has found the best arm has little reason to ask for the others again, and sums that were released before a
change favour the arm that was best then. RestartingKLUCB is for such arms (docs/changing_arms.md). Policies that are
robust against drift that all arms share (drifting.py) are not robust against this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from maskedbandit.core import Floats, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, draw_uniform
from maskedbandit.lab.worlds.instance import Expected, Instance, check_means, no_sum
from maskedbandit.lab.worlds.named_means import listed_means
from maskedbandit.privacy.exact import to_whole


class ChangingParameters(NamedTuple):
    """The true means, all lists, the best of each, and how many users each list has."""

    means: Floats
    lists: Floats  # [lists, k]
    best: Floats  # [lists]
    every: int


@dataclass(frozen=True)
class Changing(Instance):
    """Rewards of 0 and 1. Each list of means holds for `every` users, then the next one; after the last, the first.

    Regret compares every user with the arm that is best for that user. The true means, by which a search for the best
    arm is judged, are the first list.

    >>> world = Changing([[0.6, 0.5], [0.4, 0.5]], every=1000)
    >>> [float(Changing.expected(world.parameters(), 0, t).mean) for t in (999, 1000, 1999, 2000)]
    [0.6, 0.4, 0.4, 0.6]
    """

    means: Sequence[Sequence[float]]
    every: int
    bits = True
    moves = True
    example: ClassVar = {"means": [[0.3, 1.0, 0.0], [0.6, 0.2, 0.0]], "every": 7000}

    def __post_init__(self) -> None:
        try:
            lists = [tuple(check_means("means", each).tolist()) for each in self.means]
        except TypeError:
            raise InvalidValue("means", self.means, "a list of lists of numbers, one for each arm") from None
        if len(lists) < 2 or any(len(each) != len(lists[0]) for each in lists):
            raise InvalidValue("means", self.means, "at least two lists with as many numbers each, one for each arm")
        object.__setattr__(self, "means", tuple(lists))
        object.__setattr__(self, "every", to_whole("every", self.every, 1))

    @classmethod
    def from_table(cls, means: Any, every: Any, k: Any = 10, seed: Any = 0) -> Self:
        return cls([listed_means(each, k, seed) for each in means] if isinstance(means, list) else means, every)

    def true_means(self) -> Floats:
        return np.array(self.means[0])

    def parameters(self) -> ChangingParameters:
        lists = np.array(self.means)
        return ChangingParameters(self.true_means(), lists, lists.max(axis=1), self.every)

    @staticmethod
    @kernel
    def expected(i: ChangingParameters, arm: int, t: int) -> Expected:
        now = t // i.every % i.best.size
        return Expected(i.lists[now, arm], i.best[now])

    @staticmethod
    @kernel
    def one(i: ChangingParameters, arm: int, t: int, g: int, stream: Rewards) -> float:
        return max(g, 1.0) * (draw_uniform(stream, t) < i.lists[t // i.every % i.best.size, arm])

    many = no_sum
