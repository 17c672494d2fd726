"""What a study's ledger says that matters for its privacy: it follows from the hash of the last entry."""

from __future__ import annotations

from msgspec import Struct

from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store.book.book import Book, find_largest_loss
from maskedbandit.store.book.checks import as_corrupted, read_book
from maskedbandit.store.book.entries import ArmHarmful, Burned
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol


class Facts(Struct, frozen=True):
    """What the entries of a ledger say, up to one of them."""

    entries: int
    head: str  # the hash of the newest entry
    at: int | None  # when it was written, in milliseconds since 1970
    first_release: int | None
    state: str
    simulated: bool
    releases: int
    people: int  # in released cohorts
    noisiest: tuple[int, int]  # cohorts and people of the arm of which most was released
    approved_by: str  # the key of the officer who approved the protocol before it was started, or nothing
    changes: int  # of arms, by people: paused, resumed or added
    lists: int  # of sites, besides that of the protocol
    harmful: tuple[str, ...]  # the names of the arms that were found harmful by the rule
    gaps: int  # times that a restored copy was reconciled by charging everybody
    so_far: Loss  # what a person lost at most by what was published
    at_most: Loss  # and will have lost at most in the end

    @classmethod
    def of(cls, book: Book) -> Facts:
        """What the entries of a book say.

        A person's reward is in one release at most, so releases do not add up. If what one costs depends on the size of
        a cohort, a later one may cost more, but never more than the budget. Whoever was in a release that is missing
        from a restored database may take part again: what was burned comes on top. With local trust the server sees a
        report before there is a release, so whoever takes part has lost everything at once.
        """
        entries, releases = book.entries, book.releases
        burned = [each.loss for each in entries if isinstance(each, Burned) and each.missing]
        arms: dict[int, tuple[int, int]] = {}
        for each in releases:
            cohorts, people = arms.get(each.arm, (0, 0))
            arms[each.arm] = cohorts + 1, people + each.n
        extra, most = sum(burned, ZERO), price(book)
        return cls(
            entries=len(entries),
            head=book.head.hash,
            at=entries[-1].at if entries else None,
            first_release=releases[0].at if releases else None,
            state=book.state,
            simulated=book.is_simulated,
            releases=len(releases),
            people=sum(each.n for each in releases),
            noisiest=max(arms.values(), key=lambda each: each[1], default=(0, 0)),
            approved_by=book.started.approved_by if book.started else "",
            changes=sum(not isinstance(each, ArmHarmful) for each in book.changes),
            lists=max(len(book.site_lists.stages) - 1, 0),
            harmful=tuple(each.name for each in book.changes if isinstance(each, ArmHarmful)),
            gaps=len(burned),
            so_far=(most if book.protocol.on_devices and entries else book.worst) + extra,
            at_most=most + extra,
        )


def price(book: Book) -> Loss:
    """What a place costs at most, in a study that has asked for cohorts of some sizes, and may ask for more."""
    protocol = book.protocol
    found = find_largest_loss(protocol.price(size) for size in book.sizes or {protocol.people or 1000})
    ended = book.state in ("stopped", "archived")
    return found if ended or protocol.price(1) == protocol.price(1_000_000) else protocol.budget


def read_facts(database: Database, witness: Witness, study: str, upto: int | None = None) -> tuple[Protocol, Facts]:
    """The protocol, and the facts up to an entry, or up to the newest that the witness has seen.

    Raise `Corrupted` or `BehindWitness` unless the ledger holds, and fits what is stored: this is the part of `verify`
    that takes no time, and all that the facts rest on.
    """
    witness = witness.as_now()
    with as_corrupted(study), database.still():
        book = read_book(database, witness, study)
        seen = book.seen.entries
        told = book.until(seen if upto is None else min(upto, seen))
        return told.listed, Facts.of(told)
