"""Rounds in which every arm gets a cohort of the same size, and intervals for all means: baselines that do not adapt.

The mean of arm a is between chernoff_bound (theory/chernoff.py) from above, and its mirror image from below, at the
rate ln(2 K j (j + 1) / δ) after j releases. Sizes of cohorts do not depend on what was released. So all intervals hold
at once with probability at least 1 − δ, by the union over sides, arms and j.

The next round begins when all sums of the one before are released.
"""

import math
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_cohort
from maskedbandit.core import WAIT, Decision, kernel, large_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.batches import check_ratio, count_lacking
from maskedbandit.policies.parts.known_releases import first_users
from maskedbandit.theory.chernoff import chernoff_bound

ASKED, TOLD, NEWS, USERS = range(4)


class UniformRounds(NamedTuple):
    """The releases, and what they say of the means."""

    total: np.ndarray  # [k] released
    n: np.ndarray  # [k] rewards in it
    m: np.ndarray  # [k] releases
    low: np.ndarray  # [k] below the mean
    high: np.ndarray  # [k] above the mean
    clock: np.ndarray  # [4] cohorts so far, those that were released, 1: for news, users of each arm
    doubt: float  # ln(2 K / delta)
    ratio: float
    least: int


def check_round_sizes(ratio: float, least: int) -> None:
    """Check the growth of an arm's users with a round, and the least size of a cohort."""
    check_ratio(ratio)
    check_cohort("least", least)


def begin_rounds(k: int, delta: float, ratio: float, least: int) -> UniformRounds:
    """The state before the first cohort."""
    total, low = np.zeros((2, k))
    n, m = np.zeros((2, k), np.int64)
    clock = np.zeros(4, np.int64)
    return UniformRounds(total, n, m, low, np.ones(k), clock, math.log(2 * k / delta), float(ratio), int(least))


@kernel
def round_is_over(s: UniformRounds) -> bool:
    """Whether a round is over, and all its sums are released."""
    return s.clock[ASKED] > 0 and s.clock[TOLD] >= s.clock[ASKED] and s.clock[ASKED] % s.n.size == 0


@large_kernel
def enclose_means(s: UniformRounds, law: Law) -> None:
    """Bring the intervals up to date."""
    if s.clock[NEWS] == 1:
        for a in range(s.n.size):
            m, n = int(s.m[a]), int(s.n[a])
            rate = s.doubt + math.log(m * (m + 1.0))
            s.high[a] = chernoff_bound(law, s.total[a], m, n, rate)
            s.low[a] = 1 - chernoff_bound(law, n - s.total[a], m, n, rate)
        s.clock[NEWS] = 0


@kernel
def next_of_round(s: UniformRounds, law: Law) -> Decision:
    """The next cohort of the round, or of the next one."""
    arm = int(s.clock[ASKED] % s.n.size)
    if arm == 0 and s.clock[TOLD] < s.clock[ASKED]:
        return WAIT
    before = int(s.clock[USERS])
    size = max(s.least, first_users(law) if before == 0 else count_lacking(before, s.ratio))
    s.clock[ASKED] += 1
    if arm == s.n.size - 1:
        s.clock[USERS] += size
    return Decision(arm, size, 1)


@kernel
def record_cohort(s: UniformRounds, arm: int, n: int, total: float) -> None:
    """Add a release."""
    s.total[arm] += total
    s.n[arm] += n
    s.m[arm] += 1
    s.clock[TOLD] += 1
    s.clock[NEWS] = 1
