"""In which turn cohorts are dealt, by which others know them (study/cohort_numbers.py).

It is another turn after each time a cohort was discarded, and after a copy was reconciled from which entries are
missing. Nobody knows which turns there were in the ledger that was lost, so what is dealt after that has turns that
begin with a hash, that of the entry that says so. Each that was lost is the same with a chance of one in 65,536; then
nobody is added up twice either, as sites and the shuffler take part in each turn of a cohort once.
"""

from collections import Counter
from collections.abc import Sequence

from maskedbandit.store.book.entries import Burned, Release
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.site_entries import Discarded


def count_discards(entries: Sequence[Entry]) -> Counter[int]:
    """How often each cohort was discarded."""
    return Counter(each.cohort for each in entries if isinstance(each, Discarded))


def find_turn(burned: Burned | None, discards: int) -> int:
    """The turn of a cohort that was discarded so often, after this entry, if a copy was reconciled."""
    return discards + (1 + int(burned.hash[:4], 16) if burned is not None else 0)


def find_burned(entries: Sequence[Entry]) -> tuple[Burned | None, dict[int, Burned | None]]:
    """The last entry that says that a copy was reconciled, if there is one; and of released cohorts, until then."""
    burned, released = None, dict[int, Burned | None]()
    for each in entries:
        if isinstance(each, Release):
            released[each.cohort] = burned
        burned = each if isinstance(each, Burned) else burned
    return burned, released
