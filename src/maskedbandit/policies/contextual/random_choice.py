"""Random choice: every arm of the pool with the same probability, whatever the context: a baseline.

It receives no releases, so nothing that it shows depends on a user: its loss is zero on every channel.

It is this project's own, and has nothing else to prove.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.contextual_policy import Aim, NoReleasePolicy


class State(NamedTuple):
    """Empty."""

    unused: int = 0


@dataclass(frozen=True)
class RandomChoice(NoReleasePolicy):
    """Any arm.

    >>> from maskedbandit.law import NO_NOISE
    >>> s, pool, rng = RandomChoice().init(k=9, aim=Aim(d=1, horizon=10)), np.array([3, 8]), np.random.default_rng(1)
    >>> sorted({RandomChoice.ask(s, np.ones((1, 1)), pool, Law(NO_NOISE), rng) for _ in range(40)})
    [3, 8]
    """

    def init(self, k: int, aim: Aim) -> State:
        return State()

    @staticmethod
    @kernel
    def ask(s: State, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        return int(pool[int(rng.random() * pool.size)])
