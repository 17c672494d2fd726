"""Whether the newest releases are what they would be if nobody had reported.

Whether somebody reported is an outcome, so nothing but the released sums is looked at, with their noise. A person
without a report counts as the default. If the newest releases say that the mean is near to that, it may be that reports
are lost, or that outcomes are rare: sums cannot tell one from the other.
"""

from typing import NamedTuple

from maskedbandit.store.book.book import Book
from maskedbandit.theory.sequences import mean_interval

ENOUGH_PEOPLE = 1000  # in the newest releases that are looked at
NEAR_DEFAULT = 0.01  # by which a mean may differ from the default, of all that outcomes can be
SILENT_ERROR = 0.001  # the probability with which releases whose mean differs by more are taken for such ones


class SilentReleases(NamedTuple):
    """The newest releases, whose mean is surely near to the default."""

    many: int
    people: int
    since: int


def find_silent_releases(book: Book) -> SilentReleases | None:
    """The newest releases of enough people, if their mean is as it were without reports; None if it may differ.

    Where noise is that of a tree, the noises of single releases are not independent, and nothing is said.
    """
    law, newest, people = book.protocol.channel.law(), [], 0
    for each in reversed(book.releases):
        if people >= ENOUGH_PEOPLE:
            break
        newest.append(each)
        people += each.n
    if people < ENOUGH_PEOPLE or law.counter > 0:
        return None
    default, found = book.protocol.reward.of([]), mean_interval(law, newest, SILENT_ERROR)
    if found.low < default - NEAR_DEFAULT or found.high > default + NEAR_DEFAULT:
        return None
    return SilentReleases(len(newest), people, newest[-1].at)
