"""What follows from when people were given their places: that they came too early for a bandit, or come no more."""

from itertools import groupby
from typing import NamedTuple

from maskedbandit.policies.parts.fixed_phases import FixedPhases
from maskedbandit.service.views.counts import StudyCounts
from maskedbandit.store.book.book import Book

MOST_PEOPLE = 2  # one in so many people is "most of them", if they all were early
LONG_SILENCE = 86_400_000  # milliseconds in which nobody came, at the least
LONGER = 3  # times as long as the longest silence before


class EarlyPeople(NamedTuple):
    """Those who had their places within one window from the first person on, and before anything was released."""

    many: int
    since: int  # when most people had


def find_early_people(book: Book, counts: StudyCounts) -> EarlyPeople | None:
    """If most people of a study came within one window, before anything was released; None if they did not.

    A policy with phases of fixed sizes gives no places while it waits, and a search has no number of people.
    """
    people, database = book.protocol.people, book.database
    if people is None or database is None or isinstance(book.protocol.policy, FixedPhases):
        return None
    most = -(-people // MOST_PEOPLE)
    if sum(counts.dealt) < most:
        return None
    find = "SELECT MIN(assigned) FROM place WHERE study = ? AND assigned < ?"
    ((began,),) = database.rows(find, book.study, book.horizon.time)
    ends = [book.horizon.time, began + book.protocol.reward.taken_for, *(each.at for each in book.releases[:1])]
    early = "FROM place WHERE study = ? AND assigned < ? AND returned IS NULL"
    row = database.one(f"SELECT assigned {early} ORDER BY assigned LIMIT 1 OFFSET {most - 1}", book.study, min(ends))
    if row is None:
        return None
    ((many,),) = database.rows(f"SELECT COUNT(*) {early}", book.study, min(ends))
    return EarlyPeople(int(many), int(row[0]))


def find_silence(book: Book, counts: StudyCounts, now: int) -> int | None:
    """Since when nobody has come, if there are places and that is long for this study; None if it is not.

    A study's own pace is in the pictures of its page: the longest run of columns in which nobody came.
    """
    has_places = any(each.state == "open" and each.dealt < each.size for each in counts.cohorts)
    if book.database is None or (counts.cohorts and not has_places):  # the policy is asked when the first person comes
        return None
    newest = "SELECT MAX(assigned) FROM place WHERE study = ? AND assigned < ?"
    ((last,),) = book.database.rows(newest, book.study, book.horizon.time)
    since = book.entries[0].at if last is None else int(last)
    since = max([since, *(each.at for each in book.entries if each.kind == "resumed")])
    empty = (len(list(run)) for none, run in groupby(counts.columns, lambda each: not any(each.arms)) if none)
    longest = (max(empty, default=0) + 1) * counts.step
    return since if now - since > max(LONG_SILENCE, LONGER * longest) else None
