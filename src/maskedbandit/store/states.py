"""The states of a study, and how it moves from one to another, within a transaction.

    draft -> running <-> paused -> stopped -> archived,    running -> stopped

Each move is an entry of the ledger, so the last of them says which state it is.
"""

from typing import Any

from maskedbandit.errors import Conflict, InvalidValue, NotRunning
from maskedbandit.store.book.checks import seed_digest
from maskedbandit.store.book.entries import Keys
from maskedbandit.store.book.harm import rule_of_harm
from maskedbandit.store.erasure import erase_everybody
from maskedbandit.store.groups import check_group
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import find_pairing
from maskedbandit.store.session import Session
from maskedbandit.study.operators import Operators
from maskedbandit.study.protocol import Protocol

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
    if kind == "resumed" and session.arms.all_harmful:
        what = "resume one that is paused, or add another, before it is resumed"
        raise NotRunning(f"no arm in play of {session.name} is without harm: {what}")
    session.state = session.enter(kind=kind, **says).state


def check_looked_at(protocol: Protocol, looked_at: str) -> None:
    """Raise `Conflict` unless this is the protocol that was looked at, by its hash."""
    if protocol.digest != looked_at:
        raise Conflict(
            f"the protocol of {protocol.name} has the hash {protocol.digest}, and not {looked_at}: "
            "somebody has changed it since, so look at it again"
        )


def start(session: Session, simulated: bool = False, looked_at: str | None = None) -> None:
    """Freeze the protocol and begin; the ledger says for ever if all people of the study are `simulated`.

    If somebody has looked at a protocol with the hash `looked_at`, it must be this one.
    """
    if looked_at is not None and session.state == "draft":
        check_looked_at(session.protocol, looked_at)
    says = {"protocol": session.protocol.digest, "seed": seed_digest(session.seed), "simulated": simulated}
    if session.protocol.operators is not None:
        session.operators = find_operators(session, session.protocol.operators)
        says["operators"] = [[keys.seals.hex(), keys.signs.hex()] for keys in session.operators]
    check_group(session)
    move_study(session, "started", **says, **rule_of_harm(session.protocol))
    session.began = session.now


def find_operators(session: Session, named: Operators) -> Keys:
    """The public keys of both operators, which this one has of its own and by its pairing with the helper."""
    own = read_own_keys(session.witness)
    if own.fingerprint != named.leader.key:
        raise InvalidValue(
            "key of the leader", named.leader.key, f"{own.fingerprint}, the fingerprint of this operator"
        )
    if (helper := find_pairing(session.database, named.helper.key)) is None:
        raise NotRunning(f"this operator is not paired with {named.helper.name}, the helper of {session.name}")
    return own, helper.keys


def archive(session: Session) -> None:
    """Erase the data of all people, once nothing waits to be released."""
    if not session.helper_lost and any(places.full for places in session.driver.deck.unreleased()):
        raise NotRunning(f"{session.name} waits for rewards of a full cohort: archive it after its last release")
    move_study(session, "archived")
    erase_everybody(session)
