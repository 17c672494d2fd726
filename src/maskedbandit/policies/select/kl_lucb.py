"""KL-LUCB: the m best arms without privacy, by the two arms that are hardest to separate [KK13].

Every arm once; then, with J the m arms of the highest means, the arm of the least lower bound in J and the arm of the
greatest upper bound outside it, in turn, until the first bound is at least the second. The bounds of an arm of mean p
after n rewards are the ends of

    {q : n kl(p, q) ≤ ln(K / δ) + R},         R the redundancy of thresholds.py.

By Ville's inequality an arm's interval ever misses its mean with probability ≤ δ / K, as the average likelihood over
that of the true mean is a supermartingale from 1. So an answer is wrong with probability ≤ δ, on the raw channel for
rewards in [0, 1], and on randomized response for its bits.

The policy decides after every single user, and waits for each release: for rewards that come late use another one.

Departures: the rate ln(K / δ) + R is this project's; the rates of [KK13] grow with the number of all users instead.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import Decision, kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.choice import NONE_YET, mark_highest, weigh_arm
from maskedbandit.policies.parts.one_by_one import (
    LAST,
    add_reward,
    count_ones,
    first_pull,
    lacks_coins,
    none_due,
    serve_one,
)
from maskedbandit.policies.parts.selection import SelectedArms, Selection, Top
from maskedbandit.theory.divergences import kl_upper
from maskedbandit.theory.thresholds import redundancy


class State(NamedTuple):
    """Statistics of each arm's coins, and which arms look best."""

    total: np.ndarray  # [k] released
    n: np.ndarray  # [k]
    mean: np.ndarray  # [k] of the coins
    low: np.ndarray  # [k]
    high: np.ndarray  # [k]
    inside: np.ndarray  # [k] 1: among the m highest means
    clock: np.ndarray  # [5] as in one_by_one.py, then whether the bounds are of all arms, and the arm that is next
    sure: float  # ln(K / delta)
    best: int  # how many arms are asked for


ALL, NEXT = 3, 4


@kernel
def enclose_arm(s: State, law: Law, a: int) -> None:
    """Bring the interval of an arm up to date."""
    n = float(s.n[a])
    x = count_ones(law, s.total[a], n)
    s.mean[a] = x / n
    rate = (s.sure + redundancy(x, n)) / n
    s.high[a], s.low[a] = kl_upper(s.mean[a], rate), 1 - kl_upper(1 - s.mean[a], rate)


@dataclass(frozen=True)
class KLLUCB(Selection):
    """The weakest of the `m` best arms and the strongest of all others, one user at a time.

    >>> from maskedbandit.law import NO_NOISE
    >>> s = KLLUCB(m=1).init(k=2, delta=0.01)
    >>> KLLUCB.ask(s, Law(NO_NOISE), np.random.default_rng(1))
    Decision(arm=0, n=1, close=1)
    """

    m: int = 2

    def __post_init__(self) -> None:
        Top(self.m)

    @property
    def question(self) -> Top:
        return Top(int(self.m))

    def needs(self, law: Law) -> str:
        return lacks_coins(law)

    def init(self, k: int, delta: float) -> State:
        total, mean, low = np.zeros((3, k))
        n, inside = np.zeros((2, k), np.int64)
        clock = np.array([0, 0, 0, 0, -1])
        return State(total, n, mean, low, np.ones(k), inside, clock, math.log(k / delta), min(int(self.m), k))

    def selected(self, s: State) -> SelectedArms:
        answer: SelectedArms = s.inside == 1
        return answer

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not none_due(s):
            return first_pull(s)
        for a in range(s.n.size):
            if s.clock[ALL] == 0 or a == s.clock[LAST]:
                enclose_arm(s, law, a)
        s.clock[ALL] = 1
        if s.clock[NEXT] >= 0:
            arm, s.clock[NEXT] = s.clock[NEXT], -1
            return serve_one(s, arm)
        mark_highest(s.mean, s.best, s.inside, rng)
        weakest, strongest = NONE_YET, NONE_YET
        for a in range(s.n.size):
            if s.inside[a] == 1:
                weakest = weigh_arm(weakest, a, -s.low[a], rng)
            else:
                strongest = weigh_arm(strongest, a, s.high[a], rng)
        if s.best == s.n.size or s.low[weakest.arm] >= s.high[strongest.arm]:
            return Decision(int(np.argmax(s.mean)), 0, 0)
        s.clock[NEXT] = strongest.arm
        return serve_one(s, weakest.arm)

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        add_reward(s, arm, n, total)
