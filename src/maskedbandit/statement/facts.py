"""What a study's ledger says that matters for its privacy: it follows from the hash of the last entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from maskedbandit.core import Decision
from maskedbandit.errors import UnknownStudy
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store.book.chain import START, Entry, entries, verified
from maskedbandit.store.book.checked import check_start, check_state, check_witness, readable, state_of
from maskedbandit.store.book.standing import of_arms, stages
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.deck import Deck
from maskedbandit.study.protocol import Protocol

BY_PEOPLE = ("arm_paused", "arm_resumed", "arm_added")


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
    changes: int  # of arms, by people: paused, resumed or added
    harmful: tuple[str, ...]  # the names of the arms that were found harmful by the rule
    gaps: int  # times that a restored copy was reconciled by charging everybody
    so_far: Loss  # what a person lost at most by what was published
    at_most: Loss  # and will have lost at most in the end

    @classmethod
    def of(cls, protocol: Protocol, found: Sequence[Entry], sizes: Iterable[int]) -> Facts:
        """What these entries say of a study that has asked for cohorts of these sizes.

        A person's reward is in one release at most, so releases do not add up. If what one costs depends on the size of
        a cohort, a later one may cost more, but never more than the budget. Whoever was in a release that is missing
        from a restored database may take part again: what was burned comes on top. With local trust the server sees a
        report before there is a release, so whoever takes part has lost everything at once.
        """
        said = [entry.says for entry in found]
        releases = [each for each in said if each["kind"] == "released"]
        burned = [Loss.from_text(each["loss"]) for each in said if each["kind"] == "burned"]
        arms: dict[int, tuple[int, int]] = {}
        lost, extra = ZERO, ZERO
        for each in releases:
            lost |= loss_of(each["loss"])
            cohorts, people = arms.get(each["arm"], (0, 0))
            arms[each["arm"]] = cohorts + 1, people + each["n"]
        for loss in burned:
            extra += loss
        state = state_of(each["kind"] for each in said)
        most = price(protocol, sizes, state in ("stopped", "archived"))
        return cls(
            entries=len(said),
            head=found[-1].hash if found else START,
            at=said[-1]["at"] if said else None,
            first_release=releases[0]["at"] if releases else None,
            state=state,
            simulated=any(each.get("simulated") is True for each in said[:1]),
            releases=len(releases),
            people=sum(each["n"] for each in releases),
            noisiest=max(arms.values(), key=lambda each: each[1], default=(0, 0)),
            changes=sum(each["kind"] in BY_PEOPLE for each in said),
            harmful=tuple(each["name"] for each in said if each["kind"] == "arm_harmful"),
            gaps=len(burned),
            so_far=(most if protocol.on_devices and said else lost) + extra,
            at_most=most + extra,
        )


@lru_cache(maxsize=256)
def loss_of(text: str) -> Loss:
    """What a release costs: most releases of a study cost the same."""
    return Loss.from_text(text)


def price(protocol: Protocol, sizes: Iterable[int], ended: bool) -> Loss:
    """What a place costs at most, in a study that has asked for cohorts of these sizes, and may ask for more."""
    found = ZERO
    for size in set(sizes) or {protocol.people or 1000}:
        found |= protocol.price(size)
    return found if ended or protocol.price(1) == protocol.price(1_000_000) else protocol.budget


def published_facts(
    database: Database, witness: Witness, study: str, upto: int | None = None
) -> tuple[Protocol, Facts]:
    """The protocol, and the facts up to an entry, or up to the newest that the witness has seen.

    Raise `Corrupted` or `BehindWitness` if the ledger does not hold, or the protocol or the state is not that of the
    ledger: this is the part of `verify` that takes no time, and all that the facts rest on.
    """
    witness = witness.as_now()
    with readable(study), database.still():
        row = database.one("SELECT protocol, seed, state FROM study WHERE study = ?", study)
        if row is None:
            raise UnknownStudy(f"there is no study {study!r} in this database")
        protocol, seed, state = Protocol.from_text(row[0]), bytes.fromhex(row[1]), row[2]
        found = entries(database, study)
        head = verified(study, found, witness.signing_key().public_key())
        check_start(study, found, protocol, seed)
        check_state(study, found, state)
        seen = check_witness(witness, study, found, head)
        last = seen.entries if upto is None else min(upto, seen.entries)
        return protocol, Facts.of(protocol, found[:last], sizes(database, study, found[last:]))


def sizes(database: Database, study: str, later: Sequence[Entry] = ()) -> set[int]:
    """The sizes of the cohorts that were asked for before any of these releases, and stages."""
    steps = (says["step"] for says in (entry.says for entry in later) if "step" in says)
    deck, find = Deck(), "SELECT step, arm, n, close FROM decision WHERE study = ? AND step < ? ORDER BY step"
    begun = sorted(stages(of_arms(database, study)))
    for step, arm, n, close in database.rows(find, study, min(steps, default=2**62)):
        while begun and begun[0] < step:
            begun.pop(0)
            deck.end_stage()
        if n > 0:
            deck.add(Decision(arm, n, close))
    return {places.size for places in deck.cohorts}
