"""Uniform assignment, the A/B/n test that never adapts: every user gets an arm drawn uniformly.

It closes no cohort, so it learns nothing and nothing is released. Regret: T * (mean gap).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from maskedbandit.core import Decision, kernel
from maskedbandit.policies.policy import Policy


class State(NamedTuple):
    """Uniform assignment remembers nothing."""

    k: int


@dataclass(frozen=True)
class Uniform(Policy):
    """Every arm with the same probability, for ever.

    >>> import numpy as np
    >>> Uniform().ask(State(3), law=None, rng=np.random.default_rng(1))
    Decision(arm=1, n=1, close=0)
    """

    goal = "regret"

    def init(self, k: int, horizon: int) -> State:
        return State(k)

    @staticmethod
    @kernel
    def ask(s, law, rng):  # type: ignore[no-untyped-def]  # a kernel's types are inferred when it is compiled
        return Decision(int(rng.integers(0, s.k)), 1, 0)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):  # type: ignore[no-untyped-def]  # a kernel's types are inferred when it is compiled
        pass
