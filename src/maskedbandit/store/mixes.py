"""How a cohort is released whose devices send to a shuffler: the service asks for a mix, opens it, and releases it.

    cohorts_due -> ask_mix -> the shuffler mixes, once -> open_mix -> settle_mix

Nothing of a report is here before its cohort is mixed, and then nobody knows whose it was. If the shuffler states that
too few reports came to hide their senders, or a message cannot be read, the cohort is discarded, and its places are
dealt to other people. Whatever is cut off begins again: the shuffler says the same as often as it is asked.

**Guarantee**: a cohort is released once, with all messages that the shuffler has signed for; whatever it answers,
nothing else is released.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.errors import Disagreement, Late, NotExposed, NotRunning, ProtocolError
from maskedbandit.shuffle.envelopes import BundleTerms, name_person, open_messages
from maskedbandit.store.book.entries import Release
from maskedbandit.store.book.mixes import decode_mix, find_mixing, match_mix
from maskedbandit.store.discard import discard_cohort
from maskedbandit.store.people import check_kept
from maskedbandit.store.release import close_cohort, may_answer, write_release
from maskedbandit.store.requests import Done
from maskedbandit.store.session import Session
from maskedbandit.store.settle import find_due
from maskedbandit.study.mix_statement import MixStatement, digest_messages, digest_people, sign_mix, sign_pass
from maskedbandit.study.protocol import Protocol


class MixRequest(NamedTuple):
    """What the shuffler is asked for."""

    cohort: int  # as the shuffler knows it
    n: int
    people: bytes  # the names of those who have the places, one after the other
    signature: str


class OpenedMix(NamedTuple):
    """The messages of a cohort, added up."""

    total: int
    read: int  # how many of them could be read


def make_terms(session: Session, cohort: int, n: int, place: int = 0, ticket: str = "") -> BundleTerms:
    """What the bundle of a place of a cohort is bound to."""
    number = session.number_of(cohort)
    return BundleTerms(
        bytes.fromhex(session.protocol.digest), number, session.offers(n)[0].digest, place, name_person(ticket)
    )


def give_pass(session: Session, ticket: str) -> str:
    """The pass of a place whose arm was seen, which from then on is one person's for ever."""
    place = session.rows.place(ticket)
    if not session.protocol.shuffled:
        raise NotRunning(f"{session.name} has no shuffler, so nobody needs a pass")
    check_kept(session, place)
    if place.exposed is None:
        raise NotExposed("say first that the person saw the arm: until then the place may go to somebody else")
    cohort = session.driver.cohorts[place.cohort]
    over = session.now > place.exposed + session.protocol.reward.taken_for
    if over or cohort.closed or session.helper_lost:
        raise Late("the time in which a report of this place counts is over")
    terms = make_terms(session, place.cohort, cohort.size, place.place, ticket)
    return sign_pass(session.witness.signing_key(), terms)


def ask_mix(session: Session, cohort: int) -> MixRequest:
    """What the shuffler is asked for a cohort that is due: the reports of those who have its places now.

    Whoever was erased has none, nor has anybody whom an older copy of this database does not know.
    """
    places = find_due(session, cohort)
    terms = make_terms(session, cohort, places.size)
    find = "SELECT ticket FROM place WHERE study = ? AND cohort = ? AND returned IS NULL ORDER BY place"
    people = b"".join(name_person(ticket) for (ticket,) in session.database.rows(find, session.name, cohort))
    signed = sign_mix(session.witness.signing_key(), terms.of_cohort, digest_people(people))
    return MixRequest(terms.cohort, places.size, people, signed)


def open_mix(
    protocol: Protocol, asked: MixRequest, said: MixStatement, messages: Sequence[bytes], private: X25519PrivateKey
) -> OpenedMix:
    """Add up the messages of a cohort, or raise `Disagreement` unless they are those that the shuffler signed for."""
    if len(messages) != said.messages or digest_messages(messages) != said.digest:
        raise Disagreement(f"the messages are not those of {said.which}")
    if len(set(messages)) < len(messages):
        raise Disagreement(f"a message of {said.which} is in it twice")
    (offer,) = protocol.offers(asked.n)
    terms = BundleTerms(bytes.fromhex(protocol.digest), asked.cohort, offer.digest, 0)
    found = open_messages(messages, find_mixing(protocol).below(offer), terms.of_cohort, private)
    return OpenedMix(sum(found), len(found))


def settle_mix(session: Session, cohort: int, said: MixStatement, opened: OpenedMix) -> Release | Done | None:
    """Release a cohort with what was mixed, or discard it; or refuse with why the statement does not fit."""
    places, protocol = find_due(session, cohort), session.protocol
    number = session.number_of(cohort)
    try:
        match_mix(protocol, number, places.size, said, session.operators[1].signs)
    except ProtocolError as why:
        return Done(None, why)  # and others, who are in the same transaction, do not fail with it
    more: dict[str, Any] = {"mixed": said.to_text()}
    try:
        total = decode_mix(protocol, opened.total, said) if said.messages == opened.read > 0 else None
    except ProtocolError:  # a sum to which noise alone does not lead
        total = None
    if total is None:
        session.worst |= protocol.price(places.size)  # what was delivered was read, and cost its people as much
        discard_cohort(session, cohort, session.discards[cohort] + 1, **more)
        return None
    found = close_cohort(session, places)
    made = write_release(session, places, total, found, leader=str(opened.total), **more)
    if may_answer(session):
        session.driver.ask()
    return made
