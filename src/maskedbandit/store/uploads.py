"""What the device of a person uploads, within a transaction: a report that is sealed for two operators.

It is stored as it came, and is opened when the last window of its cohort is over (settle.py). Of the reports of a place
the one with the highest turn stands: the device sends what holds by then whenever it is in contact.
"""

from typing import Any, NamedTuple

from maskedbandit.errors import Conflict, InvalidValue, Late, Malformed, NotExposed, PersonalValue
from maskedbandit.secagg.uploads import Upload
from maskedbandit.store.people import check_kept
from maskedbandit.store.session import Session


class Uploaded(NamedTuple):
    """A report is stored; `again` if it, or a newer one, was stored before."""

    again: bool


def upload(session: Session, ticket: str, report: bytes, turn: int, leader: bytes, helper: bytes) -> Uploaded:
    """Store a report of the person's device, in place of those with lower turns.

    **Guarantee**: what is answered and done depends on the place, the time, the turns and the names of reports, and not
    on what is in them; a report moves no time of the study that others see.
    """
    session.silent = True
    place, given = session.rows.place(ticket), Upload(report, turn, leader, helper)
    cohort = session.driver.cohorts[place.cohort]
    check_upload(session, given, cohort.size)
    check_kept(session, place)
    if place.exposed is None:
        raise NotExposed("say first that the person saw the arm: a report must not decide who is in a cohort")
    over = session.now > place.exposed + session.protocol.reward.taken_for
    if over or cohort.closed or session.helper_lost:
        raise Late("the time in which this report counts is over")
    before = session.rows.add_upload(ticket, given, session.now)
    if before is not None and before.turn == turn and before != given:
        raise Conflict("another report of this turn came before: the first one stands")
    return Uploaded(again=before is not None and before.turn >= turn)


def check_upload(session: Session, given: Upload, n: int) -> None:
    """Raise `InvalidValue` unless devices upload in this study, and the report has the size of all of its cohort."""
    if session.protocol.operators is None or session.protocol.shuffled:
        raise InvalidValue("upload", "not shown", "left out: in this study no device sends a report of shares here")
    try:
        given.check(session.offers(n)[0].steps)
    except Malformed as why:
        raise PersonalValue("a report", f"as every other one: {why}") from None


def list_uploads(session: Session, cohort: int, columns: str, start: int = 0, many: int = -1) -> list[Any]:
    """These columns of the reports of a cohort, from a place on, by place: at most so many, or all."""
    find = (
        f"SELECT place.place, {columns} FROM place JOIN upload "
        "ON upload.study = place.study AND upload.ticket = place.ticket "
        "WHERE place.study = ? AND place.cohort = ? AND place.returned IS NULL AND place.place >= ? "
        f"ORDER BY place.place{f' LIMIT {many:d}' if many >= 0 else ''}"
    )
    return session.database.rows(find, session.name, cohort, start)
