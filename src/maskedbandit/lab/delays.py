"""Delays: how many rounds after a user was served the reward is there, and what is in flight until then.

A reward of delay D of the user of round t is known before round t + 1 + D is decided; with D = 0 that is the next one.
Delays are independent of each other, of the arm and of the reward. A cohort is released when the last of its rewards is
there, and `last` draws how long that takes after its last user,

    L = max{0, max_i (D_i - i)},        i = 0, 1, ..., n - 1 the users of the cohort, the last first,

in the time of the few users who set a new maximum: the next of them is found by a geometric jump at the present chance
P(D > L + i), which only falls as i grows, and is kept with the ratio of the chance there to it. A user passed over
wrongly has a chance below 2^-60.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.core import kernel, lean_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, exact

Integers = npt.NDArray[np.int64]
MOST = 10**12  # rounds
NEVER = 2**62
COUNT, PUSHED = range(2)


class Delays(NamedTuple):
    """The numbers of a delay of any kind."""

    table: Integers  # delays, sorted, each as likely as every other; of no meaning where spread > 0
    spread: float  # -1 / ln q of a geometric law, else 0
    longest: int


class Delay(ABC):
    """The law of a delay. Subclasses are frozen dataclasses of parameters."""

    @abstractmethod
    def numbers(self) -> Delays:
        """What the kernels need."""

    @property
    def late(self) -> Any:
        """The kernel of how late a cohort is: `last`, if there are delays at all."""
        return last if self.numbers().longest > 0 else at_once


def counted(name: str, value: Any) -> int:
    """A number of rounds."""
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not 0 <= value <= MOST:
        raise InvalidValue(name, value, f"a whole number of rounds from 0 to {MOST}")
    return int(value)


@dataclass(frozen=True)
class Constant(Delay):
    """Every reward takes the same number of rounds.

    >>> in_flight(Constant(100).numbers()).heap.size
    102
    """

    rounds: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", counted("rounds", self.rounds))

    def numbers(self) -> Delays:
        return Delays(np.array([self.rounds], np.int64), 0.0, self.rounds)

    def __str__(self) -> str:
        return str(self.rounds)


@dataclass(frozen=True)
class Geometric(Delay):
    """Whatever the time since the user was served, the reward is as likely to come in the next round.

    P(D = j) = (1 - q) q^j, q = mean / (1 + mean), cut off at its quantile 1 - 2^-60.

    >>> round(later(Geometric(mean=1).numbers(), 2), 9)  # (1/2)^3
    0.125
    """

    mean: Number

    def __post_init__(self) -> None:
        if not exact("mean", self.mean) <= 10**9:
            raise InvalidValue("mean", self.mean, "at most 1000000000")

    def numbers(self) -> Delays:
        spread = 1 / math.log1p(1 / float(self.mean))
        return Delays(np.zeros(1, np.int64), spread, math.ceil(60 * math.log(2) * spread))

    def __str__(self) -> str:
        return f"geometric, mean = {float(self.mean):g}"


@dataclass(frozen=True)
class Recorded(Delay):
    """Delays that were measured, in rounds: one of them is drawn for each user, with replacement.

    >>> Recorded([0, 0, 7]).numbers().longest
    7
    """

    rounds: Sequence[int]

    def __post_init__(self) -> None:
        if isinstance(self.rounds, str) or not hasattr(self.rounds, "__len__") or len(self.rounds) == 0:
            raise InvalidValue("rounds", self.rounds, "a list of whole numbers of rounds")
        object.__setattr__(self, "rounds", tuple(counted("rounds", each) for each in self.rounds))

    def numbers(self) -> Delays:
        table = np.sort(np.array(self.rounds, np.int64))
        return Delays(table, 0.0, int(table[-1]))

    def __str__(self) -> str:
        return f"recorded, mean = {np.mean(self.rounds):g}"


AT_ONCE = Constant(0)


def measured(file: Any) -> list[int]:
    """The numbers of a file, one in each line."""
    try:
        return [int(line) for line in Path(file).read_text().split()]
    except (OSError, TypeError, ValueError) as wrong:
        raise InvalidValue("file", file, f"a text file with a whole number of rounds in each line ({wrong})") from None


@lean_kernel
def above(table: Integers, x: int) -> int:
    """How many numbers of a sorted table are above x."""
    low, high = 0, table.size
    while low < high:
        middle = (low + high) // 2
        if table[middle] > x:
            high = middle
        else:
            low = middle + 1
    return int(table.size - low)


@lean_kernel
def later(d: Delays, x: int) -> float:
    """P(D > x), x >= -1."""
    if x >= d.longest:
        return 0.0
    if d.spread > 0.0:
        return math.exp(-(x + 1) / d.spread)
    return above(d.table, x) / d.table.size


@lean_kernel
def beyond(d: Delays, x: int, rng: np.random.Generator) -> int:
    """A delay, given that it is above x < longest: a geometric law forgets what has passed."""
    if d.spread > 0.0:
        return int(min(x + 1 + math.floor(rng.standard_exponential() * d.spread), d.longest))
    return int(d.table[d.table.size - 1 - int(rng.random() * above(d.table, x))])


@lean_kernel
def drawn(d: Delays, rng: np.random.Generator) -> int:
    """The delay of one user."""
    return beyond(d, -1, rng)


@lean_kernel
def last(d: Delays, n: int, rng: np.random.Generator) -> int:
    """How long after the last of n users, who come one after the other, the last of their rewards is there."""
    latest, i = 0, 0
    while i < n:
        chance = later(d, latest + i)
        if chance * (n - i) < 2.0**-60:
            break
        if chance < 1.0:
            jump = rng.standard_exponential() / -math.log1p(-chance)
            if jump >= n - i:  # compared as it is: it may be more than whole numbers of 64 bits hold
                break
            i += int(jump)
        if rng.random() * chance < later(d, latest + i):
            latest = beyond(d, latest + i, rng) - i
        i += 1
    return int(latest)


@lean_kernel
def at_once(d: Delays, n: int, rng: np.random.Generator) -> int:
    """`last` without delays: with it compiled in, all that is about things in flight falls away."""
    return 0


class InFlight(NamedTuple):
    """A heap of slots, ordered by when each is due; of those due together the first pushed is the first popped.

    A slot is a place in arrays of the caller's, where whatever is in flight is kept.
    """

    heap: Integers  # [slots] those in use, the first due first, as in a heap; then those that are free
    due: Integers  # [slots] by slot
    turn: Integers  # [slots] by slot
    counts: Integers  # [2] slots in use, things pushed so far

    @property
    def room(self) -> int:
        """Number of slots, used or free."""
        return self.heap.size


def in_flight(d: Delays, horizon: int = MOST) -> InFlight:
    """Nothing is in flight; there is room for one thing a round, each popped before the round after it is due."""
    return with_slots(np.arange(min(d.longest, horizon) + 2), np.zeros(2, np.int64))


@kernel
def with_slots(heap: Integers, counts: Integers) -> InFlight:
    """As many slots as the heap has."""
    return InFlight(heap, np.zeros(heap.size, np.int64), np.zeros(heap.size, np.int64), counts)


@lean_kernel
def full(f: InFlight) -> bool:
    """No slot is free."""
    return f.counts[COUNT] == f.heap.size


@kernel
def larger(f: InFlight) -> InFlight:
    """The same with twice as many slots; things in flight keep theirs."""
    size = f.heap.size
    found = with_slots(np.concatenate((f.heap, np.arange(size, 2 * size))), f.counts)
    found.due[:size] = f.due
    found.turn[:size] = f.turn
    return found


@lean_kernel
def first_due(f: InFlight) -> int:
    """When the first of them is due; NEVER if nothing is in flight."""
    return int(f.due[f.heap[0]]) if f.counts[COUNT] > 0 else NEVER


@lean_kernel
def sooner(f: InFlight, a: int, b: int) -> bool:
    """Whether slot a is popped before slot b."""
    return bool(f.due[a] < f.due[b] or (f.due[a] == f.due[b] and f.turn[a] < f.turn[b]))


@lean_kernel
def push(f: InFlight, due: int) -> int:
    """A free slot, from now on in use until it is popped; there has to be one."""
    place = f.counts[COUNT]
    slot = f.heap[place]
    f.due[slot], f.turn[slot] = due, f.counts[PUSHED]
    f.counts[COUNT] += 1
    f.counts[PUSHED] += 1
    while place > 0 and sooner(f, slot, f.heap[(place - 1) // 2]):
        f.heap[place] = f.heap[(place - 1) // 2]
        place = (place - 1) // 2
    f.heap[place] = slot
    return int(slot)


@lean_kernel
def pop(f: InFlight) -> int:
    """The slot that is due first, which is free from now on: what it holds stays until the next push."""
    f.counts[COUNT] -= 1
    count, slot, place = f.counts[COUNT], f.heap[0], 0
    moved = f.heap[count]
    f.heap[count] = slot
    while True:
        child = 2 * place + 1
        if child + 1 < count and sooner(f, f.heap[child + 1], f.heap[child]):
            child += 1
        if child >= count or sooner(f, moved, f.heap[child]):
            break
        f.heap[place] = f.heap[child]
        place = child
    if count > 0:
        f.heap[place] = moved
    return int(slot)
