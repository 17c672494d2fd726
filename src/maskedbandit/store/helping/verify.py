"""Whether all that is stored of a study's helper fits together."""

from itertools import groupby
from typing import NamedTuple

from maskedbandit.errors import Corrupted, Forged, ProtocolError
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.store.book.checks import as_corrupted
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.book import HelpBook, find_leader_keys, find_operators, read_help_book
from maskedbandit.store.helping.locked_shares import ShareLock
from maskedbandit.store.helping.reports import COLUMNS, TakenReport
from maskedbandit.store.helping.totals import seal_answers
from maskedbandit.store.own_keys import derive_share_key


class VerifiedHelp(NamedTuple):
    """What was found to fit."""

    entries: int
    head: str
    totals: int
    reports: int  # that were offered


def verify_help(database: Database, witness: Witness, study: str) -> VerifiedHelp:
    """Raise `Corrupted` or `BehindWitness` unless everything fits; nothing is changed. The study may go on meanwhile.

    The ledger is whole, signed, and goes on from its witness; its totals have the noise of the protocol. What was
    answered of the reports of a cohort with a total is what the total's entry says, and their shares are erased; all
    others were locked with what was answered. The leader signed for each total.
    """
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with as_corrupted(study), database.still():
        book = read_help_book(database, witness, study)
        find = f"SELECT {COLUMNS} FROM helped_report WHERE study = ? ORDER BY cohort, place"
        taken = [TakenReport(*row) for row in database.rows(find, study)]
        lock = ShareLock(derive_share_key(witness, book.protocol.digest))
        check_requests(database, book)
        cohorts = {cohort: list(rows) for cohort, rows in groupby(taken, key=lambda each: each.cohort)}
        for cohort in cohorts.keys() | book.totals.keys():
            check_taken(book, lock, cohort, cohorts.get(cohort, []))
        return VerifiedHelp(*book.head, len(book.totals), len(taken))


def check_requests(database: Database, book: HelpBook) -> None:
    """Raise `Corrupted` unless the leader signed what each total was asked for."""
    if not book.totals:
        return
    signs = find_leader_keys(database, find_operators(book.study, book.protocol)).signs
    for each in book.totals.values():
        asked = TotalRequest(
            study=book.study,
            protocol=book.protocol.digest,
            cohort=each.cohort,
            n=each.n,
            digest=each.digest,
            signature=each.asked,
        )
        try:
            asked.verify(signs)
        except Forged as why:
            raise Corrupted(str(why)) from None


def check_taken(book: HelpBook, lock: ShareLock, cohort: int, taken: list[TakenReport]) -> None:
    """Raise `Corrupted` unless these are the reports of a cohort, as they were offered and answered."""
    where, made = f"cohort {cohort} of {book.study}", book.totals.get(cohort)
    if made is not None and (seal_answers(taken) != made.answers or {each.n for each in taken} - {made.n}):
        raise Corrupted(f"a report of {where} was changed after its total")
    if len({each.n for each in taken}) > 1 or any(not 0 <= each.place < each.n for each in taken):
        raise Corrupted(f"a report of {where} is not in one of its places")
    erased = made is not None or book.entries[-1].state == "stopped"
    for each in taken:
        if (each.locked is None) != erased:
            raise Corrupted(f"the share of a report of {where} was {'kept' if erased else 'removed'}")
        if not erased:
            check_lock(lock, each, where)


def check_lock(lock: ShareLock, taken: TakenReport, where: str) -> None:
    """Raise `Corrupted` unless the share of a report was locked with all that is stored of it."""
    try:
        taken.unlock(lock)
    except ProtocolError:
        raise Corrupted(f"a report of {where} was changed") from None
