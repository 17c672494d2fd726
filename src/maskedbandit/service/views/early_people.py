"""Whether most people of a study came within one window: then its policy learned from nobody for anybody else."""

from typing import NamedTuple

from maskedbandit.policies.parts.fixed_phases import FixedPhases
from maskedbandit.store.book.book import Book

MOST_PEOPLE = 2  # one in so many people is "most of them", if they all were early


class EarlyPeople(NamedTuple):
    """Those who had their places within one window from the first person on, and before anything was released."""

    many: int
    since: int  # when most people had


def find_early_people(
    book: Book, placed: int, known: dict[int, EarlyPeople | None], settled: int
) -> EarlyPeople | None:
    """If most people of a study, of whom so many have places, came so early; None if they did not.

    A policy with phases of fixed sizes gives no places while it waits, and a search has no number of people. Once all
    is settled that happened until then it is known, and looked for no more.
    """
    people, database, study = book.protocol.people, book.database, book.study
    if people is None or database is None or isinstance(book.protocol.policy, FixedPhases):
        return None
    if placed < (most := -(-people // MOST_PEOPLE)):
        return None
    find = "SELECT MIN(assigned) FROM place WHERE study = ? AND assigned < ?"
    ((began,),) = database.rows(find, study, book.horizon.time)
    end = min(book.horizon.time, began + book.protocol.reward.taken_for, *(each.at for each in book.releases[:1]))
    if end in known:
        return known[end]
    found, early = None, "FROM place WHERE study = ? AND assigned < ? AND returned IS NULL"
    row = database.one(f"SELECT assigned {early} ORDER BY assigned LIMIT 1 OFFSET {most - 1}", study, end)
    if row is not None:
        ((many,),) = database.rows(f"SELECT COUNT(*) {early}", study, end)
        found = EarlyPeople(int(many), int(row[0]))
    if end <= settled:
        known[end] = found
    return found
