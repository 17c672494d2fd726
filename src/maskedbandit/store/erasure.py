"""The erasure of a person's data: whose a place was, its ticket and its rewards."""

from __future__ import annotations

import secrets

from maskedbandit.store.members import members
from maskedbandit.store.session import Session


def erase(session: Session, ticket: str) -> None:
    """Remove who had a place, its ticket and its rewards; of a released cohort the row's hash stays.

    What the person was charged is noted, so that it is known after a copy of the database was restored.
    """
    database, name, where = session.database, session.name, "WHERE study = ? AND ticket = ?"
    place, leaf = session.rows.place(ticket), None
    if place.returned is None and session.driver.cohorts[place.cohort].release:
        leaf = next(each.leaf for each in members(database, name, place.cohort) if each.place == place.place)
    database.change(f"DELETE FROM reward {where}", name, ticket)
    database.change(
        f"UPDATE place SET person = NULL, ticket = ?, leaf = ?, erased = ? {where}",
        *(f"erased{secrets.token_hex(16)}", leaf, session.now, name, ticket),
    )
    if place.person is not None:
        database.change("INSERT INTO erased VALUES (?, ?, ?, ?)", name, place.person, place.period, place.loss)
    session.rows.clear()


def erase_person(session: Session, person: str) -> int:
    """Erase a person's data: of how many places."""
    session.write()
    rows = session.database.rows("SELECT ticket FROM place WHERE study = ? AND person = ?", session.name, person)
    for (ticket,) in rows:
        erase(session, ticket)
    return len(rows)
