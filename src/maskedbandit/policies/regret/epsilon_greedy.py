"""Epsilon-greedy: the best mean so far, but for a share of users who get any arm [ACF02, Fig. 3].

    arm = argmax_a X_a / n_a   with probability 1 − explore,     any of the k arms, each as likely, else

X_a is the released total of the n_a users of an arm; an arm without a release is next. Every user is a cohort, so on a
channel with noise every reward carries a whole draw of it.

Regret ≥ explore (mean gap) T: linear, as exploring never ends. With `decay` the share falls with the users t, as
min{1, decay / t}, which has regret O(decay ln T) if decay > 5 k / gap², gap the least one [ACF02, Thm. 3].

Departures: ties are broken at random. `explore` is ε there, which stands for privacy here.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_fraction, check_positive
from maskedbandit.core import Decision, Floats, kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.choice import NONE_YET, pick_fewest, weigh_arm
from maskedbandit.policies.policy import Policy, means_of


class State(NamedTuple):
    """Released totals, and how many users were asked for."""

    total: np.ndarray  # [k]
    n: np.ndarray  # [k] released
    asked: np.ndarray  # [k]
    clock: np.ndarray  # [1] users asked for
    explore: float
    decay: float  # 0: the share does not fall


@dataclass(frozen=True)
class EpsilonGreedy(Policy):
    """A baseline that explores with a fixed probability, or with one that falls as `decay` / t.

    >>> s = EpsilonGreedy(explore=0.1).init(k=2, horizon=10)
    >>> for arm, reward in ((0, 0.0), (1, 1.0)):
    ...     EpsilonGreedy.tell(s, arm, 1, reward)
    >>> EpsilonGreedy.ask(s, law=None, rng=np.random.default_rng(1))
    Decision(arm=1, n=1, close=1)
    """

    goal = "regret"

    explore: float = 0.1
    decay: float | None = None

    def __post_init__(self) -> None:
        check_fraction("explore", self.explore)
        if self.decay is not None:
            check_positive("decay", self.decay)

    def init(self, k: int, horizon: int) -> State:
        (n, asked), clock = np.zeros((2, k), np.int64), np.zeros(1, np.int64)
        return State(np.zeros(k), n, asked, clock, float(self.explore), float(self.decay or 0))

    def means(self, s: State) -> Floats:
        return means_of(s.total, s.n)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        s.clock[0] += 1
        share = min(1.0, s.decay / s.clock[0]) if s.decay > 0.0 else s.explore
        arm = pick_fewest(s.asked, rng)
        if s.n.min() > 0:
            best = NONE_YET
            for a in range(s.n.size):
                best = weigh_arm(best, a, s.total[a] / s.n[a], rng)
            arm = int(rng.integers(0, s.n.size)) if rng.random() < share else best.arm
        s.asked[arm] += 1
        return Decision(int(arm), 1, 1)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        s.total[arm] += total
        s.n[arm] += n
