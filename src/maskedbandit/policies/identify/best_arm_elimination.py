"""Successive elimination until one arm is left: uniform pulls of the arms that may still be the best [EMM06].

Every round pulls each arm left once. After t rounds m_a is the mean of arm a, B the arm left with the highest, and Z_Bb
the likelihood ratio of B over b (see one_by_one.py). Arm b is dropped if

    Z_Bb ≥ ln((K − 1)/δ) + the loss of both arms,

the rule `threshold="proved"` (see thresholds.py), or, with "published" [EMM06], if

    m_B − m_b ≥ 2 √(ln(5 K t² / δ) / t).

The best arm is dropped with probability ≤ δ. With the first rule it is dropped only if another arm ever passes the
threshold at which a policy of two arms stops, and each of the K − 1 others does so with probability ≤ δ / (K − 1); the
bound holds at all times, so for all rounds, whichever arms are left. The second rule is proved, with slack, by
Hoeffding's inequality. Both hold on the raw channel for rewards in [0, 1], and on randomized response for its bits,
whose gaps are smaller.

Arms of equal means are never distinguished. So if the best arm was dropped, which happens with probability ≤ δ, and the
best of the others are equal, the policy does not stop: set a limit on the number of users.

Users = O(Σ_a ln(K / (δ gap_a)) / gap_a²), the best arm with the least gap, with probability 1 − δ [EMM06].

Departures: the first rule is this project's; the second is that of the paper.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice
from maskedbandit.core import WAIT, Decision, kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.one_by_one import (
    ASKED,
    BEST,
    PROVED,
    RELEASED,
    Coins,
    OneByOnePolicy,
    begin_coins,
    is_certain,
    recount_arm,
    serve_one,
    z_ratio,
)


class State(NamedTuple):
    """Statistics of the rewards, and the arms that are left."""

    coins: Coins
    left: np.ndarray  # [k] 1: not eliminated
    turn: np.ndarray  # [1] next arm of this round
    delta: float


@kernel
def following(left: np.ndarray, arm: int) -> int:
    """The first arm left from this one on; k if there is none."""
    while arm < left.size and left[arm] == 0:
        arm += 1
    return int(arm)


@kernel
def eliminate(s: State, law: Law) -> None:
    """Drop every arm that is certain not to be the best."""
    c, best = s.coins, -1
    for a in range(s.left.size):
        if s.left[a] == 1:
            recount_arm(c, law, a)
            if best < 0 or c.mean[a] > c.mean[best]:
                best = a
    t, c.clock[BEST] = float(c.n[best]), best
    width = 2 * math.sqrt(math.log(5 * s.left.size * t * t / s.delta) / t)
    for b in range(s.left.size):
        if s.left[b] == 1 and b != best:
            c.z[b] = z_ratio(c, best, b)
            if is_certain(c, b) if c.threshold == PROVED else c.mean[best] - c.mean[b] >= width:
                s.left[b] = 0


@dataclass(frozen=True)
class BestArmElimination(OneByOnePolicy):
    """Rounds of single pulls; arms that cannot be the best are dropped.

    `threshold` is "proved", the sharper rule, or "published", which is proved too.

    >>> from maskedbandit.law import NO_NOISE
    >>> s = BestArmElimination().init(k=2, delta=0.01)
    >>> BestArmElimination.ask(s, Law(NO_NOISE), np.random.default_rng(1))
    Decision(arm=0, n=1, close=1)
    """

    threshold: Literal["proved", "published"] = "proved"

    def __post_init__(self) -> None:
        check_choice("threshold", self.threshold, ("proved", "published"))

    def init(self, k: int, delta: float) -> State:
        return State(begin_coins(k, delta, self.threshold), np.ones(k, np.int64), np.zeros(1, np.int64), float(delta))

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        arm = following(s.left, s.turn[0])
        if arm == s.left.size:
            if s.coins.clock[RELEASED] < s.coins.clock[ASKED]:
                return WAIT
            eliminate(s, law)
            arm = following(s.left, 0)
            if following(s.left, arm + 1) == s.left.size:
                return Decision(arm, 0, 0)
        s.turn[0] = arm + 1
        return serve_one(s.coins, arm)
