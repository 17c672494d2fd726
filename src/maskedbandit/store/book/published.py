"""What was published of a study: the entries of its ledger that the witness has seen.

What the ledger has beyond that is told to nobody: should this database be lost now, a copy of it may make those
releases again, with other noise. Nor is anything told that follows from it: `Horizon`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from maskedbandit.errors import BehindWitness, UnknownStudy
from maskedbandit.store.book.chain import Entry, Head, entries, holds
from maskedbandit.store.book.standing import amended
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol

EVER = 2**62  # more steps than any log has, and a later time than any


class Horizon(NamedTuple):
    """Up to where the study may be shown: nothing that happened at this time or later, nor was decided at this step."""

    time: int
    step: int
    whole: bool  # nothing is left out

    @classmethod
    def of(cls, unseen: Sequence[Entry]) -> Horizon:
        """Before the first of the entries that the witness has not seen."""
        if not unseen:
            return cls(EVER, EVER, True)
        says = [entry.says for entry in unseen]
        return cls(says[0]["at"], min((each["step"] for each in says if "step" in each), default=EVER), False)


class Published(NamedTuple):
    """What a study was to be, with the arms that were added; the entries; and up to where it may be shown."""

    protocol: Protocol
    people: int | None  # with a place; None while it is not known how many may be shown
    entries: list[Entry]
    horizon: Horizon


def published(database: Database, witness: Witness, study: str) -> Published:
    """What the witness has seen of a study, or raise `BehindWitness` if the ledger here is not the one it knows.

    The witness must be as it was before the ledger is read (`as_now`), which may only go on from what was seen.
    """
    row = database.one("SELECT people, protocol FROM study WHERE study = ?", study)
    if row is None:
        raise UnknownStudy(f"there is no study {study!r} in this database")
    head, found = seen_head(database, witness, study), entries(database, study)
    seen, horizon = found[: head.entries], Horizon.of(found[head.entries :])
    return Published(amended(parsed(row[1]), seen), int(row[0]) if horizon.whole else None, seen, horizon)


@lru_cache(maxsize=64)
def parsed(text: str) -> Protocol:
    """A protocol, which is read once however often it is looked at."""
    return Protocol.from_text(text)


def seen_head(database: Database, witness: Witness, study: str) -> Head:
    """The newest entry that the witness has seen, or raise `BehindWitness` if it is not in the ledger here."""
    seen = witness.seen(study)
    if seen is None:
        if database.rows("SELECT number FROM entry WHERE study = ? LIMIT 1", study):
            raise BehindWitness(
                f"the witness in {witness.folder} has never seen {study}: name the folder that has, with --witness"
            )
        return Head()
    if not holds(database, study, seen.head):
        raise BehindWitness(f"the ledger of {study} is older than what was published of it, or another one")
    return seen.head
