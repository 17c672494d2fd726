"""Phases of arms, filled one user at a time, for policies that compare two arms at a time.

A phase of an arm ends when the arm's pulls reach the next power of `growth`: then its sum is released, and all tests
are repeated. Until then every user goes to the leader or to its challenger (see choice.py), also while sums are in
flight: which arm is pulled depends on releases and on the numbers of pulls alone, and when a phase ends on the latter
alone. Until every arm has a release, the arm with the fewest pulls is next, with ties broken at random.

If worse arms have equal means, such policies may never stop: while equal arms challenge each other at no cost, an arm
whose first noise was far below zero is neither leader nor challenger. So exploration is forced. An arm is starved,
and becomes the challenger, while it has fewer than `forced / K` of all pulls, or a quarter of that once its test has
passed (which may be an error). Then all means are estimated ever better, and the policy stops with probability 1. Which
arm is pulled depends on releases alone, so this changes neither the privacy nor the probability of an error.
"""

import math
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import is_number
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.policies.parts.batches import all_released as all_told
from maskedbandit.policies.parts.choice import pick_fewest

TIME, NEWS, TESTS, BEST, LEADER = range(5)
PASSED = 0.25


class PhaseProgress(NamedTuple):
    """The current phase of every arm, and the results of the last tests."""

    pulls: np.ndarray  # [k] users asked for
    edge: np.ndarray  # [k] the number of pulls at which the phase ends
    number: np.ndarray  # [k] phases whose sums were released
    unsure: np.ndarray  # [k] 1: a test of this arm did not pass
    clock: np.ndarray  # [5] users of all arms, 1 for news, tests not passed, best arm, leader
    growth: float
    forced: float  # fraction of (all pulls / K) below which an arm is starved


def begin_phases(k: int, growth: float, forced: float) -> PhaseProgress:
    """The state before the first user."""
    pulls, number, unsure, clock = (np.zeros(size, np.int64) for size in (k, k, k, 5))
    return PhaseProgress(pulls, np.ones(k), number, unsure, clock, float(growth), float(forced))


def check_forced(value: float) -> None:
    """Raise unless 0 <= value < 1."""
    if not (is_number(value) and 0 <= value < 1):
        raise InvalidValue("forced", value, "a number of at least 0 and below 1")


def lacks_grid(law: Law) -> str:
    """What a channel lacks for phases: the grid must not depend on the size of a cohort, which is unknown while it
    fills."""
    return "a grid that is the same for cohorts of every size" if law.root > 0 else ""


@kernel
def note_phase(p: PhaseProgress, arm: int) -> None:
    """The sum of a phase was released."""
    p.number[arm] += 1
    p.clock[NEWS] = 1


@kernel
def planned_users(p: PhaseProgress, phases: int) -> int:
    """Users in the first so many phases of an arm."""
    edge, users = 1.0, 0
    for _ in range(phases):
        users = math.ceil(edge)
        while edge <= users:
            edge *= p.growth
    return users


@kernel
def has_news(p: PhaseProgress) -> bool:
    """Whether there is a new release, and one of every arm: then the tests are repeated, and their results reset."""
    if p.clock[NEWS] == 0 or not all_told(p.number):
        return False
    p.clock[NEWS], p.clock[TESTS] = 0, 0
    p.unsure[:] = 0
    return True


@kernel
def note_failure(p: PhaseProgress, b: int) -> None:
    """Note that the best arm is not yet known to be better than b."""
    p.clock[TESTS] += 1
    p.unsure[b] = 1
    p.unsure[p.clock[BEST]] = 1


@kernel
def is_settled(p: PhaseProgress) -> bool:
    """Whether nothing is left to choose: before every arm has a release, and when the answer is known."""
    return not all_told(p.number) or p.clock[TESTS] == 0


@kernel
def decide_settled(p: PhaseProgress, rng: np.random.Generator) -> Decision:
    """The decision where nothing is left to choose."""
    if not all_told(p.number):
        return pull_arm(p, pick_fewest(p.pulls, rng))
    return Decision(int(p.clock[BEST]), 0, 0)


@kernel
def is_starved(p: PhaseProgress, a: int) -> bool:
    """Whether the arm has too few of all pulls."""
    least = p.forced if p.unsure[a] == 1 else PASSED * p.forced
    return p.pulls[a] * p.pulls.size < least * p.clock[TIME]


@kernel
def pull_arm(p: PhaseProgress, arm: int) -> Decision:
    """One more user of the arm, and the phase ends if that makes enough of them."""
    p.clock[TIME] += 1
    p.pulls[arm] += 1
    if p.pulls[arm] < p.edge[arm]:
        return Decision(arm, 1, 0)
    while p.edge[arm] <= p.pulls[arm]:
        p.edge[arm] *= p.growth
    return Decision(arm, 1, 1)
