"""Episodes that double an arm's count: what the policies of the AdaP family share.

An arm is played until its number of users has doubled, and only the rewards of that episode count. The first user of
every arm is an episode too. Between releases nothing changes that a decision depends on, so an episode is one cohort.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.checks import check_positive
from maskedbandit.core import Decision, kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.batches import close
from maskedbandit.policies.policy import Policy


class State(NamedTuple):
    """The last episode of each arm."""

    mean: np.ndarray  # [k] of the released rewards of its last episode
    size: np.ndarray  # [k] their number
    n: np.ndarray  # [k] users of all its episodes
    clock: np.ndarray  # [2] see batches.py
    score: np.ndarray  # [k] at the last decision
    beta: float


@dataclass(frozen=True)
class EpisodePolicy(Policy):
    """A policy of episodes; a subclass chooses the next arm. `beta` is the factor of ln t in its bound."""

    goal = "regret"

    beta: float = 3.1

    def __post_init__(self) -> None:
        check_positive("beta", self.beta)

    def init(self, k: int, horizon: int) -> State:
        count = np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros(2, np.int64)
        return State(np.zeros(k), *count, np.zeros(k), float(self.beta))

    def means(self, s: State) -> npt.NDArray[np.float64]:
        return np.where(s.size > 0, s.mean, np.nan)

    @staticmethod
    @abstractmethod
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision: ...

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        s.mean[arm] = total / n
        s.size[arm] = n
        close(s, arm, n)
