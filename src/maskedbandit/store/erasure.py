"""The erasure of people's data: whose a place was, its ticket and its rewards."""

from __future__ import annotations

import secrets
from itertools import groupby
from typing import Any

from maskedbandit.store.accounts import forget_ticket
from maskedbandit.store.members import members
from maskedbandit.store.session import Session


def erase(session: Session, which: str, *values: Any) -> int:
    """Remove who had these places, their tickets and rewards: how many; of a released cohort the rows' hashes stay.

    What the people were charged is noted, so that it is known after a copy of the database was restored. Each cohort is
    read once.
    """
    session.write()
    database, name, now = session.database, session.name, session.now
    find = f"SELECT cohort, ticket, person, period, loss FROM place WHERE study = ? AND {which} ORDER BY cohort"
    found = database.rows(find, name, *values)
    for cohort, rows in groupby(found, key=lambda row: row[0]):
        released = session.driver.cohorts[cohort].release is not None
        leaves = {each.ticket: each.leaf for each in members(database, name, cohort)} if released else {}
        for _, ticket, person, period, loss in rows:
            where = "WHERE study = ? AND ticket = ?"
            database.change(f"DELETE FROM reward {where}", name, ticket)
            database.change(
                f"UPDATE place SET person = NULL, ticket = ?, leaf = ?, erased = ? {where}",
                *(f"erased{secrets.token_hex(16)}", leaves.get(ticket), now, name, ticket),
            )
            if person is not None:
                database.change("INSERT INTO erased VALUES (?, ?, ?, ?)", name, person, period, loss)
                forget_ticket(database, name, person, ticket)
    session.rows.clear()
    return len(found)


def erase_person(session: Session, person: str) -> int:
    """Erase a person's data: of how many places."""
    return erase(session, "person = ?", person)
