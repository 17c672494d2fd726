"""How a study starts: its protocol is frozen, and the first entry of its ledger says which, and who approved it."""

from typing import Any

from maskedbandit.errors import InvalidValue, NotRunning
from maskedbandit.store.approvals import find_approval
from maskedbandit.store.book.checks import seed_digest
from maskedbandit.store.book.entry import Keys
from maskedbandit.store.book.harm import rule_of_harm
from maskedbandit.store.book.site_lists import begin_lists
from maskedbandit.store.groups import check_group
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import find_pairing
from maskedbandit.store.session import Session
from maskedbandit.store.states import check_looked_at, move_study
from maskedbandit.study.operators import Operators
from maskedbandit.study.sites import SitesOfStudy


def start(session: Session, by: str = "", simulated: bool = False, looked_at: str | None = None) -> None:
    """Freeze the protocol and begin; the ledger says for ever if all people of the study are `simulated`.

    If somebody has looked at a protocol with the hash `looked_at`, it must be this one; and an officer of privacy, if
    there is one, must have approved it.
    """
    protocol, seed = session.protocol.digest, seed_digest(session.seed)
    says: dict[str, Any] = {"protocol": protocol, "seed": seed, "simulated": simulated}
    if session.state == "draft":
        if looked_at is not None:
            check_looked_at(session.protocol, looked_at)
        if approved_by := find_approval(session):
            says["approved_by"] = approved_by
    if session.protocol.operators is not None:
        session.operators = find_operators(session, session.protocol.operators)
        says["operators"] = [[keys.seals.hex(), keys.signs.hex()] for keys in session.operators]
    if session.protocol.sites is not None:
        found = find_site_keys(session, session.protocol.sites)
        says["sites"] = [[keys.seals.hex(), keys.signs.hex()] for keys in found]
        session.site_lists = begin_lists(session.protocol, found)
    check_group(session)
    move_study(session, by, kind="started", **says, **rule_of_harm(session.protocol))
    session.began = session.now


def find_site_keys(session: Session, named: SitesOfStudy) -> Keys:
    """The public keys of all sites, which this coordinator has by its pairing with each."""
    found = [find_pairing(session.database, each.key) for each in named.sites]
    missing = [each.name for each, pairing in zip(named.sites, found, strict=True) if pairing is None]
    if missing:
        raise NotRunning(f"{session.name} cannot have these sites: {', '.join(missing)} did not join yet")
    return tuple(pairing.keys for pairing in found if pairing is not None)


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
