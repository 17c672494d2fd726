"""Services that tell what was reported of a person, or whether anything was: two_worlds.py notices each of them."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs

from maskedbandit.errors import Conflict
from maskedbandit.service import app
from maskedbandit.service.api import ofrep, person
from maskedbandit.service.host import deliveries
from maskedbandit.service.host.metrics import Metrics
from maskedbandit.service.views import status, view
from maskedbandit.store import people, reconcile
from maskedbandit.store.book import verify
from maskedbandit.store.people import check_kept
from maskedbandit.store.requests import Reported
from maskedbandit.store.rows import Rows
from maskedbandit.store.session import Session
from maskedbandit.store.study import Study
from tests.store.moving_sessions import moving_when_opened, moving_with_others

Patch = pytest.MonkeyPatch
OF_RELEASED = "FROM reward JOIN place USING (study, ticket) JOIN release USING (study, cohort)"


def before(session: Session, ticket: str, event: str) -> list[float]:
    """What anybody reported under this name."""
    session.write()
    find = "SELECT value FROM reward WHERE study = ? AND ticket = ? AND event = ? ORDER BY position"
    return [value for (value,) in session.database.rows(find, session.name, ticket, event)]


def as_it_was(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Reported:
    """Whoever reports is told what came before, at any time."""
    session.rows.place(ticket)
    if known := before(session, ticket, event):
        if known[0] != value:
            raise Conflict("this report came before, with another value: the first one stands")
        return Reported(again=True)
    return REPORT(session, ticket, value, event, metric, proof)


def until_the_end(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Reported:
    """Whoever reports in time is told that somebody has."""
    known = before(session, ticket, event)
    return Reported(REPORT(session, ticket, value, event, metric, proof).again or bool(known))


def moving(session: Session, *given: Any) -> Reported:
    """A report moves the time of the study."""
    try:
        return REPORT(session, *given)
    finally:
        session.silent = False


def looking_first(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Reported:
    """Nothing is written of a report whose event has one, and everybody is answered the same."""
    session.rows.place(ticket)
    if before(session, ticket, event) and not proof:
        session.silent = True
        check_kept(session, session.rows.place(ticket))
        return Reported(again=False)
    return REPORT(session, ticket, value, event, metric, proof)


def at_most_two(session: Session, ticket: str, *given: Any) -> Reported:
    """No more than two reports of a person are taken."""
    found = REPORT(session, ticket, *given)
    session.write()
    count = "SELECT COUNT(*) FROM reward WHERE study = ? AND ticket = ?"
    if session.database.rows(count, session.name, ticket)[0][0] > 2:
        raise Conflict("this person has two reports")
    return found


def told_by(report: Callable[..., Reported]) -> Callable[[Patch], None]:
    """A service with another way to report."""
    return lambda patch: patch.setitem(Study.operations, "report", report)


def reading_reports(patch: Patch) -> None:
    """Whatever is asked about a place, its reports are read too."""
    real = Rows.place

    def place(self: Rows, ticket: str) -> Any:
        self._database.rows("SELECT value FROM reward WHERE study = ? AND ticket = ?", self._study, ticket)
        return real(self, ticket)

    patch.setattr(Rows, "place", place)


def counting_in_the_view(patch: Patch) -> None:
    """People whose window is not over are those who have not reported."""
    real = view.count_places

    def leaking(database: Any, *given: Any) -> Any:
        (reporters,) = database.rows("SELECT COUNT(DISTINCT ticket) FROM reward")[0]
        found = real(database, *given)
        return structs.replace(found, inside=max(found.inside - reporters, 0))

    patch.setattr(view, "count_places", leaking)


def counting_in_verify(patch: Patch) -> None:
    """Everybody is counted who reported."""
    real = verify.check_accounts

    def leaking(database: Any, *given: Any) -> Any:
        people, worst = real(database, *given)
        return people + database.rows("SELECT COUNT(*) FROM reward")[0][0], worst

    patch.setattr(verify, "check_accounts", leaking)


def counting_in_metrics(patch: Patch) -> None:
    """Reports are counted with all other requests."""

    def answered(self: Metrics, route: str, status: int, seconds: float) -> None:
        self._answers[route, status, 0] += 1

    patch.setattr(Metrics, "answered", answered)


def logging_reports(patch: Patch) -> None:
    """A report that is not taken is written to the log."""

    def logged(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Reported:
        if before(session, ticket, event):
            logging.getLogger("maskedbandit").warning("a report came twice")
        return REPORT(session, ticket, value, event, metric, proof)

    told_by(logged)(patch)


def hiding_exposure(patch: Patch) -> None:
    """Of whoever has reported, the flags say that the arm was not seen."""
    real = ofrep.find_flag

    def has(database: Any, *given: Any) -> Any:
        found = real(database, *given)
        if found and database.rows("SELECT COUNT(*) FROM reward WHERE ticket = ?", found.ticket)[0][0]:
            return structs.replace(found, exposed=False)
        return found

    patch.setattr(ofrep, "find_flag", has)


def telling_of_the_guardrail(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Any:
    """Whoever reports for the guardrail is told whether the reward of this event was reported."""
    known = bool(metric) and bool(before(session, ticket, event))
    return Reported(REPORT(session, ticket, value, event, metric, proof).again or known)


def saying_the_mean(patch: Patch) -> None:
    """The state of a study has a mean of what was reported, once it was released."""
    real = status.write_status

    def leaking(database: Any, *given: Any) -> str:
        ((mean,),) = database.rows(f"SELECT AVG(value) {OF_RELEASED}")
        return real(database, *given) + ("" if mean is None else f"\nmean {mean / 3:.12f}")

    patch.setattr(status, "write_status", leaking)


def counting_in_the_export(patch: Patch) -> None:
    """An export says how many reports were released, as a number that is as long as a time."""
    real = reconcile.export_ledger

    def leaking(database: Any, *given: Any) -> Iterator[str]:
        yield from real(database, *given)
        ((count,),) = database.rows(f"SELECT COUNT(*) {OF_RELEASED}")
        yield json.dumps(["clock", 10**12 + count])

    patch.setattr(reconcile, "export_ledger", leaking)


def counting_in_erasure(patch: Patch) -> None:
    """Whoever erases is told how many places and reports went."""
    real = Study.operations["erase"]

    def leaking(session: Session, unit: str) -> int:
        session.write()
        find = "SELECT COUNT(*) FROM reward JOIN place USING (study, ticket) WHERE person = ?"
        ((count,),) = session.database.rows(find, session.pseudonym(unit))
        return int(real(session, unit)) + int(count)

    patch.setitem(Study.operations, "erase", leaking)


def telling_pages(patch: Patch) -> None:
    """Pages of other sites may ask while the number of reports is even."""
    allow, counted = app.allow_origin, Metrics.answered

    def answered(self: Metrics, route: str, status: int, seconds: float) -> None:
        if route.endswith("/report"):
            vars(self)["reports"] = vars(self).get("reports", 0) + 1
        counted(self, route, status, seconds)

    def leaking(host: Any, *given: Any) -> Any:
        return allow(host, *given) if vars(host.metrics).get("reports", 0) % 2 == 0 else ()

    patch.setattr(Metrics, "answered", answered)
    patch.setattr(app, "allow_origin", leaking)


def telling_the_person(patch: Patch) -> None:
    """Whoever has the token of a person is told that somebody has reported of them."""
    real = person.read_person

    def leaking(database: Any, **given: Any) -> Any:
        found, name = real(database, **given), given["witness"].pseudonyms(given["name"]).of(given["unit"])
        find = "SELECT MAX(received) FROM reward JOIN place USING (study, ticket) WHERE person = ?"
        ((when,),) = database.rows(find, name)
        return structs.replace(found, place=found.place and structs.replace(found.place, reported=when))

    patch.setattr(person, "read_person", leaking)


def posting_the_sum(patch: Patch) -> None:
    """What is sent to receivers has the sum of what was reported so far."""
    real = deliveries.list_announcements

    def adding(database: Any, **given: Any) -> Any:
        said, end = real(database, **given)
        ((total,),) = database.rows("SELECT SUM(value) FROM reward WHERE study = ?", given["delivery"].study)
        return [each._replace(body=f"{each.body} {total}") for each in said], end

    patch.setattr(deliveries, "list_announcements", adding)


def posting_when_reported(patch: Patch) -> None:
    """What waits for receivers is sent sooner, once there is a report."""
    real = deliveries.Deliveries._find_due

    def sooner(found: Any, database: Any) -> Any:
        ((many,),) = database.rows("SELECT COUNT(*) FROM reward")
        return real(found, database) if many % 2 else []

    patch.setattr(deliveries.Deliveries, "_find_due", sooner)


REPORT = people.report
TWINS = {
    "today's report": told_by(as_it_was),
    "told until the end": told_by(until_the_end),
    "a report moves the time": told_by(moving),
    "written if it is new": told_by(looking_first),
    "a limit": told_by(at_most_two),
    "reads what it need not": reading_reports,
    "the page counts": counting_in_the_view,
    "verify counts": counting_in_verify,
    "metrics count": counting_in_metrics,
    "the log says so": logging_reports,
    "moves the time among others": moving_with_others,
    "moves the time when opened": moving_when_opened,
    "flags say so": hiding_exposure,
    "the guardrail tells": told_by(telling_of_the_guardrail),
    "a mean": saying_the_mean,
    "the export counts": counting_in_the_export,
    "erasure counts": counting_in_erasure,
    "preflights count": telling_pages,
    "the person's page tells": telling_the_person,
    "webhooks tell the sum": posting_the_sum,
    "webhooks wait for reports": posting_when_reported,
}
