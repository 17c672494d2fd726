"""Whether the newest releases are what they would be if nobody had reported.

Whether somebody reported is an outcome, so nothing but the released sums is looked at, with their noise. A person
without a report counts as the default. If the newest releases say that the mean is near to that, it may be that reports
are lost, or that outcomes are rare: sums cannot tell one from the other.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from maskedbandit import core
from maskedbandit.law import Law
from maskedbandit.store.book.book import Book
from maskedbandit.theory.sequences import mean_interval

NEAR_DEFAULT = 0.01  # by which a mean may differ from the default, of all that outcomes can be
SILENT_ERROR = 0.001  # the probability with which releases whose mean differs by more are taken for such ones


class SilentReleases(NamedTuple):
    """The newest releases, whose mean is surely near to the default."""

    many: int
    people: int
    since: int


def find_silent_releases(book: Book) -> SilentReleases | None:
    """The newest releases, if their mean is as it were without reports; None if it may differ.

    It is of so many of them as would show that. How many these are depends on their numbers of people, and not on their
    sums. Where noise is that of a tree, the noises of single releases are not independent, and nothing is said.
    """
    law, default = book.protocol.channel.law(), book.protocol.reward.of([])
    many = 0 if law.counter > 0 else count_enough_releases(law, default, tuple(each.n for each in book.releases[::-1]))
    newest = book.releases[len(book.releases) - many :]
    people = sum(each.n for each in newest)
    if not many or abs(sum(each.total for each in newest) / people - default) > NEAR_DEFAULT:
        return None
    if not is_near_default(law, default, tuple((each.n, each.total) for each in newest)):
        return None
    return SilentReleases(many, people, newest[0].at)


@lru_cache(maxsize=256)
def count_enough_releases(law: Law, default: float, sizes: Sequence[int]) -> int:
    """How many of the newest releases show that nobody reported, if nobody did and the noise were 0; 0 if none do."""
    many = 1
    while many <= len(sizes):
        if is_near_default(law, default, tuple((n, n * default) for n in sizes[:many])):
            return many
        many *= 2
    return 0


@lru_cache(maxsize=256)
def is_near_default(law: Law, default: float, sums: Sequence[tuple[int, float]]) -> bool:
    """Whether the mean of the people in these sums is surely near to the default."""
    found = mean_interval(law, [core.Release(0, n, total) for n, total in sums], SILENT_ERROR)
    return found.low >= default - NEAR_DEFAULT and found.high <= default + NEAR_DEFAULT
