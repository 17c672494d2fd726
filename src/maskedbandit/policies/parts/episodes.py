"""Episodes that double an arm's count: what the policies of the AdaP family share.

An arm is played until its number of users has doubled, and only the rewards of that episode count. The first user of
every arm is an episode too. Between releases nothing changes that a decision depends on, so an episode is one cohort.

With late rewards the next episode begins while the last is in flight, and the bound is as wide as if the last had shown
the mean that was released. Episodes double whatever was released, so each bound holds as it does without a delay; what
regret this leads to is not proved.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_positive
from maskedbandit.core import Decision, Floats, kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.batches import close_cohort
from maskedbandit.policies.policy import Policy


class State(NamedTuple):
    """The largest released episode of each arm, which is the last one if none overtook another."""

    mean: np.ndarray  # [k] of the released rewards of that episode
    size: np.ndarray  # [k] their number
    n: np.ndarray  # [k] users of all its episodes
    asked: np.ndarray  # [k] see batches.py
    flight: np.ndarray  # [k] see batches.py
    clock: np.ndarray  # [1] see batches.py
    score: np.ndarray  # [k] at the last decision
    beta: float


@kernel
def latest_size(s: State, a: int) -> int:
    """Users of the arm's last episode, as if those in flight had shown the released mean."""
    return max(s.size[a], s.asked[a] - s.asked[a] // 2) if s.flight[a] > 0 else s.size[a]


@dataclass(frozen=True)
class EpisodePolicy(Policy):
    """A policy of episodes; a subclass chooses the next arm. `beta` is the factor of ln t in its bound."""

    goal = "regret"

    beta: float = 3.1

    def __post_init__(self) -> None:
        check_positive("beta", self.beta)

    def init(self, k: int, horizon: int) -> State:
        size, n, asked, flight = np.zeros((4, k), np.int64)
        count = size, n, asked, flight, np.zeros(1, np.int64)
        return State(np.zeros(k), *count, np.zeros(k), float(self.beta))

    def means(self, s: State) -> Floats:
        return np.where(s.size > 0, s.mean, np.nan)

    @staticmethod
    @abstractmethod
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision: ...

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if n >= s.size[arm]:
            s.mean[arm] = total / n
            s.size[arm] = n
        close_cohort(s, arm, n)
