"""How a cohort is released whose outcomes stay with sites, or with single devices: in a round, phase after phase.

    due -> keys -> sealed key shares -> masked values -> votes -> key shares -> released

The parties are the sites, by number, or the places of the cohort. A phase ends when all parties have answered, or after
the `wait` of the protocol. Then it goes on without sites that may be lost, and waits for others; devices that did not
answer are lost.

An attempt fails if too many parties leave it. The next one has fresh keys and fresh noise, and the price of a place is
that of all attempts. After the last one the cohort is discarded: its people are charged, and its places dealt again.

**Guarantee**: a cohort has one release. Whoever runs the study has no outcome, and no sum but that of a list of parties
of which each honest one agreed that enough people are in it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from maskedbandit.channels.channel import find_backend
from maskedbandit.errors import Conflict, InvalidValue, OutOfTurn, ProtocolError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.kept_round import MASKING, RoundAnswer, RoundDue
from maskedbandit.store.book.entries import Release
from maskedbandit.store.change_sites import note_confirmation
from maskedbandit.store.discard import discard_cohort
from maskedbandit.store.held_rounds import (
    HeldRound,
    begin_attempt,
    count_people_of,
    end_phase_of,
    forget_round,
    hold_rounds,
    list_tickets,
    may_tell_list,
)
from maskedbandit.store.release import check_newest, close_cohort, list_due, may_answer, write_release
from maskedbandit.store.requests import Done
from maskedbandit.store.session import Session
from maskedbandit.study.cohort_numbers import find_cohort
from maskedbandit.study.deck import Places

MOST_TOLD, MOST_INVITED = 64, 10**6  # rounds, and people in them, of which a party is told at once


class DueOfDevice(NamedTuple):
    """What a device is told of the round of its cohort."""

    due: RoundDue | None
    over: bool  # the cohort was released, or never will be: nothing will be due any more


def go_round_of_device(session: Session, ticket: str, answers: Sequence[RoundAnswer]) -> DueOfDevice | Done:
    """Take what the device of a person answers in the round of its cohort, and say what is due from it now."""
    if session.protocol.rounds is None:
        raise InvalidValue("round", "not shown", "left out: in this study no devices add up")
    place = session.rows.place(ticket)
    if place.returned is not None or session.driver.cohorts[place.cohort].release is not None:
        return DueOfDevice(None, over=True)
    found = go_rounds(session, place.place, answers, lambda cohort: cohort == place.cohort)
    if isinstance(found, Done):
        return found
    cohort = session.driver.cohorts[place.cohort]
    return DueOfDevice(found[0] if found else None, over=cohort.release is not None or session.state == "archived")


def go_rounds_of_site(
    session: Session, site: int, answers: Sequence[RoundAnswer], confirmed: str = "", signed: str = ""
) -> list[RoundDue] | Done:
    """Take what a site answers, and to which list of sites it agreed last, and say what is due from it now.

    Nothing is due of a list to which the ledger does not say that it agreed, be it that there is a newer one.
    """
    session.write()
    try:
        note_confirmation(session, site, confirmed, signed)
    except ProtocolError as why:
        return Done(None, why)
    own = [
        each._replace(cohort=cohort)
        for each in answers
        if session.number_of(cohort := find_cohort(each.cohort)) == each.cohort  # else it was dealt again since
    ]
    return go_rounds(session, site, own, lambda cohort: session.site_lists.has_agreed(site, cohort))


def go_rounds(
    session: Session, party: int, answers: Sequence[RoundAnswer], is_of: Callable[[int], bool]
) -> list[RoundDue] | Done:
    """Take what a party answers in the rounds of the cohorts that it `is_of`, and say what is due from it now.

    That is the same however often it is asked.
    """
    check_newest(session)
    session.write()
    try:
        for each in answers:
            if is_of(each.cohort):
                take_answer(session, party, each)
    except ProtocolError as why:
        return Done(None, why)  # and others, who are in the same transaction, do not fail with it
    go_on_with_rounds(session)
    found, told = list[RoundDue](), 0
    for cohort, held in hold_rounds(session).items():
        if is_of(cohort) and party in held.server.waiting:
            invited = list_tickets(session, cohort, party) if held.terms.weights and held.phase == 0 else ()
            told += len(invited)
            if found and (len(found) == MOST_TOLD or told > MOST_INVITED):
                break  # of the others it is told when it has answered these
            found.append(RoundDue(held.terms, held.phase, held.server.message_for(party), invited))
    return found


def take_answer(session: Session, party: int, given: RoundAnswer) -> None:
    """Write down what a party sent, if it is due; what was sent before is the same, or is refused."""
    find = "SELECT message FROM round_message WHERE study = ? AND cohort = ? AND attempt = ? AND phase = ?"
    name, where = session.name, (given.cohort, given.attempt, given.phase)
    if (before := session.database.one(f"{find} AND party = ?", name, *where, party)) is not None:
        if before[0] != given.message.hex():
            raise Conflict("this party has answered this phase otherwise: the first answer stands")
        return
    held = hold_rounds(session).get(given.cohort)
    if held is None or (held.terms.attempt, held.phase) != where[1:]:
        return  # it is over, and whoever missed the answer is told by what is due now
    if party not in held.server.waiting:
        raise OutOfTurn("nothing is due from this party in this phase")
    held.take_message(party, given.message)
    columns = "study, cohort, attempt, phase, party, message"
    session.database.insert("round_message", columns, [(name, *where, party, given.message.hex())])


def go_on_with_rounds(session: Session) -> list[Release]:
    """Begin the rounds that are due, end the phases that are over, and release the cohorts of those that ended."""
    released = []
    while True:
        changed = False
        due = {places.cohort: places for places in list_first_due(session)}
        for cohort, places in due.items():
            if (held := hold_rounds(session).get(cohort)) is None:
                begin_attempt(session, cohort, 1)
                changed = True
            elif (made := end_phase(session, places, held)) is not None:
                changed = True
                if isinstance(made, Release):
                    released.append(made)
        if not changed:
            break
    if released and may_answer(session):
        session.driver.ask()
    return released


def list_first_due(session: Session) -> list[Places]:
    """The cohorts whose round may be under way: of each arm the first one."""
    found = dict[int, Places]()
    for places in list_due(session):
        found.setdefault(places.arm, places)
    return list(found.values())


def end_phase(session: Session, places: Places, held: HeldRound) -> Release | bool | None:
    """End the phase of a round if it is over: the release, if it was the last one; None if it goes on."""
    server, protocol = held.server, session.protocol
    channel, attempts = protocol.channel, count_attempts(session)
    overdue = session.now > held.since + protocol.wait
    can = can_succeed(held, list_gone_sites(session, held) if overdue else frozenset())
    if server.waiting and not overdue and can:
        return None
    waits_on = protocol.sites is not None and can and not (held.left and held.terms.attempt < attempts)
    try:
        server.close()
    except ProtocolError:  # too few are left, or what they sent does not fit
        if not waits_on:
            return end_attempt(session, places, held)
        session.rounds = None  # it is made again, as it was before it was closed
        return None
    if server.phase:
        if not may_tell_list(session, held):
            return end_attempt(session, places, held)
        end_phase_of(session, places.cohort, held)
        return True
    there, n = sorted(server.survivors), count_people_of(held, server.survivors)
    assert server.total is not None
    try:
        total = channel.analyze(server.total, session.offers(places.size)[0], Bits(), answers=n)
    except ProtocolError:  # a sum to which noise alone does not lead
        return end_attempt(session, places, held)
    named = {"sites": there} if held.terms.weights else {}
    made = write_release(session, places, total, close_cohort(session, places), n=n, **named)
    forget_round(session, places.cohort)
    return made


def count_attempts(session: Session) -> int:
    """How often a cohort may be tried."""
    backend: Any = find_backend(session.protocol.channel)
    attempts: int = backend.attempts
    return attempts


def list_gone_sites(session: Session, held: HeldRound) -> frozenset[int]:
    """The sites of a round that have left the study since: it does not wait for them for ever."""
    stages = session.site_lists.stages
    return frozenset(held.server.plan.users) - stages[-1].keys.keys() if stages else frozenset()


def can_succeed(held: HeldRound, gone: frozenset[int]) -> bool:
    """Whether the phase could end well if all parties answered that have not yet, but for those that are gone."""
    plan, waiting = held.server.plan, held.server.waiting
    if not waiting:
        return False
    there = waiting - gone | held.answered
    if held.phase > MASKING:
        return len(there) >= plan.threshold
    return len(there) >= plan.least and plan.count_people(there) >= plan.people


def end_attempt(session: Session, places: Places, held: HeldRound) -> bool:
    """An attempt failed: begin the next one, or discard the cohort, whose places are dealt to other people."""
    cohort, attempt = places.cohort, held.terms.attempt
    if attempt < count_attempts(session):
        begin_attempt(session, cohort, attempt + 1)
        return True
    forget_round(session, cohort)
    discard_cohort(session, cohort, attempt)
    return True
