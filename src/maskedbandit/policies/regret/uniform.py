"""Uniform assignment, the classical test without adaptation: every user gets an arm drawn uniformly.

It closes no cohort, so it learns nothing and nothing is released. Regret: T * (mean gap).

It is this project's own baseline, and its regret follows from what it does.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import Decision, kernel
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy


class State(NamedTuple):
    """The number of arms."""

    k: int


@dataclass(frozen=True)
class Uniform(Policy):
    """Every arm with the same probability, up to the horizon.

    >>> Uniform().ask(State(3), law=None, rng=np.random.default_rng(1))
    Decision(arm=1, n=1, close=0)
    """

    goal = "regret"

    def needs(self, law: Law) -> str:
        return ""

    def init(self, k: int, horizon: int) -> State:
        return State(k)

    def means(self, s: State) -> None:
        return None

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        return Decision(int(rng.integers(0, s.k)), 1, 0)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        pass
