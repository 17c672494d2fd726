"""The release of a cohort, within a transaction: which are due, who is in one, and what is written of it."""

from collections.abc import Iterator, Sequence
from typing import Any

from maskedbandit.errors import Corrupted
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.arms import put_out_of_play
from maskedbandit.store.book.checks import check_head
from maskedbandit.store.book.entries import Release
from maskedbandit.store.book.further_sum import FurtherSum
from maskedbandit.store.members import Member, read_members, seal_members
from maskedbandit.store.memory import write_memory
from maskedbandit.store.requests import find_prefix
from maskedbandit.store.session import Session
from maskedbandit.study.deck import Places


def check_newest(session: Session) -> None:
    """Raise `BehindWitness` if the witness has seen other ledgers than those of this database.

    Then it is a copy, and the one that goes on is elsewhere.
    """
    witness = session.witness.as_now()
    check_head(witness, session.name, session.at_witness)
    session.others = witness.check_others(session.database, session.name, session.others)


def list_due(session: Session) -> Iterator[Places]:
    """The cohorts that may be released, each when those before it were; the cohorts of an arm are in their order."""
    waiting, over = set[int](), is_over(session)
    for places in session.driver.deck.unreleased():
        if places.given_up or (over and not places.full):
            continue  # it will never be full, and holds up no other
        if places.arm in waiting or not is_due(session, places):
            waiting.add(places.arm)
        else:
            yield places


def is_over(session: Session) -> bool:
    """Whether no place is dealt any more, those that come back neither."""
    return session.state in ("stopped", "archived") or session.driver.answer is not None


def may_answer(session: Session) -> bool:
    """Whether the policy may have its answer, before anybody else comes: all that it asked for was released."""
    return not session.protocol.policy.purpose.serves and not session.driver.deck.unreleased()


def is_due(session: Session, places: Places) -> bool:
    """Whether all places of a cohort were dealt and seen, and the last one's window is over."""
    count, latest = session.exposed.get(places.cohort, (0, 0))
    return places.full and count == places.size and session.now > latest + session.protocol.reward.taken_for


def release_cohort(session: Session, places: Places) -> Release:
    """Close a cohort, draw the noise, and write the release."""
    protocol, n, found = session.protocol, places.size, close_cohort(session, places)
    bits, offers = Bits(), session.offers(n)  # fresh bits: none from before a fork or a snapshot
    prefixes = [find_prefix(protocol, outcome.metric) for outcome in protocol.outcomes]
    total, *sums = [
        outcome.released([member.reports(prefix) for member in found], offer, bits, session.memory, places.arm)
        for outcome, prefix, offer in zip(protocol.outcomes, prefixes, offers, strict=True)
    ]
    further = [
        FurtherSum(*each).to_text() for each in zip(sums, (each.digest.hex() for each in offers[1:]), strict=True)
    ]
    more: dict[str, Any] = {"further": further} if further else {}
    return write_release(session, places, total, found, **more)


def close_cohort(session: Session, places: Places) -> list[Member]:
    """Close a cohort: who is in it."""
    session.protocol.channel.check_size(places.size, session.memory, places.arm)
    session.driver.close(places.cohort)
    found = read_members(session.database, session.name, places.cohort)
    if [member.place for member in found] != list(range(places.size)):
        which = f"cohort {places.cohort} of {session.name}"
        raise Corrupted(f"{which} has {len(found)} people in {places.size} places")
    return found


def write_release(
    session: Session, places: Places, total: float, found: Sequence[Member], n: int | None = None, **more: Any
) -> Release:
    """Write the release of a closed cohort, seal who is in it, and tell the policy.

    The sum is of n people, if not all of the cohort are in it.
    """
    cohort, size = places.cohort, places.size
    n = size if n is None else n
    price, digest, step = session.price(size), seal_members(found), len(session.driver.log)
    loss = session.losses[price]
    memory = write_memory(session.memory)
    columns = "study, cohort, step, arm, n, total, loss, members, memory"
    session.database.insert(
        "release", columns, [(session.name, cohort, step, places.arm, n, total, price, digest, memory)]
    )
    says: dict[str, Any] = {"cohort": cohort, "step": step, "arm": places.arm, "n": n, "total": total.hex()}
    says |= {"loss": loss.to_text(), "members": digest, "offer": session.offers(size)[0].digest.hex()}
    says |= {"size": size} if n < size else {}
    cap = {"cap": session.protocol.reward.cap} if session.protocol.reward.cap > 1 else {}
    made = session.enter(kind="released", **says, **more, **cap, memory=session.memory_digest(memory))
    assert isinstance(made, Release)
    session.worst |= loss
    session.driver.tell(cohort, n, total)
    session.exposed.pop(cohort)
    if session.watch is not None:
        put_out_of_play(session, session.watch.saw(made.in_epoch(places.epoch, 1)))
    return made
