"""The arm of the highest value, or of the fewest users, with ties broken at random; and leaders' turns.

Values are considered one after the other. The i-th arm with the highest value so far replaces the one before it with
probability 1 / i, so all have the same probability, and random numbers are drawn only for ties.

Before there are rewards all arms are equal. So the order of their numbers may not decide who is served first: where
users are fewer than arms, the last arms would never be served.

Leader or challenger: the leader gets a fraction β of the pulls for which it led, without randomization [JD23].

    arm = the leader B if N^B_B ≤ β L_B, L_B counting this pull, else its challenger

N^B_B is how often B was pulled while it led, and L_B how often it led. Then -1/2 ≤ N^B_B − L_B / 2 ≤ 1 always if β is
1/2 [JD23, Lem. 1].
"""

import math
from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel


class Choice(NamedTuple):
    """The best arm of those considered so far."""

    arm: int
    value: float
    equals: int  # arms of this value


NONE_YET = Choice(-1, -math.inf, 0)


@kernel
def weigh_arm(best: Choice, arm: int, value: float, rng: np.random.Generator) -> Choice:
    """The better one of the best so far and of one more arm.

    >>> weigh_arm(weigh_arm(NONE_YET, 4, 0.5, None), 7, 0.25, None)
    Choice(arm=4, value=0.5, equals=1)
    """
    if value > best.value or best.arm < 0:
        return Choice(arm, value, 1)
    if value == best.value:
        equals = best.equals + 1
        if rng.random() * equals < 1.0:
            return Choice(arm, value, equals)
        return Choice(best.arm, value, equals)
    return best


@kernel
def pick_highest(index: np.ndarray, rng: np.random.Generator) -> int:
    """The arm of the highest index."""
    best = NONE_YET
    for a in range(index.size):
        best = weigh_arm(best, a, index[a], rng)
    return best.arm


@kernel
def mark_highest(index: np.ndarray, how_many: int, marked: np.ndarray, rng: np.random.Generator) -> None:
    """Set `marked` to 1 for the arms of the highest values, so many of them, and to 0 for all others.

    >>> marked = np.zeros(4)
    >>> mark_highest(np.array([0.1, 0.7, 0.2, 0.5]), 2, marked, None)
    >>> marked
    array([0., 1., 0., 1.])
    """
    marked[:] = 0
    for _ in range(how_many):
        best = NONE_YET
        for a in range(index.size):
            if marked[a] == 0:
                best = weigh_arm(best, a, index[a], rng)
        marked[best.arm] = 1


@kernel
def pick_fewest(users: np.ndarray, rng: np.random.Generator) -> int:
    """The arm of the fewest users. As before the first users all arms are equal, one draw is for all ties together.

    >>> pick_fewest(np.array([3, 1, 2]), None)
    1
    """
    least, equals = users[0], 0
    for a in range(users.size):
        if users[a] < least:
            least, equals = users[a], 0
        equals += users[a] == least
    skipped, arm = int(rng.random() * equals) if equals > 1 else 0, 0
    while users[arm] > least or skipped > 0:
        skipped -= users[arm] == least
        arm += 1
    return arm


@kernel
def in_turn(asked: np.ndarray, rng: np.random.Generator) -> int:
    """The next arm, if all arms are asked for equally often, in an order that is drawn anew each time; counts it.

    >>> asked, rng = np.zeros(3, np.int64), np.random.default_rng(1)
    >>> [in_turn(asked, rng) for _ in range(6)], asked
    ([1, 2, 0, 0, 2, 1], array([2, 2, 2]))
    """
    arm = pick_fewest(asked, rng)
    asked[arm] += 1
    return arm


class Turns(NamedTuple):
    """How often each arm led, and was pulled while it led."""

    led: np.ndarray  # [k]
    own: np.ndarray  # [k]
    beta: float


def begin_turns(k: int, beta: float) -> Turns:
    """The state before the first pull."""
    return Turns(np.zeros(k, np.int64), np.zeros(k, np.int64), float(beta))


@kernel
def take_turn(s: Turns, leader: int) -> bool:
    """Whether the leader gets this pull; counts it."""
    s.led[leader] += 1
    mine = s.own[leader] <= s.beta * s.led[leader]
    if mine:
        s.own[leader] += 1
    return mine
