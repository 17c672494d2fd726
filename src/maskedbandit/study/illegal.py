"""Which decisions of a policy cannot be carried out, and what the driver and the loop of the lab say of them."""

from collections.abc import Collection, Sequence
from operator import index
from typing import Any

from maskedbandit.core import TOGETHER, Decision
from maskedbandit.errors import IllegalDecision
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy
from maskedbandit.study.deck import CohortDeck
from maskedbandit.value_words import shorten_value


def no_such_arm(policy: str, arm: int) -> IllegalDecision:
    """It names an arm that does not exist."""
    return IllegalDecision(f"{policy} asked for arm {arm}, which does not exist")


def no_such_count(policy: str, n: int) -> IllegalDecision:
    """It asks for less than nobody."""
    return IllegalDecision(f"{policy} asked for {n} users: the number of users is 0 (stop) or more")


def no_such_close(policy: str, close: int) -> IllegalDecision:
    """It says nothing known of what becomes of the cohort."""
    return IllegalDecision(f"{policy} answered with close = {close}: it is 0, 1 or TOGETHER")


def no_such_deck(policy: str, arm: int, n: int) -> IllegalDecision:
    """It does not fit those with which it is to be dealt."""
    return IllegalDecision(
        f"{policy} asked for cohorts together, and then for {n} users of arm {arm}: "
        "each of them is of another arm, of at least one user, closes after its users, and no other one is open"
    )


def nothing_to_wait_for(policy: str) -> IllegalDecision:
    """It waits, and no release is to come."""
    return IllegalDecision(f"{policy} waits, but it already has every release")


def unknown_size(policy: str) -> IllegalDecision:
    """It lets a cohort grow whose size has to be known before its first user comes."""
    return IllegalDecision(f"{policy} opens cohorts of unknown size, but the size decides their noise or their price")


def check_decision(
    policy: Policy,
    decision: Any,
    law: Law,
    arms: Sequence[int],
    before: Collection[int],
    deck: CohortDeck,
    in_flight: int,
) -> Decision:
    """The decision in Python's own numbers, or raise `IllegalDecision`; the arms `before` it are dealt with it."""
    name = type(policy).__name__
    try:
        arm, n, close = map(index, decision)
    except (TypeError, ValueError):
        raise IllegalDecision(f"{name} answered {shorten_value(decision)}: a decision is three whole numbers") from None
    if arm == -1 and n == 0 and not in_flight:
        raise nothing_to_wait_for(name)
    if not 0 <= arm < len(arms) and (arm, n) != (-1, 0):
        raise no_such_arm(name, arm)
    arm = arms[arm] if arm >= 0 else arm
    if n < 0:
        raise no_such_count(name, n)
    if close not in (0, 1, TOGETHER):
        raise no_such_close(name, close)
    growing = deck.growing(arm)
    if before or close == TOGETHER:
        if n == 0 or close == 0 or growing or arm in before:
            raise no_such_deck(name, arm, n)
    elif n > 0 and law.root > 0.0 and (close == 0 or growing):
        raise unknown_size(name)
    return Decision(arm, n, close)
