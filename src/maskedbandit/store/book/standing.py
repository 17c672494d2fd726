"""How the arms of a study stand, which follows from the entries of its ledger.

    in play <-> paused,    in play or paused -> harmful,    nothing -> added

An arm has a number, in the order in which arms were added, and a name, and both stay with it for ever. If other arms
are in play after a change, a stage begins (study/driver.py); so it does with another list of sites (site_lists.py).

What a policy guarantees, it guarantees in each stage, among the arms in play. The regret of a stage is that of its own
people. A search has delta in its first stage and delta / (s (s - 1)) in stage s, which adds up to delta over all later
ones: a study whose arms change has a wrong answer with probability at most 2 delta, however it is decided when they
change. What a person loses does not change: whoever has a place is in one cohort, which is released once or not at all.

A control arm stands beside those in play until it is found harmful. It is not paused, and no answer names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from maskedbandit.errors import Corrupted
from maskedbandit.store.book.entries import ArmChange
from maskedbandit.store.book.entry import StageChange
from maskedbandit.study.protocol import Protocol


@dataclass(frozen=True)
class Standing:
    """How the arms of a study stand.

    >>> standing = Standing.at_start(3).after("arm_paused", 1)
    >>> standing.in_play, standing.after("arm_added", 3).in_play, standing.after("arm_resumed", 1).stage
    ((0, 2), (0, 2, 3), 3)
    """

    k: int
    in_play: tuple[int, ...]  # among which the policy chooses
    paused: frozenset[int] = frozenset()
    harmful: frozenset[int] = frozenset()
    stage: int = 1  # the number of the stage
    control: int | None = None  # the control arm, while people are given it

    @classmethod
    def at_start(cls, k: int, control: int | None = None) -> Standing:
        """How arms stand at the start: all but the control are in play."""
        return cls(k, tuple(arm for arm in range(k) if arm != control), control=control)

    @property
    def given(self) -> tuple[int, ...]:
        """The arms that people are given: those in play, and the control."""
        return self.in_play if self.control is None else tuple(sorted((*self.in_play, self.control)))

    def after(self, kind: str, arm: int) -> Standing:
        """How they stand after a change. The last arm in play stays, whatever was found of it."""
        k, paused, harmful = max(self.k, arm + 1), self.paused, self.harmful
        if kind == "arm_paused":
            paused |= {arm}
        elif kind == "arm_resumed":
            paused -= {arm}
        elif kind == "arm_harmful":
            harmful |= {arm}
        control = None if self.control in harmful else self.control
        left = tuple(each for each in range(k) if each not in paused | harmful | {control}) or self.in_play
        now = replace(self, k=k, in_play=left, paused=paused, harmful=harmful, control=control)
        return replace(now, stage=self.stage + (now.given != self.given))

    @property
    def with_other_sites(self) -> Standing:
        """How they stand after a change of the list of sites: as before, in a new stage."""
        return replace(self, stage=self.stage + 1)

    @property
    def is_alone(self) -> bool:
        """Whether one arm is in play of several: nothing is compared, and everybody is served it."""
        return self.k > 1 and len(self.in_play) == 1

    @property
    def all_harmful(self) -> bool:
        """Whether no arm in play is without harm: nobody is given one."""
        return self.harmful.issuperset(self.in_play)

    def can(self, kind: str, arm: int) -> bool:
        """Whether an arm that stands so can be changed so. The last arm in play is not paused, but may be harmful."""
        if kind == "arm_added":
            return arm == self.k
        if not 0 <= arm < self.k or arm in self.harmful:
            return False
        if kind == "arm_harmful" or arm == self.control:
            return kind == "arm_harmful"
        return (arm in self.paused) == (kind == "arm_resumed") and (kind == "arm_resumed" or self.in_play != (arm,))

    def is_said(self, arm: int) -> str:
        """What an arm is called in the state that it is in."""
        if arm == self.control:
            return "control"
        return "harmful" if arm in self.harmful else "paused" if arm in self.paused else "in play"


def follow_changes(study: str, protocol: Protocol, changes: Iterable[StageChange]) -> Standing:
    """How the arms stand, or raise `Corrupted` if one change does not follow from those before it."""
    now, names = (
        Standing.at_start(protocol.k - len(protocol.added), protocol.control_arm),
        [name for name, _ in protocol.arms],
    )
    for each in changes:
        if not isinstance(each, ArmChange):
            now = now.with_other_sites
            if each.step is None or not can_begin(each, now, protocol):
                raise Corrupted(
                    f"the ledger of {study} changes its sites in a way that its earlier entries do not allow"
                )
            continue
        kind, arm, before = each.kind, each.arm, now
        can = before.can(kind, arm) and each.name == names[arm] and (kind != "arm_harmful" or protocol.guardrail)
        now = before.after(kind, arm) if can else before
        begins = each.step is not None
        if not can or begins != (now.stage > before.stage) or (begins and not can_begin(each, now, protocol)):
            raise Corrupted(f"the ledger of {study} changes arm {arm} in a way that its earlier entries do not allow")
    return now


def can_begin(change: StageChange, now: Standing, protocol: Protocol) -> bool:
    """Whether a stage can begin as an entry says: with the arms that people are given, and the aim of its number."""
    aim, people = change.aim, protocol.people
    if people is None:
        return change.arms == now.given and aim == protocol.aim_of_stage(now.stage, 0)
    return change.arms == now.given and aim is not None and 1 <= aim <= people


def wrong_at_most(protocol: Protocol, now: Standing) -> float | None:
    """The probability with which the answer of a search is wrong; None for other studies, which promise none."""
    return None if protocol.people is not None else min(float(protocol.aim) * (1 if now.stage == 1 else 2), 1.0)
