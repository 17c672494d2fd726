"""The erasure of people's data: whose a place was, its ticket, its salt and its reports."""

import secrets
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from maskedbandit.errors import Forbidden
from maskedbandit.store.accounts import find_places, forget_ticket
from maskedbandit.store.databases.database import Database, Row
from maskedbandit.store.members import read_members
from maskedbandit.store.requests import check_unit
from maskedbandit.store.session import Session

COLUMNS = "cohort, ticket, person, period, loss"


def erase_places(session: Session, found: Sequence[Row]) -> int:
    """Remove who had these places, with tickets and reports, and return how many; hashes of released rows stay.

    What the people were charged is noted, so that it is known after a copy of the database was restored. Each cohort is
    read once.
    """
    database, name, now = session.database, session.name, session.now
    for cohort, rows in groupby(sorted(found, key=itemgetter(0)), key=itemgetter(0)):
        released = session.driver.cohorts[cohort].release is not None
        leaves = {each.ticket: each.leaf for each in read_members(database, name, cohort)} if released else {}
        for _, ticket, person, period, loss in rows:
            remove_place(database, name, ticket, person, leaves.get(ticket), now)
            if person is not None:
                database.insert("erased", "study, person, period, loss", [(name, person, period, loss)])
    session.rows.clear()
    if found:
        database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", name)
    return len(found)


def remove_place(
    database: Database, study: str, ticket: str, person: str | None, leaf: str | None = None, now: int | None = None
) -> None:
    """Remove whose a place was, its ticket, its salt and its reports; with no time, as if that was at once."""
    where = "WHERE study = ? AND ticket = ?"
    for table in ("reward", "upload"):
        database.change(f"DELETE FROM {table} {where}", study, ticket)
    database.change(
        "UPDATE place SET person = NULL, ticket = ?, salt = NULL, leaf = COALESCE(?, leaf), "
        f"erased = COALESCE(?, assigned) {where}",
        *(f"erased{secrets.token_hex(16)}", leaf, now, study, ticket),
    )
    if person is not None:
        forget_ticket(database, study, person, ticket)


def erase(session: Session, unit: str, site: int | None = None) -> int:
    """Erase a person's data; the number of places is returned. A site may ask for the people of its own alone."""
    person = session.pseudonym(check_unit(unit))
    session.write()
    others = "SELECT 1 FROM place WHERE study = ? AND person = ? AND site <> ?"
    if site is not None and session.database.rows(others, session.name, person, site):
        raise Forbidden("this is a person of another site")
    return erase_places(session, find_places(session.database, session.name, person, COLUMNS))


def leave(session: Session, ticket: str) -> int:
    """Erase the data of the person who has a ticket, and return of how many places: 0 if nobody has it any more."""
    session.write()
    find = "SELECT person FROM place WHERE study = ? AND ticket = ? AND person IS NOT NULL"
    row = session.database.one(find, session.name, ticket)
    if row is None:
        return 0
    return erase_places(session, find_places(session.database, session.name, row[0], COLUMNS))


def erase_everybody(session: Session) -> None:
    """Erase the data of all people, and what the channel kept for further releases."""
    session.write()
    find = f"SELECT {COLUMNS} FROM place WHERE study = ? AND erased IS NULL"
    erase_places(session, session.database.rows(find, session.name))
    forget_memories(session.database, session.name)


def forget_memories(database: Database, study: str) -> None:
    """Erase what a channel kept for further releases, of which there are none: sums of outcomes, or their noise."""
    if database.change("UPDATE release SET memory = '' WHERE study = ? AND memory NOT IN ('', '[]')", study):
        database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", study)
