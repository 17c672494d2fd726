"""The sums of sites that are due: how far each round is, whom it waits for, and how much noise may still be lost.

OPERATIONAL: whether a site has sent something is looked at, and never what. A sum is opened if enough people are in it:
as many as noise is counted on, besides those of the heaviest sites that may collude. Sites with at most `spare` people
together may be lost: whichever they are, those that are left and do not collude have enough.
"""

from collections import defaultdict
from typing import Any

from msgspec import Struct

from maskedbandit.channels.channel import find_backend
from maskedbandit.secagg.kept_round import MASKING
from maskedbandit.service.views.counts import CohortStanding
from maskedbandit.store.book.book import Book
from maskedbandit.store.databases.database import Database
from maskedbandit.study.site_stages import find_stage


class DueSum(Struct, frozen=True):
    """The sum of a cohort, all of whose places are given."""

    cohort: int
    attempt: int = 0  # 0: the first one has not begun
    phase: int = 0  # counted from 0
    since: int | None = None  # when the phase began
    waits_for: tuple[int, ...] = ()  # sites
    spare: int | None = None  # people who may still be lost; None once it is settled who is in the sum
    spare_sites: int = 0  # at how many sites at most, by the protocol


def list_due_sums(database: Database, book: Book, cohorts: tuple[CohortStanding, ...]) -> tuple[DueSum, ...]:
    """The sums that are due or will be, of a study of sites."""
    if book.protocol.sites is None:
        return ()
    full = [each for each in cohorts if each.may_be_released and each.dealt == each.size]
    find = "SELECT cohort, attempt, phase, since FROM round WHERE study = ?"
    under_way = {int(row[0]): row for row in database.rows(find, book.study)}
    find = "SELECT cohort, attempt, phase, party, LENGTH(message) FROM round_message WHERE study = ?"
    sent = defaultdict[tuple[int, int], dict[tuple[int, int], int]](dict)
    for cohort, attempt, phase, site, length in database.rows(find, book.study):
        sent[cohort, attempt][phase, site] = length
    found = []
    for each in full:
        due = DueSum(*under_way.get(each.number, (each.number,)))
        count = "SELECT site, COUNT(*) FROM place WHERE study = ? AND cohort = ? AND returned IS NULL GROUP BY site"
        people = {int(site): int(many) for site, many in database.rows(count, book.study, each.number)}
        found.append(describe_sum(book, each, people, due, sent[due.cohort, due.attempt]))
    return tuple(found)


def describe_sum(
    book: Book, standing: CohortStanding, people: dict[int, int], due: DueSum, sent: dict[tuple[int, int], int]
) -> DueSum:
    """A sum with what is known of it by what each site sent in each phase: so many digits, and none if it left."""
    protocol = book.protocol
    channel: Any = protocol.channel
    backend: Any = find_backend(channel)
    sites = find_stage(book.site_lists.stages, standing.number).sites.sites
    there = {
        site
        for site in (each.number for each in sites)
        if all(sent.get((phase, site)) for phase in range(due.phase)) and sent.get((due.phase, site), 1)
    }
    waits_for = tuple(sorted(site for site in there if (due.phase, site) not in sent)) if due.attempt else ()
    spare = None
    if due.phase <= MASKING:
        left = sorted(people.get(site, 0) for site in there)
        spare = max(sum(left[: len(left) - backend.colluding]) - channel.counted_on(standing.size), 0)
    away = len(sites) - len(there)
    return DueSum(
        *(due.cohort, due.attempt, due.phase, due.since, waits_for, spare), spare_sites=max(backend.lost - away, 0)
    )
