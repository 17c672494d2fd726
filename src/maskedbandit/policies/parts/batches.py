"""Batches of one arm that grow with its count: the schedule of most private policies.

An arm with n users gets ceil(ratio n) - n more, all in one cohort. So each arm has O(log T) releases, with the noise of
one release each, and noise matters less as the count grows. One cohort is open at a time, except at the start,
where there is one for each arm.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from maskedbandit.core import WAIT, Decision, kernel

OPEN, USERS = range(2)


class Schedule(Protocol):
    """The part of the state that a policy of batches keeps besides the sums."""

    @property
    def n(self) -> np.ndarray: ...  # [k] users whose rewards were released
    @property
    def clock(self) -> np.ndarray: ...  # [2] cohorts that are open, users asked for so far


@kernel
def released_arms(s: Schedule) -> int:
    """Number of arms with a release. (A loop, as NumPy's ways compile for a while in every process.)"""
    arms = 0
    for a in range(s.n.size):
        if s.n[a] > 0:
            arms += 1
    return arms


@kernel
def ready(s: Schedule) -> bool:
    """Whether every arm has a release and no cohort is open: then the policy may choose an arm."""
    return s.clock[OPEN] == 0 and released_arms(s) == s.n.size


@kernel
def begin(s: Schedule, arm: int, users: int) -> Decision:
    """Open a cohort of this many users."""
    s.clock[OPEN] += 1
    s.clock[USERS] += users
    return Decision(arm, users, 1)


@kernel
def grow(s: Schedule, arm: int, ratio: float) -> Decision:
    """Open the next cohort of an arm that was chosen."""
    n = s.n[arm]
    return begin(s, arm, max(1, math.ceil(ratio * n * (1 - 1e-15)) - int(n)))


@kernel
def first(s: Schedule, users: int) -> Decision:
    """The first cohorts, of this many users, arm by arm; then wait until all of them are released."""
    begun = int(s.clock[OPEN]) + released_arms(s)  # the released ones, one for each arm, and the open ones
    if begun < s.n.size:
        return begin(s, begun, users)
    return WAIT


@kernel
def close(s: Schedule, arm: int, n: int) -> None:
    """Note that a cohort was released."""
    s.n[arm] += n
    s.clock[OPEN] -= 1
