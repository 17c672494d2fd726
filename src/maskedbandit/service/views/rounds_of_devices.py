"""The rounds of devices that are due: how far each is, how many devices have answered, and how many may still be lost.

OPERATIONAL: whether a device has sent something is looked at, and never what. A sum is opened if enough devices are in
it: as many as noise is counted on, and as many more as may be corrupted.
"""

from collections import defaultdict
from typing import Any

from msgspec import Struct

from maskedbandit.channels.channel import find_backend
from maskedbandit.secagg.kept_round import MASKING
from maskedbandit.service.views.counts import CohortStanding
from maskedbandit.store.book.book import Book
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol


class DueRound(Struct, frozen=True):
    """The round of a cohort, all of whose places are given."""

    cohort: int
    attempt: int = 0  # 0: the first one has not begun
    phase: int = 0  # counted from 0
    since: int | None = None  # when the phase began
    there: int = 0  # devices that answered in all phases before, and did not leave in this one
    answered: int = 0  # of these, in this one
    spare: int | None = None  # devices that may still be lost; None once it is settled who is in the sum


def count_needed_devices(protocol: Protocol, n: int) -> int:
    """How many devices of a cohort of n have to be in its sum."""
    channel: Any = protocol.channel
    backend: Any = find_backend(channel)
    return int(channel.counted_on(n) + backend.rules.count_corrupted(n))


def list_due_rounds(database: Database, book: Book, cohorts: tuple[CohortStanding, ...]) -> tuple[DueRound, ...]:
    """The rounds that are due or will be, of a study whose devices add up."""
    if book.protocol.rounds is None:
        return ()
    find = "SELECT cohort, attempt, phase, since FROM round WHERE study = ?"
    under_way = {int(row[0]): row for row in database.rows(find, book.study)}
    find = "SELECT cohort, attempt, phase, party, message <> '' FROM round_message WHERE study = ?"
    sent, left = (defaultdict[tuple[int, int, int], set[int]](set) for _ in range(2))
    for cohort, attempt, phase, device, says in database.rows(find, book.study):
        (sent if says else left)[cohort, attempt, phase].add(device)
    found = []
    for each in cohorts:
        if each.may_be_released and each.dealt == each.size:
            due, there = DueRound(*under_way.get(each.number, (each.number,))), set(range(each.size))
            for phase in range(due.phase):
                there &= sent[due.cohort, due.attempt, phase]
            there -= left[due.cohort, due.attempt, due.phase]
            answered = len(there & sent[due.cohort, due.attempt, due.phase])
            spare = (
                max(len(there) - count_needed_devices(book.protocol, each.size), 0) if due.phase <= MASKING else None
            )
            found.append(DueRound(due.cohort, due.attempt, due.phase, due.since, len(there), answered, spare))
    return tuple(found)
