"""The states of a study, and how it moves from one to another, within a transaction.

    draft -> running <-> paused -> stopped -> archived,    running -> stopped

Each move is an entry of the ledger, so the last of them says which state it is.
"""

from typing import Any

from maskedbandit.errors import InvalidValue, NotRunning
from maskedbandit.store.book.checks import seed_digest
from maskedbandit.store.book.harm import rule_of_harm
from maskedbandit.store.erasure import erase_everybody
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.session import Session
from maskedbandit.study.operators import ROLES, OperatorKeys

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


def start(session: Session, simulated: bool = False, helper: OperatorKeys | None = None) -> None:
    """Freeze the protocol and begin; the ledger says for ever if all people of the study are `simulated`.

    Of two operators the keys are written down, that of the helper as it is known here.
    """
    says = {"protocol": session.protocol.digest, "seed": seed_digest(session.seed), "simulated": simulated}
    if (operators := session.protocol.operators) is not None:
        if helper is None:
            raise NotRunning(f"the helper of {session.name} is not known here: pair with it before the study starts")
        keys = read_own_keys(session.witness), helper
        for role, operator, own in zip(ROLES, (operators.leader, operators.helper), keys, strict=True):
            if own.fingerprint != operator.key:
                raise InvalidValue(f"key of the {role}", operator.key, f"{own.fingerprint}, which is its fingerprint")
        says["operators"] = [[own.seals.hex(), own.signs.hex()] for own in keys]
        session.operators = keys
    move_study(session, "started", **says, **rule_of_harm(session.protocol))


def archive(session: Session) -> None:
    """Erase the data of all people, once nothing waits to be released."""
    if not session.helper_lost and any(places.full for places in session.driver.deck.unreleased()):
        raise NotRunning(f"{session.name} waits for rewards of a full cohort: archive it after its last release")
    move_study(session, "archived")
    erase_everybody(session)
