"""The state of a run: its open cohorts, its deck and the cohorts in flight; it is made before the loop begins."""

from typing import NamedTuple

import numpy as np

from maskedbandit.core import Floats, Integers, large_kernel, lean_kernel
from maskedbandit.lab.engine.deck import Deck, empty_deck
from maskedbandit.lab.engine.in_flight import InFlight, is_full, open_in_flight, push_slot


class Books(NamedTuple):
    """The state of a run."""

    open_n: Integers  # [k] users in the open cohort
    open_total: Floats  # [k]
    seen_n: Integers  # [k] rewards in all releases, where they are late
    seen_total: Floats  # [k]
    flight: InFlight
    closed: Floats  # [slots, 4] arm, number of users, sum and epoch of what is in flight
    deck: Deck


@large_kernel
def open_books(k: int, slots: int) -> Books:
    """The books of a run that begins, with room for so many cohorts in flight."""
    open_n, open_total, seen_n, seen_total = np.zeros(k, np.int64), np.zeros(k), np.zeros(k, np.int64), np.zeros(k)
    return Books(open_n, open_total, seen_n, seen_total, open_in_flight(slots), np.zeros((slots, 4)), empty_deck(k))


@lean_kernel
def is_whole(end: int, planned: int) -> bool:
    """Whether a cohort has all its users: one that the horizon cuts off is never released."""
    return end == planned


@large_kernel
@lean_kernel
def send_cohort(books: Books, due: int, arm: int, n: int, total: float, epoch: int) -> bool:
    """Put a cohort that is closed in flight; False if there is no room for it."""
    if is_full(books.flight):
        return False
    slot = push_slot(books.flight, due)
    books.closed[slot, 0], books.closed[slot, 1] = arm, n
    books.closed[slot, 2], books.closed[slot, 3] = total, epoch
    return True
