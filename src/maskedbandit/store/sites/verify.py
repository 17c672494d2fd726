"""Whether all that is stored of a site's study fits together."""

from typing import NamedTuple

from maskedbandit.errors import Corrupted
from maskedbandit.store.book.checks import as_corrupted
from maskedbandit.store.book.site_entries import SiteBegan, SiteEnded
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.sites.book import SiteBook, read_site_book
from maskedbandit.store.sites.rounds import LAST, parse_terms


class VerifiedSite(NamedTuple):
    """What was found to fit."""

    entries: int
    head: str
    joined: int  # attempts at sums
    agreed: int  # sums that were agreed to
    people: int


def is_site(database: Database, study: str) -> bool:
    """Whether this operator is one of the sites of a study."""
    find = "SELECT 1 FROM entry WHERE study = ? AND number = 0 AND body LIKE ?"
    return database.one(find, study, f'%"kind":"{SiteBegan.kind}"%') is not None


def verify_site(database: Database, witness: Witness, study: str) -> VerifiedSite:
    """Raise `Corrupted` or `BehindWitness` unless everything fits; nothing is changed. The study may go on meanwhile.

    The ledger is whole, signed, and goes on from its witness; what is stored of each attempt is what its entry says;
    every outcome is of somebody who has a place; what the site keeps secret of a round that is over is erased.
    """
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with as_corrupted(study), database.still():
        book = read_site_book(database, witness, study)
        check_rounds_of_site(database, book)
        stray = (
            "SELECT 1 FROM site_report LEFT JOIN site_place ON site_place.study = site_report.study "
            "AND site_place.ticket = site_report.ticket "
            "WHERE site_report.study = ? AND (exposed IS NULL OR site_place.ticket IS NULL) LIMIT 1"
        )
        if database.rows(stray, study):
            raise Corrupted(f"an outcome of {study} is of nobody who saw an arm at this site")
        ((people,),) = database.rows("SELECT COUNT(*) FROM site_place WHERE study = ? AND answer <> ''", study)
        return VerifiedSite(*book.head, len(book.joined), len(book.agreed), int(people))


def check_rounds_of_site(database: Database, book: SiteBook) -> None:
    """Raise `Corrupted` unless the attempts that are stored are those of the ledger, without secrets if they are over.

    One is over once the site answered its last message, or left it, or joined the next one, or the study ended.
    """
    find = "SELECT cohort, attempt FROM site_message WHERE study = ? AND (phase = ? OR sent = '')"
    over, last = set(database.rows(find, book.study, LAST)), dict(book.joined.keys())
    ended = any(isinstance(each, SiteEnded) for each in book.entries)
    find = "SELECT cohort, attempt, terms, value, seed FROM site_round WHERE study = ?"
    said = dict(book.joined)
    for cohort, attempt, terms, value, seed in database.rows(find, book.study):
        which = f"attempt {attempt} of cohort {cohort} of {book.study}"
        entry, stored = said.pop((cohort, attempt), None), parse_terms(terms)
        if entry is None or (stored.cohort, stored.attempt, stored.n, stored.weights) != (
            *(entry.cohort, entry.attempt, entry.n, entry.weights),
        ):
            raise Corrupted(f"{which} is not what the ledger says")
        if (value is None) != (seed is None):
            raise Corrupted(f"a secret of {which} was removed, and another one not")
        if value is not None and (ended or (cohort, attempt) in over or attempt < last[cohort]):
            raise Corrupted(f"the secrets of {which} were kept, and it is over")
    if said:
        raise Corrupted(f"attempt {min(said)[1]} of cohort {min(said)[0]} of {book.study} was removed")
