"""Officers of privacy approve what is started: with an officer in the project, no study of it begins without that.

An officer approves the protocol of a draft, by its hash: whoever changes the draft needs another approval, and deleting
it deletes its approvals. An approval counts while the key that gave it holds. The ledger begins with the one on which
the start rests.
"""

from typing import NamedTuple

from maskedbandit.errors import FrozenProtocol, NotApproved
from maskedbandit.store.databases.database import Database
from maskedbandit.store.session import Session
from maskedbandit.store.states import check_looked_at


class Approvals(NamedTuple):
    """Who may approve the protocol of a draft, and who did, first of all: by their keys."""

    needed: bool = False  # there is an officer in the project
    officers: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        """Whether the draft cannot be started yet."""
        return self.needed and not self.given

    @property
    def whom(self) -> str:
        """Whom to ask."""
        keys = f"one with the key {' or '.join(self.officers)}"
        return keys if self.officers else "one, for whom an owner first makes a key for this study,"


def read_approvals(database: Database, study: str, project: str, protocol: str, now: int) -> Approvals:
    """Read who may approve, and who did. An officer of a project has a valid key for all studies, or for one of it."""
    find = (
        "SELECT key, study FROM api_key WHERE role = 'officer' AND (ends IS NULL OR ends > ?) "
        "AND (study IS NULL OR study IN (SELECT study FROM study WHERE project = ?)) ORDER BY made, key"
    )
    there = database.rows(find, now, project)
    officers = tuple(str(key) for key, only in there if only in (None, study))
    find = "SELECT key FROM approval WHERE study = ? AND protocol = ? ORDER BY at, key"
    given = [str(key) for (key,) in database.rows(find, study, protocol)]
    return Approvals(bool(there), officers, tuple(key for key in given if key in officers))


def approve_protocol(session: Session, by: str, looked_at: str) -> None:
    """Write down that an officer approves the protocol of a draft, which the officer has looked at, by its hash."""
    if session.state != "draft":
        raise FrozenProtocol(f"{session.name} is {session.state}: its protocol was frozen, and is approved before that")
    check_looked_at(session.protocol, looked_at)
    new = "INSERT INTO approval (study, protocol, key, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    session.database.change(new, session.name, looked_at, by, session.now)


def find_approval(session: Session) -> str:
    """The key whose approval the start of a draft rests on, or nothing if no officer is there; else `NotApproved`."""
    name, protocol = session.name, session.protocol
    found = read_approvals(session.database, name, protocol.project, protocol.digest, session.now)
    if found.missing:
        raise NotApproved(
            f"no officer of privacy has approved the protocol of {name}: ask {found.whom} to look at it and to approve "
            f"it, on the page of the study or by POST /v1/studies/{name}/approve with its hash, {protocol.digest}"
        )
    return next(iter(found.given), "")
