"""All that may be shown of a site's part of a study: one value, from which the site's own page is drawn.

Everything is OPERATIONAL: who has a place, which rounds were joined, and what the site's ledger says of them. No
outcome is read here, nor whether there is one, neither before a release nor after it: a site is told of no release, and
its own sums are nobody's to see.
"""

import json

from msgspec import Struct

from maskedbandit.privacy.loss import Loss
from maskedbandit.service.views.link import LinkState
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.site_entries import SiteBegan, SiteEnded, SiteJoined
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.pairing import Pairing, find_pairing
from maskedbandit.store.sites.book import Attempt, SiteBook, read_site_book
from maskedbandit.store.sites.rounds import LAST
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import Stages, find_sites_ever, find_stage
from maskedbandit.study.sites import Site


class SiteRound(Struct, frozen=True):
    """The newest attempt at the sum of a cohort that this site joined."""

    joined: SiteJoined
    here: int  # people of the cohort at this site
    phase: int  # the last one that was answered, counted from 0
    left: bool  # it answered with nothing: for this site the attempt is over
    agreed: tuple[int, ...] | None  # the sites whose sum may be opened, once this one has agreed to that

    @property
    def is_over(self) -> bool:
        """Whether the site has sent all that opens the sum."""
        return self.phase == LAST and not self.left


class SiteCohort(Struct, frozen=True):
    """The people of this site in a cohort."""

    number: int
    arm: str
    people: int
    seen: int  # of them, who saw the arm
    round: SiteRound | None


class SiteView(Struct, frozen=True):
    """A site's part of a study at a time."""

    protocol: Protocol
    now: int
    state: str
    number: int  # of this site
    stages: Stages  # the lists of sites to which it agreed
    began: SiteBegan
    coordinator: Pairing | None  # none if it was forgotten
    cohorts: tuple[SiteCohort, ...]
    rounds: tuple[SiteRound, ...]  # by cohort
    ledger: tuple[Entry, ...]
    loss: Loss  # what the rounds that were joined may have cost the worst person
    link: LinkState | None = None  # to the coordinator, in the process that holds the study

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.protocol.name

    @property
    def sites(self) -> tuple[Site, ...]:
        """Those of the newest list to which this one agreed."""
        return self.stages[-1].sites.sites

    @property
    def own(self) -> Site:
        """This site."""
        return find_sites_ever(self.stages)[self.number]

    @property
    def head(self) -> str:
        """The hash of the newest entry of the site's ledger."""
        return self.ledger[-1].hash

    @property
    def people(self) -> int:
        """The people of this site who have a place."""
        return sum(each.people for each in self.cohorts)

    @property
    def seen(self) -> int:
        """Those of them who saw the arm."""
        return sum(each.seen for each in self.cohorts)


def read_site_view(database: Database, witness: Witness, name: str, now: int) -> SiteView:
    """A site's part of a study, or raise `Corrupted` or `BehindWitness` unless its ledger is the one that was seen."""
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with database.still():
        book = read_site_book(database, witness, name)
        rounds = {each.joined.cohort: each for each in list_rounds(database, book)}
        began = book.entries[0]
        assert isinstance(began, SiteBegan)
        return SiteView(
            book.protocol,
            now,
            "archived" if isinstance(book.entries[-1], SiteEnded) else "running",
            book.number,
            book.stages,
            began,
            find_pairing(database, began.coordinator),
            tuple(list_cohorts_of_site(database, name, rounds)),
            tuple(rounds.values()),
            book.entries[: book.seen.entries],
            book.worst,
        )


def list_cohorts_of_site(database: Database, study: str, rounds: dict[int, SiteRound]) -> list[SiteCohort]:
    """The cohorts in which people of this site have places; all people of one get the same arm."""
    count = (
        "SELECT cohort, MIN(answer), COUNT(*), COUNT(exposed) FROM site_place WHERE study = ? "
        "AND answer <> '' GROUP BY cohort ORDER BY cohort"
    )
    return [
        SiteCohort(int(cohort), json.loads(answer)["arm"], int(people), int(seen), rounds.get(int(cohort)))
        for cohort, answer, people, seen in database.rows(count, study)
    ]


def list_rounds(database: Database, book: SiteBook) -> list[SiteRound]:
    """Of each cohort the attempt that was joined last, and what was answered in it."""
    find = "SELECT cohort, attempt, phase, LENGTH(sent) FROM site_message WHERE study = ? ORDER BY phase"
    answered = dict[Attempt, tuple[int, bool]]()
    for cohort, attempt, phase, length in database.rows(find, book.study):
        answered[cohort, attempt] = int(phase), not length
    found = []
    for cohort, attempt in dict(sorted(book.joined)).items():
        joined, agreed = book.joined[cohort, attempt], book.agreed.get((cohort, attempt))
        phase, left = answered.get((cohort, attempt), (0, True))
        sites = None if agreed is None else tuple(agreed.sites)
        weights = dict(zip(find_stage(book.stages, cohort).keys, joined.weights, strict=True))
        found.append(SiteRound(joined, weights[book.number], phase, left, sites))
    return found
