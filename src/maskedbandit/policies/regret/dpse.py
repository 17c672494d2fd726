"""DP-SE: successive elimination in epochs that halve the gap they look for [SS19, Alg. 1].

Epoch e gives every arm that is left to R new users and, from this epoch's sums alone, keeps the arms with

    max_c X_c / R − X_a / R ≤ 2 h + 2 c,
    R = 1 + floor(max{32 y / D², 8 r / D}),   D = 2^−e,   y = ln(8 A e² / p),   r = radius(noise, ln(4 A e² / p)),
    h = √(y / (2R)),   c = r / R,

A the number of arms left. The users of an epoch come in random order, and the next epoch waits for its sums, which say
who is in it. If devices drop out, h and c are those of the least number of users in a sum of the epoch.

Regret = O(Σ_a ln T / gap_a + k ln T / ε) with p = 1/T, under central trust [SS19, Thm. 4.4].

Departures: with discrete Laplace noise r = ln(4 A e² / p) / ε, and the epochs are those of the paper. On channels whose
noise grows with R, R is the least such number. An epoch that cannot finish by the horizon is not begun, unless
`unfinished="start"`.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice, check_fraction
from maskedbandit.core import Decision, Floats, kernel
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.successive_elimination import (
    AWAITED,
    BATCH,
    UNLIMITED_USERS,
    answer_best,
    arms_left,
    batch_means,
    begin_batch,
    eliminate_arms,
    fewest_users,
    next_of_batch,
    record_sum,
)


class State(NamedTuple):
    """The arms that are left and the current epoch."""

    mean: np.ndarray  # [k] of the last epoch
    left: np.ndarray  # [k] 1: not eliminated
    clock: np.ndarray  # [6] as in successive elimination
    p: float


@kernel
def epoch_size(law: Law, arms: int, e: int, p: float) -> int:
    """R, the number of users per arm in epoch e."""
    y, x, gap = math.log(8 * arms * e * e / p), math.log(4 * arms * e * e / p), 0.5**e
    n = 1 + math.floor(32 * y / (gap * gap))
    for _ in range(200):  # the radius grows at most like sqrt(n), so this climbs to the least solution
        needed = 1 + math.floor(max(32 * y / (gap * gap), 8 * radius(law, 1, n, x) / gap))
        if needed <= n:
            break
        n = needed
    return n


@dataclass(frozen=True)
class DPSE(Policy):
    """Sajed and Sheffet's elimination; `failure` is p, by default 1 / horizon; `unfinished` as in batched elimination.

    >>> from maskedbandit.law import LAPLACE
    >>> law = Law(LAPLACE, scale=10.0, grid=1, per_release=1)
    >>> [epoch_size(law, 5, e, 1e-5) for e in (1, 2, 3, 4, 5)]
    [2322, 8494, 35634, 147247, 603609]
    """

    goal = "regret"

    failure: float | None = None
    unfinished: Literal["skip", "start"] = "skip"

    def __post_init__(self) -> None:
        if self.failure is not None:
            check_fraction("failure", self.failure)
        check_choice("unfinished", self.unfinished, ("skip", "start"))

    def init(self, k: int, horizon: int) -> State:
        clock = np.array([0, 0, k, 0, horizon if self.unfinished == "skip" else UNLIMITED_USERS, 0])
        return State(np.zeros(k), np.ones(k, np.int64), clock, self.failure or 1 / horizon)

    def means(self, s: State) -> Floats:
        return batch_means(s)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if s.clock[AWAITED] == 0:
            e, n, arms = s.clock[BATCH], fewest_users(s), arms_left(s)
            if e > 0:
                y, x = math.log(8 * arms * e * e / s.p), math.log(4 * arms * e * e / s.p)
                eliminate_arms(s, math.sqrt(y / (2 * n)) + radius(law, 1, n, x) / n)
            if not begin_batch(s, epoch_size(law, arms_left(s), e + 1, s.p)):
                return answer_best(s, rng)
        return next_of_batch(s)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        record_sum(s, arm, n, total)
