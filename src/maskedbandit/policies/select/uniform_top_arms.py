"""The m best arms by uniform rounds and intervals: a baseline that does not adapt its pulls.

The answer is the m arms of the highest means, once the least lower end of their intervals is at least the greatest
upper end of all others.

**Guarantee**: wrong with probability ≤ δ, on every channel whose releases are independent, plus the channel's `failure`
for each sum that may wrap around: an answer is wrong only if an interval is (uniform_rounds.py).

The baseline is this project's own; the guarantee is argued in parts/uniform_rounds.py.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import Decision, Floats, kernel, large_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.selection import SelectedArms, Selection, Top
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
    inside: np.ndarray  # [k] 1: among the m best
    best: int  # how many arms are asked for


@kernel
def separated(s: State) -> bool:
    """Whether the arms of the highest means are above all others, by all intervals; marks these arms."""
    order = np.argsort(-(s.rounds.total / s.rounds.n), kind="mergesort")  # ties stay as they are, however it runs
    s.inside[:] = 0
    worst, other = 1.0, 0.0
    for rank in range(order.size):
        if rank < s.best:
            s.inside[order[rank]] = 1
            worst = min(worst, s.rounds.low[order[rank]])
        else:
            other = max(other, s.rounds.high[order[rank]])
    return s.best == order.size or worst >= other


@dataclass(frozen=True)
class UniformTopArms(Selection):
    """Rounds of equal cohorts of all arms, until the intervals of the `m` best are above those of all others.

    With each round the users of an arm grow by `ratio`; a cohort has at least `least`.

    >>> from maskedbandit.law import NO_NOISE, Law
    >>> s = UniformTopArms(m=1).init(k=2, delta=0.1)
    >>> UniformTopArms.ask(s, Law(NO_NOISE), rng=None)
    Decision(arm=0, n=8, close=1)
    """

    m: int = 2
    ratio: float = 1.5
    least: int = 1

    def __post_init__(self) -> None:
        Top(self.m)
        check_round_sizes(self.ratio, self.least)

    @property
    def question(self) -> Top:
        return Top(int(self.m))

    def init(self, k: int, delta: float) -> State:
        return State(begin_rounds(k, delta, self.ratio, self.least), np.zeros(k, np.int64), min(int(self.m), k))

    def means(self, s: State) -> Floats:
        return means_of(s.rounds.total, s.rounds.n)

    def selected(self, s: State) -> SelectedArms:
        answer: SelectedArms = s.inside == 1
        return answer

    @staticmethod
    @large_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if round_is_over(s.rounds):
            enclose_means(s.rounds, law)
            if separated(s):
                return Decision(int(np.argmax(s.rounds.total / s.rounds.n)), 0, 0)
        return next_of_round(s.rounds, law)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        record_cohort(s.rounds, arm, n, total)
