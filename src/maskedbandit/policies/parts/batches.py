"""Batches of one arm that grow with its count: the schedule of most private policies.

An arm with n users gets ceil(ratio n) − n more, all in one cohort. So each arm has O(log T) releases, with the noise of
one release each, and noise matters less as the count grows.

A policy may choose again as soon as a cohort is full, while its rewards are under way: cohorts that were asked for and
not yet released are in flight. An arm's count is that of the users it was asked for, so the sizes of its cohorts do not
depend on what was released, and a policy chooses as if those in flight had shown the mean that was released.
Until every arm has a release, the arm that was asked for the fewest users is next, with ties broken at random. After
that an arm of which more is in flight than was released gets no more users yet: what is known of it says little beside
what is about to come.
"""

import math
from typing import Protocol

import numpy as np

from maskedbandit.checks import is_number
from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.parts.choice import pick_fewest

USERS = 0
EARLY = 1.1  # growth before the first releases, where the noise of one was outweighed by the first cohort
FURTHER = 3  # times the first cohort: the least size of further ones there


class Schedule(Protocol):
    """The part of the state that a policy of batches keeps besides the sums."""

    @property
    def n(self) -> np.ndarray: ...  # [k] users whose rewards were released
    @property
    def asked(self) -> np.ndarray: ...  # [k] these, and the users in flight
    @property
    def flight(self) -> np.ndarray: ...  # [k] cohorts in flight
    @property
    def clock(self) -> np.ndarray: ...  # [1] users asked for so far


def check_ratio(ratio: float) -> None:
    """By how much an arm grows with a batch."""
    if not (is_number(ratio) and 1 < ratio <= 100):
        raise InvalidValue("ratio", ratio, "a number above 1 and at most 100")


@kernel
def all_released(told: np.ndarray) -> bool:
    """Whether every arm has a release, by the users told of each: then the policy may choose."""
    least = told[0]
    for n in told:  # a loop, as NumPy's ways compile for a while
        least = min(least, n)
    return bool(least > 0)


@kernel
def begin_cohort(s: Schedule, arm: int, users: int) -> Decision:
    """Ask for a cohort of this many users."""
    s.clock[USERS] += users
    s.asked[arm] += users
    s.flight[arm] += 1
    return Decision(arm, users, 1)


@kernel
def count_lacking(n: int, ratio: float) -> int:
    """The number of users, at least one, that brings a count of n to the multiple."""
    return max(1, math.ceil(ratio * n * (1 - 1e-15)) - int(n))


@kernel
def grow_arm(s: Schedule, arm: int, ratio: float) -> Decision:
    """Ask for the next cohort of an arm that was chosen."""
    if s.asked[arm] > 2 * s.n[arm]:
        return WAIT
    return begin_cohort(s, arm, count_lacking(s.asked[arm], ratio))


@kernel
def first_cohort(s: Schedule, users: int, further: int, ratio: float, rng: np.random.Generator) -> Decision:
    """The cohorts before every arm has a release: the first ones, arm by arm, have so many users, further ones at least
    so many, as each will have noise of its own."""
    arm = pick_fewest(s.asked, rng)
    return begin_cohort(s, arm, users if s.asked[arm] == 0 else max(further, count_lacking(s.asked[arm], ratio)))


@kernel
def close_cohort(s: Schedule, arm: int, n: int) -> None:
    """Note that a cohort was released, with n users after dropouts.

    Which of an arm's cohorts that was is not known, so the users whom it lost count as asked until none is in flight.
    """
    s.n[arm] += n
    s.flight[arm] = max(0, s.flight[arm] - 1)  # 0: told of users who were not asked for
    if s.flight[arm] == 0:
        s.asked[arm] = s.n[arm]
