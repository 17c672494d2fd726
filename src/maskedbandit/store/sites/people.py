"""The people of a site: the places that the coordinator gave them, and their outcomes, which stay here.

note_place -> note_exposure -> take_report, until the window is over or the cohort's round is joined

Whoever has a place in a cohort when its first round is joined is in its sum, and has no other place for ever. Whatever
is told of a person after that, the arm is hers, and only her outcome does not count.
"""

import hmac
import json
from collections.abc import Collection, Sequence
from secrets import token_hex
from typing import Any, NamedTuple

from maskedbandit.errors import Conflict, Disagreement, Late, NotExposed, UnknownTicket
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.requests import Reported, check_outcome, check_unit, name_report
from maskedbandit.store.sites.session import SiteSession
from maskedbandit.study.cohort_numbers import find_cohort

COLUMNS = "ticket, person, cohort, answer, exposed"


class SitePlace(NamedTuple):
    """The place of a person of this site."""

    ticket: str
    person: str  # as the coordinator knows the person
    cohort: int
    answer: str  # of the coordinator, as JSON; empty if the person was erased, who was in a sum
    exposed: int | None


def name_for_coordinator(witness: Witness, project: str, unit: str) -> str:
    """The name by which the coordinator knows a person, whose budget is that of the project.

    The application's name does not leave the site.
    """
    return hmac.digest(witness.secret("people of sites"), f"{project}\n{check_unit(unit)}".encode(), "sha256").hex()


def note_place(session: SiteSession, person: str, cohort: int, answer: dict[str, Any]) -> SitePlace | None:
    """Write down the place that the coordinator gave a person, or raise `Disagreement` if it is not the person's own.

    Whoever comes again after the place went back has a new one, unless the person is in a sum. If an earlier answer was
    lost, the cohort may be added up by now: then the place is written down, and no outcome of it is taken. None, and
    nothing is written down, after the study has ended here, and for cohorts of older lists, which get nobody new.
    """
    database, name = session.database, session.name
    place = SitePlace(answer["ticket"], person, cohort, json.dumps(answer), None)
    of_ticket = database.one("SELECT person FROM site_place WHERE study = ? AND ticket = ?", name, place.ticket)
    if of_ticket is not None and of_ticket[0] != person:
        raise Disagreement("the coordinator gave a person the place of another one")
    before = find_place_of(session, person)
    if before is not None and before.ticket == place.ticket:
        if before.cohort != cohort:
            raise Disagreement("the coordinator moved a place to another cohort")
        return before
    if before is not None and is_added_up(session, before.cohort):
        raise Disagreement("the coordinator gave a second place to a person who is in a sum")
    if session.state != "running" or find_cohort(cohort) < session.stages[-1].first:
        return None
    if before is not None:
        remove_place_of_site(session, before.ticket)
    database.insert("site_place", f"study, {COLUMNS}", [(name, *place)])
    return place


def is_added_up(session: SiteSession, cohort: int) -> bool:
    """Whether this site has joined a round of a cohort."""
    return any(joined == cohort for joined, _ in session.joined)


def keep_places(session: SiteSession, cohort: int, tickets: Collection[str]) -> None:
    """A round of a cohort is joined: if it is the first one, these people have places in it, and saw their arms.

    The site may have heard neither that an arm was seen, nor that a place of somebody else went back as it was not.
    """
    if is_added_up(session, cohort):
        return
    find = "SELECT ticket FROM site_place WHERE study = ? AND cohort = ?"
    here = {ticket for (ticket,) in session.database.rows(find, session.name, cohort)}
    for ticket in here.difference(tickets):
        remove_place_of_site(session, ticket)
    keep = "UPDATE site_place SET exposed = ? WHERE study = ? AND cohort = ? AND exposed IS NULL"
    session.database.change(keep, session.now, session.name, cohort)


def remove_place_of_site(session: SiteSession, ticket: str) -> None:
    """Remove a place, and what was reported of it."""
    for table in ("site_report", "site_place"):
        session.database.change(f"DELETE FROM {table} WHERE study = ? AND ticket = ?", session.name, ticket)
    session.database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", session.name)


def erase_person_of_site(session: SiteSession, person: str) -> int:
    """Remove a person's place and outcomes from the site: of how many places. What was added up stays in the sums.

    That somebody was in a sum is not forgotten, under the name that the site made: no other place follows.
    """
    before = find_place_of(session, person)
    if before is None or not before.answer:
        return 0
    remove_place_of_site(session, before.ticket)
    if is_added_up(session, before.cohort):
        kept = before._replace(ticket=f"erased{token_hex(16)}", answer="", exposed=None)
        session.database.insert("site_place", f"study, {COLUMNS}", [(session.name, *kept)])
    return 1


def find_place_of(session: SiteSession, person: str) -> SitePlace | None:
    """The place of a person, if there is one."""
    find = f"SELECT {COLUMNS} FROM site_place WHERE study = ? AND person = ?"
    row = session.database.one(find, session.name, person)
    return None if row is None else SitePlace(*row)


def find_told_place(session: SiteSession, person: str, in_sum: bool = False) -> SitePlace | None:
    """The place that a person was told, unless it was erased. To ask leaves no trace.

    Whoever is in a sum keeps it, whatever becomes of the cohort; `in_sum`: only of somebody who is.
    """
    session.silent = True
    found = find_place_of(session, person)
    if found is None or not found.answer or (in_sum and not is_added_up(session, found.cohort)):
        return None
    return found


def find_place(session: SiteSession, ticket: str) -> SitePlace:
    """The place with this ticket."""
    if type(ticket) is str and ticket.isalnum():
        row = session.database.one(
            f"SELECT {COLUMNS} FROM site_place WHERE study = ? AND ticket = ?", session.name, ticket
        )
        if row is not None:
            return SitePlace(*row)
    raise UnknownTicket(f"no place of {session.name} at this site has this ticket")


def note_exposure(session: SiteSession, ticket: str) -> SitePlace:
    """The coordinator knows that the person saw the arm: from now on the outcome counts."""
    place = find_place(session, ticket)
    if place.exposed is None:
        keep = "UPDATE site_place SET exposed = ? WHERE study = ? AND ticket = ?"
        session.database.change(keep, session.now, session.name, ticket)
        place = place._replace(exposed=session.now)
    return place


def take_report(
    session: SiteSession, ticket: str, value: float, event: str = "", metric: str = "", proof: str = ""
) -> Reported:
    """What the person's outcome is: the first report of an event counts. It moves no time that others see."""
    session.silent = True
    place = find_place(session, ticket)
    check_outcome(session.protocol, value, event, metric, proof)
    if place.exposed is None:
        raise NotExposed("say first that the person saw the arm: a report must not decide who is in a cohort")
    over = session.now > place.exposed + session.protocol.reward.taken_for
    if over or is_added_up(session, place.cohort):
        raise Late("the window in which this outcome counts is over")
    name = name_report(session.protocol, ticket, event, metric, proof)
    find = "SELECT value FROM site_report WHERE study = ? AND ticket = ? AND event = ? AND proof = ?"
    before = session.database.one(find, session.name, *name)
    new = [(session.name, *name, float(value), next(session.positions))]
    session.database.insert_missing("site_report", "study, ticket, event, proof, value, position", new)
    known = before if proof else None  # without a proof nobody is told whether there was one
    if known is not None and known[0] != float(value):
        raise Conflict("this report came before, with another value: the first one stands")
    return Reported(again=known is not None)


def read_rewards(session: SiteSession, cohort: int, tickets: Sequence[str]) -> list[list[float]]:
    """The reports that count of each of these people: none of whoever is unknown here.

    Raise `Disagreement` if somebody is in it twice, or has a place in another cohort.
    """
    find = "SELECT ticket FROM site_place WHERE study = ? AND cohort <> ?"
    elsewhere = {ticket for (ticket,) in session.database.rows(find, session.name, cohort)}
    if len(set(tickets)) < len(tickets) or not elsewhere.isdisjoint(tickets):
        raise Disagreement(f"cohort {cohort} has somebody twice, or somebody of another cohort")
    told: dict[str, dict[str, float]] = {ticket: {} for ticket in tickets}
    reports = session.database.rows(
        "SELECT site_report.ticket, event, value FROM site_report JOIN site_place "
        "ON site_place.study = site_report.study AND site_place.ticket = site_report.ticket "
        "WHERE site_place.study = ? AND cohort = ? ORDER BY position",
        *(session.name, cohort),
    )
    for ticket, event, value in reports:
        if ticket in told:
            told[ticket].setdefault(event, value)
    return [list(each.values()) for each in told.values()]
