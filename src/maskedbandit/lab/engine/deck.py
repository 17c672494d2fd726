"""Cohorts whose users come in random order over the same stretch of time: the places of a shuffled deck."""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.core import Floats, Integers, Kernel, large_kernel, lean_kernel
from maskedbandit.lab.delays.delay import Delays
from maskedbandit.lab.engine.checkpoints import at_mark
from maskedbandit.lab.engine.compiler import HOOK, bind_hooks
from maskedbandit.lab.engine.earnings import Earned
from maskedbandit.lab.engine.outcomes import Out
from maskedbandit.lab.streams import Rewards
from maskedbandit.lab.worlds.instance import Expected, find_highest_mean
from maskedbandit.law import Law, count_steps

earn = expected = HOOK  # see `dealing`

write_deck_at_mark = large_kernel(at_mark)


class Deck(NamedTuple):
    """The cohorts of a deck, in the order in which they were asked for."""

    arm: Integers  # [k]
    n: Integers  # [k] places
    rest: Integers  # [k] places that are left
    total: Floats  # [k] summed rewards of those that were dealt


class Progress(NamedTuple):
    """The progress of a run."""

    mark: int  # the next one
    regret: float
    rewards: float


@large_kernel
def empty_deck(k: int) -> Deck:
    """No cohort; there is room for one of each arm."""
    return Deck(np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros(k))


@lean_kernel
def place_cohort(deck: Deck, cohorts: int, arm: int, n: int) -> bool:
    """Put a cohort of n on a deck of so many; False if it has one of this arm."""
    for i in range(cohorts):
        if deck.arm[i] == arm:
            return False
    deck.arm[cohorts], deck.n[cohorts], deck.rest[cohorts], deck.total[cohorts] = arm, n, n, 0.0
    return True


@lean_kernel
def share(places: int, users: int, left: int, u: float) -> int:
    """The number of the next users who get one of the first so many places, if the remaining places are dealt evenly.

    For a uniform u in [0, 1) a cohort gets whole users, and on average what it would get of users in parts.
    """
    return users if places == left else math.floor(places * (users / left) + u)


@lean_kernel
def best_released(n: Integers, total: Floats) -> int:
    """The arm of the highest mean in so many released rewards, the first one of ties; -1 before the first release."""
    best = -1
    for a in range(n.size):
        if n[a] > 0 and (best < 0 or total[a] / n[a] > total[best] / n[best]):
            best = a
    return best


def deal_some(
    deck: Deck,
    cohorts: int,
    law: Law,
    instance: Any,
    delay: Delays,
    moving: bool,
    t: int,
    end: int,
    marks: Integers,
    progress: Progress,
    out: Out,
    stream: Rewards,
    rng: np.random.Generator,
) -> Progress:
    """Deal places of a deck of so many cohorts to users t, ..., end - 1, and record results at the marks.

    If the means of the world are `moving`, every user gets a place at random. Else the order in which places are dealt
    does not change the law of the sums, and they are dealt evenly: between two marks all of a cohort's at once. What is
    left over where users do not divide evenly is dealt at random, so no cohort is the first or the last one.
    """
    best, left = find_highest_mean(instance.means), 0
    mark, regret, rewards = progress
    for i in range(cohorts):
        left += deck.rest[i]
    while t < end:
        users = 1 if moving else min(end, marks[mark]) - t
        u, before = rng.random() if users < left else 0.0, 0
        place = u * left
        for i in range(cohorts):
            rest = deck.rest[i]
            if moving:
                dealt = int(before <= place < before + rest)
            else:
                dealt = share(before + rest, users, left, u) - share(before, users, left, u)
            before += rest
            if dealt > 0:
                arm, g = deck.arm[i], count_steps(law, deck.n[i])
                x = earn(instance, delay, arm, t, dealt, g, stream, rng)
                deck.rest[i], deck.total[i] = rest - dealt, deck.total[i] + x.told
                rewards += x.rewards / g if g > 0 else x.rewards
                if moving:
                    now = expected(instance, arm, t)
                    regret, rewards = regret + now.best - now.mean, rewards - (now.best - best)
                else:
                    regret += (best - instance.means[arm]) * dealt
                out.pulls[arm] += dealt
        t, left = t + users, left - users
        mark = write_deck_at_mark(marks, mark, t, regret, best * t - rewards, out.regret, out.realised)
    return Progress(mark, regret, rewards)


@cache
def make_deal_kernel(earn: Kernel[Any, Earned], expected: Kernel[Any, Expected]) -> Kernel[Any, Progress]:
    """The kernel that deals a deck in a world with these kernels: a call, compiled once for all policies."""
    return large_kernel(bind_hooks(deal_some, {"earn": earn, "expected": expected}))
