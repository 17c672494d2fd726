"""The states of a study, and how it moves from one to another, within a transaction.

    draft -> running <-> paused -> stopped -> archived,    running -> stopped

Each move is an entry of the ledger, so the last of them says which state it is.
"""

from typing import Any

from maskedbandit.errors import NotRunning
from maskedbandit.store.book.checks import seed_digest
from maskedbandit.store.book.harm import rule_of_harm
from maskedbandit.store.erasure import erase_everybody
from maskedbandit.store.session import Session

BEFORE = {
    "started": ("draft",),
    "paused": ("running",),
    "resumed": ("paused",),
    "stopped": ("running", "paused"),
    "archived": ("stopped",),
}


def move_study(session: Session, kind: str, **says: Any) -> None:
    """From one state to another, which the ledger will say; `NotRunning` if that cannot be."""
    if session.state not in BEFORE[kind]:
        allowed = " or ".join(BEFORE[kind])
        raise NotRunning(f"{session.name} is {session.state}: only one that is {allowed} can be {kind}")
    if kind == "resumed" and session.arms.harmful.issuperset(session.arms.in_play):
        what = "resume one that is paused, or add another, before it is resumed"
        raise NotRunning(f"no arm in play of {session.name} is without harm: {what}")
    session.state = session.enter(kind=kind, **says).state


def start(session: Session, simulated: bool = False) -> None:
    """Freeze the protocol and begin; the ledger says for ever if all people of the study are `simulated`."""
    says = {"protocol": session.protocol.digest, "seed": seed_digest(session.seed), "simulated": simulated}
    move_study(session, "started", **says, **rule_of_harm(session.protocol))


def archive(session: Session) -> None:
    """Erase the data of all people, once nothing waits to be released."""
    if any(places.full for places in session.driver.deck.unreleased()):
        raise NotRunning(f"{session.name} waits for rewards of a full cohort: archive it after its last release")
    move_study(session, "archived")
    erase_everybody(session)
