"""How often cohorts were dealt again, which others know under another number each time (study/cohort_numbers.py)."""

from collections import Counter
from collections.abc import Sequence

from maskedbandit.store.book.entries import Burned, Release
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.site_entries import Discarded


def count_discards(entries: Sequence[Entry]) -> Counter[int]:
    """How often each cohort was discarded."""
    return Counter(each.cohort for each in entries if isinstance(each, Discarded))


def count_lost(entries: Sequence[Entry]) -> tuple[int, dict[int, int]]:
    """How often a copy was restored, and what was not released dealt again; and of released cohorts, until then."""
    lost, released = 0, dict[int, int]()
    for each in entries:
        if isinstance(each, Release):
            released[each.cohort] = lost
        lost += isinstance(each, Burned)
    return lost, released
