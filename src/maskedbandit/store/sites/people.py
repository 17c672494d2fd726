"""The people of a site: the places that the coordinator gave them, and their outcomes, which stay here.

note_place -> note_exposure -> take_report, until the window is over or the cohort's round is joined
"""

import hmac
import json
from typing import Any, NamedTuple

from maskedbandit.errors import Conflict, Late, NotExposed, UnknownTicket
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.requests import Reported, check_outcome, check_unit, name_report
from maskedbandit.store.sites.session import SiteSession

COLUMNS = "ticket, person, cohort, answer, exposed"


class SitePlace(NamedTuple):
    """The place of a person of this site."""

    ticket: str
    person: str  # as the coordinator knows the person
    cohort: int
    answer: str  # of the coordinator, as JSON
    exposed: int | None


def name_for_coordinator(witness: Witness, study: str, unit: str) -> str:
    """The name by which the coordinator knows a person: the application's name does not leave the site."""
    return hmac.digest(witness.secret("people of sites"), f"{study}\n{check_unit(unit)}".encode(), "sha256").hex()


def note_place(session: SiteSession, person: str, cohort: int, answer: dict[str, Any]) -> SitePlace:
    """Write down the place that the coordinator gave a person; the one before stands, if there is one."""
    place = SitePlace(answer["ticket"], person, cohort, json.dumps(answer), None)
    session.database.insert_missing("site_place", f"study, {COLUMNS}", [(session.name, *place)])
    return find_place_of(session, person) or place


def find_place_of(session: SiteSession, person: str) -> SitePlace | None:
    """The place of a person, if there is one."""
    find = f"SELECT {COLUMNS} FROM site_place WHERE study = ? AND person = ?"
    row = session.database.one(find, session.name, person)
    return None if row is None else SitePlace(*row)


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
    """What the person's outcome is: the first report of an event counts."""
    place = find_place(session, ticket)
    check_outcome(session.protocol, value, event, metric, proof)
    if place.exposed is None:
        raise NotExposed("say first that the person saw the arm: a report must not decide who is in a cohort")
    over = session.now > place.exposed + session.protocol.reward.taken_for
    if over or any(cohort == place.cohort for cohort, _ in session.joined):
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


def read_rewards(session: SiteSession, cohort: int) -> list[list[float]]:
    """The reports that count of each of the site's people in a cohort who saw their arm."""
    seen = "SELECT ticket FROM site_place WHERE study = ? AND cohort = ? AND exposed IS NOT NULL ORDER BY ticket"
    told: dict[str, dict[str, float]] = {ticket: {} for (ticket,) in session.database.rows(seen, session.name, cohort)}
    reports = session.database.rows(
        "SELECT site_report.ticket, event, value FROM site_report JOIN site_place "
        "ON site_place.study = site_report.study AND site_place.ticket = site_report.ticket "
        "WHERE site_place.study = ? AND cohort = ? AND exposed IS NOT NULL ORDER BY position",
        *(session.name, cohort),
    )
    for ticket, event, value in reports:
        told[ticket].setdefault(event, value)
    return [list(each.values()) for each in told.values()]
