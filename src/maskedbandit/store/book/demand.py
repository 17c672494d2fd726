"""What the policy of a study has asked for, and its answer, as the log says: for whoever has no driver."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from maskedbandit.core import Decision
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.store.databases.database import Row
from maskedbandit.study.deck import CohortDeck
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol


class Demand(NamedTuple):
    """The cohorts that were asked for, and what whoever comes is served while the policy asks for nobody."""

    deck: CohortDeck
    served: int | None  # the arm with which the policy asks for nobody, if that is its last word
    answer: int | None  # that arm, if it is the final answer: of a selection, the arm that is served from then on
    last_word: int | None  # the step of the log from which on nobody is asked for any more, as that is the answer


def follow_decisions(
    protocol: Protocol, decisions: Sequence[Row], released: Mapping[int, int], stages: Mapping[int, Row]
) -> Demand:
    """What these decisions ask for, if these cohorts were released, and these stages begun, at a step of the log.

    What is told after a word for nobody makes the policy speak again, unless it was the answer of a search, or of an
    arm that is alone. What is told of an earlier stage does not.
    """
    deck, last, alone = CohortDeck(), None, False  # the last decision that asks for nobody, and its step
    for step, *what in sorted([*decisions, *((step, None, *stage) for step, stage in stages.items())]):
        if step in stages:
            _, _, _, *given = what
            arms = [arm for arm in given if arm != protocol.control_arm]
            deck.end_stage()
            alone = len(arms) == 1
            last = (step, arms[0]) if alone else None
            continue
        _, arm, n, close = what
        last = (step, int(arm)) if n == 0 and arm >= 0 else None
        if n > 0:
            deck.add(Decision(arm, n, close))
    now = [each for each in deck.cohorts if not each.ended and each.arm != protocol.control_arm]
    told = max((released[each.cohort] for each in now if each.cohort in released), default=-1)
    lasts = alone or not protocol.policy.purpose.serves
    served = last[1] if last and (last[0] > told or lasts) else None
    waits = not lasts and any(each.complete and each.cohort not in released for each in now)
    ended = last is not None and served is not None and not waits
    return Demand(deck, served, None if alone or waits else served, last[0] if last is not None and ended else None)


def arms_of_answer(driver: Driver) -> tuple[int, ...] | None:
    """The arms of the policy's final answer, if it has one: that arm alone, or all arms of a kind."""
    if driver.answer is None:
        return None
    if not isinstance(driver.policy, Selection):
        return (driver.answer,)
    chosen = driver.policy.selected(driver.state)
    return tuple(arm for arm, is_chosen in zip(driver.arms, chosen, strict=True) if is_chosen)
