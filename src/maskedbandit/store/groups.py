"""Studies that exclude each other: of one project and one group, with parts of its people that overlap.

A study has its part of a group from its start until it is stopped and the window of its last person is over. Nobody
else is started in that part meanwhile: whoever was enrolled is in one of the studies of a group at a time. A draft has
no part yet.
"""

from datetime import UTC, datetime

from maskedbandit.errors import Conflict
from maskedbandit.store.databases.database import Database
from maskedbandit.store.session import Session
from maskedbandit.store.study_rows import StudyRow, read_studies
from maskedbandit.study.protocol import Protocol


def check_group(session: Session) -> None:
    """Raise `Conflict` if another study has people of the same part of a group, within the transaction of a start."""
    group, database = session.protocol.enrolment.group, session.database
    if group is None or session.state != "draft":  # which is refused as it is
        return
    # of two that start at the same time the second one waits here, and then sees the first
    database.change("UPDATE project SET period = period WHERE project = ?", session.project)
    for other in read_studies(database):
        if other.project != session.project or other.name == session.name or other.state == "draft":
            continue
        protocol = Protocol.from_text(other.protocol)
        if protocol.enrolment.group is None or not protocol.enrolment.group.overlaps(group):
            continue
        if (why := describe_part(database, other, protocol, session.now)) is not None:
            raise Conflict(
                f"{session.name} and {other.name} have people of the group {group.name} in common, and {why}"
            )


def describe_part(database: Database, study: StudyRow, protocol: Protocol, now: int) -> str | None:
    """Why a study still has its part of a group; None if it has none any more."""
    if study.state in ("running", "paused"):
        return f"{study.name} is {study.state}: it must be stopped first"
    newest = (
        "SELECT MAX(exposed), MAX(CASE WHEN exposed IS NULL THEN assigned END) FROM place "
        "WHERE study = ? AND returned IS NULL"
    )
    ((seen, unseen),) = database.rows(newest, study.name)
    reward = protocol.reward
    ends = max(-1 if seen is None else seen + reward.taken_for, -1 if unseen is None else unseen + reward.exposure)
    if now > ends:
        return None
    until = datetime.fromtimestamp(ends / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{study.name} is {study.state}, with people whose windows are open until {until}"
