"""All arms above a threshold by uniform rounds and intervals: a baseline that does not adapt its pulls.

An arm is above θ if its interval is above θ − tolerance, and below if its interval is below θ + tolerance. All arms get
users until all are decided.

**Guarantee**: wrong in any arm with probability ≤ δ, on every channel whose releases are independent, plus the
channel's `failure` for each sum that may wrap around: an answer is wrong only if an interval is (uniform_rounds.py).

The baseline is this project's own; the guarantee is argued in parts/uniform_rounds.py.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import Decision, Floats, kernel, large_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.selection import Above, SelectedArms, Selection
from maskedbandit.policies.parts.uniform_rounds import (
    UniformRounds,
    begin_rounds,
    check_round_sizes,
    enclose_means,
    next_of_round,
    record_cohort,
    round_is_over,
)
from maskedbandit.policies.policy import means_of


class State(NamedTuple):
    """Intervals, and which arms they name."""

    rounds: UniformRounds
    above: np.ndarray  # [k] 1: above theta
    theta: float
    tolerance: float


@kernel
def all_decided(s: State) -> bool:
    """Whether every interval is on one side of theta; marks the arms above."""
    every = True
    for a in range(s.above.size):
        up, down = s.rounds.low[a] > s.theta - s.tolerance, s.rounds.high[a] < s.theta + s.tolerance
        s.above[a] = 1 if up and (not down or s.rounds.total[a] >= s.theta * s.rounds.n[a]) else 0
        every = every and (up or down)
    return every


@dataclass(frozen=True)
class UniformArmsAbove(Selection):
    """Rounds of equal cohorts of all arms, until every interval is on one side of `theta`.

    Arms whose means are within `tolerance` of `theta` may be named or not. With each round the users of an arm grow by
    `ratio`; a cohort has at least `least`.

    >>> from maskedbandit.law import NO_NOISE, Law
    >>> s = UniformArmsAbove(theta=0.3).init(k=2, delta=0.1)
    >>> UniformArmsAbove.ask(s, Law(NO_NOISE), rng=None)
    Decision(arm=0, n=8, close=1)
    """

    theta: float = 0.5
    tolerance: float = 0.0
    ratio: float = 1.5
    least: int = 1

    def __post_init__(self) -> None:
        Above(self.theta, self.tolerance)
        check_round_sizes(self.ratio, self.least)

    @property
    def question(self) -> Above:
        return Above(float(self.theta), float(self.tolerance))

    def init(self, k: int, delta: float) -> State:
        known = begin_rounds(k, delta, self.ratio, self.least), np.zeros(k, np.int64)
        return State(*known, float(self.theta), float(self.tolerance))

    def means(self, s: State) -> Floats:
        return means_of(s.rounds.total, s.rounds.n)

    def selected(self, s: State) -> SelectedArms:
        answer: SelectedArms = s.above == 1
        return answer

    @staticmethod
    @large_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if round_is_over(s.rounds):
            enclose_means(s.rounds, law)
            if all_decided(s):
                return Decision(int(np.argmax(s.rounds.total / s.rounds.n)), 0, 0)
        return next_of_round(s.rounds, law)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        record_cohort(s.rounds, arm, n, total)
