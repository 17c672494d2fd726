"""Whether all that is stored of a study's shuffler fits together."""

from typing import NamedTuple

from maskedbandit.errors import Corrupted, Forged
from maskedbandit.shuffle.envelopes import BundleTerms
from maskedbandit.store.book.checks import as_corrupted
from maskedbandit.store.book.entries import Mixed
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.book import HelpBook, find_leader_keys, find_operators, read_help_book
from maskedbandit.study.mix_statement import check_mix, digest_messages


class VerifiedShuffling(NamedTuple):
    """What was found to fit."""

    entries: int
    head: str
    mixes: int
    bundles: int  # that wait


def verify_shuffling(database: Database, witness: Witness, study: str) -> VerifiedShuffling:
    """Raise `Corrupted` or `BehindWitness` unless everything fits; nothing is changed. The study may go on meanwhile.

    The ledger is whole, signed, and goes on from its witness. Of each cohort that was mixed the messages are those of
    its entry, in their order; the service signed for it, and no bundle is left of it. All others are in their places.
    """
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with as_corrupted(study), database.still():
        book = read_help_book(database, witness, study)
        for each in book.mixes.values():
            check_request(database, book, each)
            check_messages(database, book, each)
        find = "SELECT cohort, place, n, LENGTH(messages) FROM bundle WHERE study = ? ORDER BY cohort, place"
        waiting = database.rows(find, study)
        for cohort, place, n, _ in waiting:
            if cohort in book.mixes or not 0 <= place < n:
                raise Corrupted(f"a bundle of cohort {cohort} of {study} was mixed, or is in none of its places")
        if len({(cohort, n) for cohort, _, n, _ in waiting}) > len({cohort for cohort, *_ in waiting}):
            raise Corrupted(f"bundles of one cohort of {study} are of cohorts of different sizes")
        if waiting and book.entries[-1].state == "stopped":
            raise Corrupted(f"a bundle of {study} was kept after its end")
        return VerifiedShuffling(*book.head, len(book.mixes), sum(bool(length) for *_, length in waiting))


def check_request(database: Database, book: HelpBook, made: Mixed) -> None:
    """Raise `Corrupted` unless the service signed what was mixed."""
    signs = find_leader_keys(database, find_operators(book.study, book.protocol)).signs
    terms = BundleTerms(bytes.fromhex(book.protocol.digest), made.cohort, bytes.fromhex(made.offer), 0)
    try:
        check_mix(signs, terms.of_cohort, bytes.fromhex(made.people), made.asked)
    except Forged as why:
        raise Corrupted(str(why)) from None


def check_messages(database: Database, book: HelpBook, made: Mixed) -> None:
    """Raise `Corrupted` unless the messages of a cohort are those of its entry; after the end there are none."""
    find = "SELECT number, message FROM mixed WHERE study = ? AND cohort = ? ORDER BY number"
    rows = database.rows(find, book.study, made.cohort)
    if not rows and book.entries[-1].state == "stopped":
        return
    if [number for number, _ in rows] != list(range(made.messages)) or made.digest != digest_messages(
        bytes.fromhex(message) for _, message in rows
    ):
        raise Corrupted(f"a message of cohort {made.cohort} of {book.study} was changed after it was mixed")
