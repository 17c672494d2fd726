"""Phases of arms, filled one user at a time, for policies that search for the best of two arms at a time.

A phase of an arm ends when the arm's pulls reach the next power of `growth`: its sum is released, the tests are made
again, and until then every user goes to the leader or to its challenger (see tracking.py).

If worse arms have equal means such policies may never stop: an arm whose first noise was far below zero is neither
leader nor challenger while equal arms challenge each other at no cost. So an arm is starved, and has to be the
challenger, while it has less than `share / K` of all pulls; a quarter of that once its test has passed, which may have
happened wrongly. Then all means are known better and better, and the policy stops with probability 1. Who is pulled
depends on what was released alone, so this costs neither privacy nor certainty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law

TIME, AWAITED, NEWS, TESTS, BEST, LEADER = range(6)
PASSED = 0.25


class Progress(NamedTuple):
    """The phase of every arm that is under way, and what the last test found."""

    pulls: np.ndarray  # [k] users asked for
    edge: np.ndarray  # [k] the phase ends once there are so many
    unsure: np.ndarray  # [k] 1: a test of this arm did not pass
    clock: np.ndarray  # [6] users of all arms, sums awaited, 1 for news, tests not passed, best arm, leader
    growth: float
    share: float


def phases(k: int, growth: float, share: float) -> Progress:
    """Nobody was asked for yet."""
    pulls, unsure, clock = (np.zeros(size, np.int64) for size in (k, k, 6))
    return Progress(pulls, np.ones(k), unsure, clock, float(growth), float(share))


def check_share(share: float) -> None:
    """Refuse a share that is none."""
    if not 0 <= share < 1:
        raise InvalidValue("share", share, "a number from 0 to below 1")


def lack(law: Law) -> str:
    """What a channel lacks for phases: no user may have to know how many there will be."""
    return "a grid that is the same for cohorts of every size" if law.root > 0 else ""


@kernel
def note_release(p: Progress) -> None:
    """The sum of a phase was released."""
    p.clock[AWAITED] -= 1
    p.clock[NEWS] = 1


@kernel
def ready(p: Progress) -> bool:
    """The tests are out of date, and nothing is awaited: they begin anew."""
    if p.clock[NEWS] == 0 or p.clock[AWAITED] > 0 or p.clock[TIME] < p.pulls.size:
        return False
    p.clock[NEWS], p.clock[TESTS] = 0, 0
    p.unsure[:] = 0
    return True


@kernel
def fail(p: Progress, b: int) -> None:
    """The best arm is not yet known to be better than b."""
    p.clock[TESTS] += 1
    p.unsure[b] = 1
    p.unsure[p.clock[BEST]] = 1


@kernel
def settled(p: Progress) -> bool:
    """There is nothing to choose: the first users of all arms, a sum that is awaited, or the answer."""
    return p.clock[TIME] < p.pulls.size or p.clock[AWAITED] > 0 or p.clock[TESTS] == 0


@kernel
def settle(p: Progress) -> Decision:
    """What there is to ask then."""
    if p.clock[TIME] < p.pulls.size:
        return pull(p, int(p.clock[TIME]))
    if p.clock[AWAITED] > 0:
        return WAIT
    return Decision(int(p.clock[BEST]), 0, 0)


@kernel
def is_starved(p: Progress, a: int) -> bool:
    """The arm has too small a share of all pulls."""
    fair = p.share if p.unsure[a] == 1 else PASSED * p.share
    return p.pulls[a] * p.pulls.size < fair * p.clock[TIME]


@kernel
def pull(p: Progress, arm: int) -> Decision:
    """One more user of the arm, and the phase ends if that makes enough of them."""
    p.clock[TIME] += 1
    p.pulls[arm] += 1
    if p.pulls[arm] < p.edge[arm]:
        return Decision(arm, 1, 0)
    p.clock[AWAITED] += 1
    while p.edge[arm] <= p.pulls[arm]:
        p.edge[arm] *= p.growth
    return Decision(arm, 1, 1)
