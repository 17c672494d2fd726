"""Which arm has the highest index, without looking at all of them: for indices that change at an arm's releases alone,
but for what grows with time in the same way for all.

Over a span of pulls every arm has an upper bound of its index: the leaves of a tree, whose inner nodes are the larger
one of the two below. The arm of the highest bound leads. It has the highest index in every pull of the span in which a
lower bound of its index is above the bounds of all others, its rivals. What the leader's releases change is its own
index: the tree is told when it may no longer lead, in a number of steps that grows as log k. Where it is not sure who
leads, the policy compares all arms. So it decides as if it always did:

* An index is a sum of products of an arm's numbers, constant between its releases, and of factors ≥ 0 that do not fall
  with time. Floating-point sums and products are monotone, so with a factor's bound in place of the factor every
  rounded step is a bound of the rounded step of the index, and so is the result.
* A factor's bounds are its computed values at both ends of the span, moved apart by more than their rounding errors: it
  is between them however logarithms are rounded.
* Bounds of the other arms are strictly below the leader's index, so no tie is passed over.
"""

import math
from typing import NamedTuple

import numpy as np

from maskedbandit.core import lean_kernel

FEW = 16  # up to so many arms the bounds are looked at one by one, as fast
LEAST_SPAN = 8  # pulls, besides one for each arm whose bound is computed anew
EARLY_PART, LATE_PART = 1 / 64, 1 / 4096  # of the pulls so far, in a span: at most, and at least
LOW, HIGH = range(2)  # bounds of what grows with time
ROUNDING = 1e-15  # more than the relative error of a logarithm and a square root together


class Race(NamedTuple):
    """Upper bounds, and how long they hold."""

    high: np.ndarray  # [2 size] of arm a at size + a, the larger one of 2 i and 2 i + 1 at i
    rival: np.ndarray  # [1] at least the bounds of all arms but the leader
    left: np.ndarray  # [1] pulls that are left of the span


def begin_race(k: int) -> Race:
    """A race of k arms without bounds."""
    return Race(np.full(2 << (k - 1).bit_length(), -math.inf), np.zeros(1), np.zeros(1, np.int64))


@lean_kernel
def enter_bound(race: Race, a: int, high: float) -> None:
    """Change an arm's upper bound.

    >>> race = begin_race(3)
    >>> for arm, bound in enumerate([0.5, 0.75, 0.25]):
    ...     enter_bound(race, arm, bound)
    >>> int(find_leader(race)), float(bound_rivals(race, 1)), float(bound_rivals(race, 0))
    (1, 0.5, 0.75)
    """
    i = race.high.size // 2 + a
    race.high[i] = high
    while i > 1:
        other = race.high[i ^ 1]
        high = other if other > high else high
        i >>= 1
        race.high[i] = high


@lean_kernel
def build_tree(race: Race) -> None:
    """The inner nodes, after all leaves changed."""
    for i in range(race.high.size // 2 - 1, 0, -1):
        one, other = race.high[2 * i], race.high[2 * i + 1]
        race.high[i] = other if other > one else one


@lean_kernel
def find_leader(race: Race) -> int:
    """The arm of the highest bound."""
    i, size = 1, race.high.size // 2
    while i < size:
        i = 2 * i + (race.high[2 * i + 1] > race.high[2 * i])
    return i - size


@lean_kernel
def bound_rivals(race: Race, a: int) -> float:
    """The highest bound of all arms but one."""
    i, high = race.high.size // 2 + a, -math.inf
    while i > 1:
        other = race.high[i ^ 1]
        high = other if other > high else high
        i >>= 1
    return high


@lean_kernel
def change_leader(race: Race, a: int, high: float) -> int:
    """The leader after the bound of the last one changed, with its rivals."""
    enter_bound(race, a, high)
    leader = find_leader(race)
    race.rival[0] = bound_rivals(race, leader)
    return leader


@lean_kernel
def raise_rivals(race: Race, a: int, high: float) -> None:
    """Change the bound of an arm that does not lead."""
    enter_bound(race, a, high)
    race.rival[0] = max(race.rival[0], high)


@lean_kernel
def span_from(t: int, k: int) -> int:
    """Pulls that a span which begins with pull t has; 0: comparing all arms costs less."""
    span = max(k + LEAST_SPAN, int(t * LATE_PART))
    return span if span <= t * EARLY_PART else 0


@lean_kernel
def span_bounds(first: float, last: float) -> tuple[float, float]:
    """Bounds of a factor over a span, from its computed values at both ends."""
    return first * (1 - ROUNDING), last * (1 + ROUNDING)
