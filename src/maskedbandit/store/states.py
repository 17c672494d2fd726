"""The states of a study, and how it moves from one to another, within a transaction.

    draft -> running <-> paused -> stopped -> archived,    running -> stopped

Each move is an entry of the ledger, so the last of them says which state it is.
"""

from typing import Any

from maskedbandit.errors import Conflict, NotRunning
from maskedbandit.store.erasure import erase_everybody
from maskedbandit.store.session import Session
from maskedbandit.study.protocol import Protocol

BEFORE = {
    "started": ("draft",),
    "paused": ("running",),
    "resumed": ("paused",),
    "stopped": ("running", "paused"),
    "archived": ("stopped",),
}


def move_study(session: Session, by: str = "", *, kind: str, **says: Any) -> None:
    """From one state to another, which the ledger will say, and which key asked; `NotRunning` if that cannot be."""
    if session.state not in BEFORE[kind]:
        allowed = " or ".join(BEFORE[kind])
        raise NotRunning(f"{session.name} is {session.state}: only one that is {allowed} can be {kind}")
    if kind == "resumed" and session.arms.all_harmful:
        what = "resume one that is paused, or add another, before it is resumed"
        raise NotRunning(f"no arm in play of {session.name} is without harm: {what}")
    session.state = session.enter(by, kind=kind, **says).state


def check_looked_at(protocol: Protocol, looked_at: str) -> None:
    """Raise `Conflict` unless this is the protocol that was looked at, by its hash."""
    if protocol.digest != looked_at:
        raise Conflict(
            f"the protocol of {protocol.name} has the hash {protocol.digest}, and not {looked_at}: "
            "somebody has changed it since, so look at it again"
        )


def archive(session: Session, by: str = "") -> None:
    """Erase the data of all people, once nothing waits to be released."""
    if not session.helper_lost and any(places.full for places in session.driver.deck.unreleased()):
        raise NotRunning(f"{session.name} waits for rewards of a full cohort: archive it after its last release")
    move_study(session, by, kind="archived")
    erase_everybody(session)
