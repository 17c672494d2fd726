"""The arms of a running study change: one is paused, resumed or added, within a transaction.

If other arms are in play after it, a stage begins (standing.py): nobody is given a paused arm from that moment on,
people who have one keep it, and their cohort is released if it was full and is given up otherwise.
"""

from collections.abc import Sequence
from typing import Any

from maskedbandit.errors import Conflict, InvalidValue, NotRunning, UnknownArm
from maskedbandit.store.book.standing import Standing
from maskedbandit.store.session import Session
from maskedbandit.store.states import move_study
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.watch import HarmFound


def change_arms(session: Session, by: str, what: str, name: str, payload: Any = None) -> None:
    """Pause, resume or add an arm, or raise `NotRunning` or `Conflict` if that cannot be."""
    if session.state not in ("running", "paused"):
        raise NotRunning(f"{session.name} is {session.state}: its arms change only while it is running or paused")
    if not session.protocol.stages:
        allowed = "policies for regret and searches, on channels whose releases are independent: only these begin anew"
        raise InvalidValue("a change of arms", what, f"left to {allowed}")
    if what == "add":
        protocol = session.protocol.also([*session.protocol.added, (name, payload)])
        enter_change(session, by, "arm_added", protocol.k - 1, name, payload=payload)
        session.protocol = protocol
        return
    arm, now = find_arm(session.protocol, name), session.arms
    if arm == now.control:
        raise Conflict(f"arm {name} is the control, which has its share for as long as the study gives places")
    if arm in now.harmful:
        raise Conflict(f"arm {name} was found harmful, and stays out of play: add what was mended under another name")
    if (what == "pause") == (arm in now.paused):
        raise Conflict(f"arm {name} is {now.is_said(arm)} already")
    if what == "pause" and now.in_play == (arm,):
        raise Conflict(f"arm {name} is the only one in play: pause or stop the study instead")
    enter_change(session, by, "arm_paused" if what == "pause" else "arm_resumed", arm, name)


def find_arm(protocol: Protocol, name: str) -> int:
    """The number of an arm."""
    names = [each for each, _ in protocol.arms]
    if name not in names:
        raise UnknownArm(f"there is no arm {name!r}: the arms of the study are {', '.join(names)}")
    return names.index(name)


def enter_change(session: Session, by: str, kind: str, arm: int, name: str, **says: Any) -> None:
    """Write a change into the ledger, with the key that asked; a stage begins if other arms are in play after it."""
    after = session.arms.after(kind, arm)
    says |= {"arm": arm, "name": name}
    if after.given != session.arms.given:
        says |= begin_stage(session, after)
    session.enter(by, kind=kind, **says)
    session.arms = after


def begin_stage(session: Session, after: Standing) -> dict[str, Any]:
    """Begin a stage in which arms stand so: what the ledger says of it."""
    aim = session.protocol.aim_of_stage(after.stage, session.people)
    says = {"step": len(session.driver.log), "aim": aim, "arms": list(after.given)}
    session.driver.begin_stage(after.given, aim)
    return says


def put_out_of_play(session: Session, found: Sequence[HarmFound]) -> None:
    """These arms were found harmful by what was released; a study that has no other arm is paused."""
    for arm, evidence in found:
        assert session.watch is not None
        session.watch.declare(arm)
        enter_change(session, "", "arm_harmful", arm, session.protocol.arms[arm][0], evidence=evidence.hex())
    if found and session.state == "running" and session.arms.all_harmful:
        move_study(session, kind="paused")
