"""A place by its ticket, and the erasure of whose it was."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from maskedbandit.errors import UnknownTicket
from maskedbandit.store.members import members
from maskedbandit.store.session import Session


class Seen(NamedTuple):
    """A place, as the database has it."""

    cohort: int
    place: int
    assigned: int
    exposed: int | None
    returned: int | None


def place_of(session: Session, ticket: str) -> Seen:
    """The place with this ticket."""
    find = "SELECT cohort, place, assigned, exposed, returned FROM place WHERE study = ? AND ticket = ?"
    found = session.database.one(find, session.name, ticket) if type(ticket) is str and ticket.isalnum() else None
    if found is None:
        raise UnknownTicket(f"no place of {session.name} has this ticket")
    return Seen(*found)


def erase(session: Session, ticket: str) -> None:
    """Remove who had a place, its ticket and its rewards; of a released cohort the row's hash stays."""
    database, name, where = session.database, session.name, "WHERE study = ? AND ticket = ?"
    seen, leaf = place_of(session, ticket), None
    if seen.returned is None and session.driver.cohorts[seen.cohort].release:
        leaf = next(each.leaf for each in members(database, name, seen.cohort) if each.place == seen.place)
    database.change(f"DELETE FROM reward {where}", name, ticket)
    database.change(
        f"UPDATE place SET person = NULL, ticket = ?, leaf = ?, erased = ? {where}",
        *(f"erased{secrets.token_hex(16)}", leaf, session.now, name, ticket),
    )
