"""Things in flight: a heap of slots, ordered by the time when each is due."""

from typing import NamedTuple

import numpy as np

from maskedbandit.core import Integers, large_kernel, lean_kernel
from maskedbandit.lab.delays.delay import LONGEST_DELAY, Delays

NEVER = 2**62

COUNT, PUSHED = range(2)


class InFlight(NamedTuple):
    """A heap of slots, ordered by when each is due; of those due together the first pushed is the first popped.

    A slot is an index into arrays of the caller's, where whatever is in flight is kept.
    """

    heap: Integers  # [slots] those in use, the first due first, as in a heap; then those that are free
    due: Integers  # [slots] by slot
    turn: Integers  # [slots] by slot
    counts: Integers  # [2] slots in use, things pushed so far

    @property
    def capacity(self) -> int:
        """Number of slots, used or free."""
        return self.heap.size


def in_flight(d: Delays, horizon: int = LONGEST_DELAY) -> InFlight:
    """An empty heap, for at most one thing a round, each popped before the round after it is due."""
    return open_in_flight(min(d.longest, horizon) + 2)


@large_kernel
def open_in_flight(slots: int) -> InFlight:
    """An empty heap, with room for so many things."""
    heap = np.zeros(slots, np.int64)
    for slot in range(slots):
        heap[slot] = slot
    return InFlight(heap, np.zeros(slots, np.int64), np.zeros(slots, np.int64), np.zeros(2, np.int64))


@lean_kernel
def is_full(f: InFlight) -> bool:
    """No slot is free."""
    return f.counts[COUNT] == f.heap.size


@lean_kernel
def first_due(f: InFlight) -> int:
    """When the first of them is due; NEVER if nothing is in flight."""
    return int(f.due[f.heap[0]]) if f.counts[COUNT] > 0 else NEVER


@lean_kernel
def sooner(f: InFlight, a: int, b: int) -> bool:
    """Whether slot a is popped before slot b."""
    return bool(f.due[a] < f.due[b] or (f.due[a] == f.due[b] and f.turn[a] < f.turn[b]))


@lean_kernel
def push_slot(f: InFlight, due: int) -> int:
    """A free slot, from now on in use until it is popped; there has to be one."""
    position = f.counts[COUNT]
    slot = f.heap[position]
    f.due[slot], f.turn[slot] = due, f.counts[PUSHED]
    f.counts[COUNT] += 1
    f.counts[PUSHED] += 1
    while position > 0 and sooner(f, slot, f.heap[(position - 1) // 2]):
        f.heap[position] = f.heap[(position - 1) // 2]
        position = (position - 1) // 2
    f.heap[position] = slot
    return int(slot)


@lean_kernel
def pop_due_slot(f: InFlight) -> int:
    """The slot that is due first, which is free from now on: what it holds stays until the next push."""
    f.counts[COUNT] -= 1
    count, slot, position = f.counts[COUNT], f.heap[0], 0
    moved = f.heap[count]
    f.heap[count] = slot
    while True:
        child = 2 * position + 1
        if child + 1 < count and sooner(f, f.heap[child + 1], f.heap[child]):
            child += 1
        if child >= count or sooner(f, moved, f.heap[child]):
            break
        f.heap[position] = f.heap[child]
        position = child
    if count > 0:
        f.heap[position] = moved
    return int(slot)
