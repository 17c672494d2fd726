"""Means that change at one time, each in its own way: another arm may be best from then on.

Nothing in this package protects against it. A policy that has found the best arm has little reason to ask for the
others again, and sums that were released before the change speak for what was best then. It is here as the control of
what does protect, and against what: drift that all arms share (drifting.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, uniform
from maskedbandit.lab.worlds.instance import Expected, Floats, Instance, checked, no_sum
from maskedbandit.lab.worlds.named_means import listed_means
from maskedbandit.privacy.exact import whole


class ChangingParameters(NamedTuple):
    """Means after and before the change, the best of them, and the first user after it."""

    means: Floats
    best: float
    before: Floats
    best_before: float
    when: int


@dataclass(frozen=True)
class Changing(Instance):
    """Rewards of 0 and 1, with `means` for the users before user `when`, and `after` from that user on.

    Regret compares every user with the arm that is best for that user. The true means, by which a search for the best
    arm is judged, are those after the change.

    >>> world = Changing([0.6, 0.5], after=[0.4, 0.5], when=1000)
    >>> [float(Changing.expected(world.parameters(), 0, t).mean) for t in (999, 1000)], world.true_means()
    ([0.6, 0.4], array([0.4, 0.5]))
    """

    means: Sequence[float]
    after: Sequence[float]
    when: int
    bits = True
    moves = True
    example: ClassVar = {"means": [0.3, 1.0, 0.0], "after": [0.6, 0.2, 0.0], "when": 7000}

    def __post_init__(self) -> None:
        for name in ("means", "after"):
            object.__setattr__(self, name, tuple(checked(name, getattr(self, name)).tolist()))
        if len(self.means) != len(self.after):
            raise InvalidValue("after", self.after, f"a list of {len(self.means)} numbers, one for each arm")
        object.__setattr__(self, "when", whole("when", self.when, 0))

    @classmethod
    def from_table(cls, means: Any, after: Any, when: Any, k: Any = 10, seed: Any = 0) -> Self:
        return cls(listed_means(means, k, seed), listed_means(after, k, seed), when)

    def true_means(self) -> Floats:
        return np.array(self.after)

    def parameters(self) -> ChangingParameters:
        return ChangingParameters(self.true_means(), max(self.after), np.array(self.means), max(self.means), self.when)

    @staticmethod
    @kernel
    def expected(i: ChangingParameters, arm: int, t: int) -> Expected:
        return Expected(i.before[arm], i.best_before) if t < i.when else Expected(i.means[arm], i.best)

    @staticmethod
    @kernel
    def one(i: ChangingParameters, arm: int, t: int, g: int, stream: Rewards) -> float:
        return max(g, 1.0) * (uniform(stream, t) < (i.before[arm] if t < i.when else i.means[arm]))

    many = no_sum
