"""What the policy of a study has asked for, and its answer, as the log says: for whoever has no driver.

Of the log only those steps are read that come before the first entry which the witness has not seen (published.py).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from maskedbandit.core import Decision
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.store.book.chain import Entry
from maskedbandit.store.book.checked import replayed
from maskedbandit.store.databases.database import Database, Row
from maskedbandit.study.deck import Deck
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol


class Asked(NamedTuple):
    """The cohorts that were asked for, and what whoever comes is served while the policy asks for nobody."""

    deck: Deck
    served: int | None  # the arm with which the policy asks for nobody, if that is its last word
    answer: int | None  # that arm, if it is the final answer: of a selection, the arm that is served from then on


def asked(
    database: Database,
    study: str,
    protocol: Protocol,
    released: Mapping[int, int],
    begun: Mapping[int, Row],
    until: int,
) -> Asked:
    """What was asked for before a step of the log, if these cohorts were released and these stages begun at a step.

    What is told after a word for nobody makes the policy speak again, unless it was the answer of a search, or of an
    arm that is alone. What is told of an earlier stage does not.
    """
    deck, last, alone = Deck(), None, False  # the last decision that asks for nobody, and its step
    find = "SELECT step, arm, n, close FROM decision WHERE study = ? AND step < ?"
    for step, *what in sorted([*database.rows(find, study, until), *begun.items()]):
        if step in begun:
            _, _, *arms = begun[step]
            deck.end_stage()
            alone = len(arms) == 1
            last = (step, arms[0]) if alone else None
            continue
        arm, n, close = what
        last = (step, int(arm)) if n == 0 and arm >= 0 else None
        if n > 0:
            deck.add(Decision(arm, n, close))
    now = [each for each in deck.cohorts if not each.ended]
    told = max((released[each.cohort] for each in now if each.cohort in released), default=-1)
    lasts = alone or protocol.policy.goal != "regret"
    served = last[1] if last and (last[0] > told or lasts) else None
    waits = not lasts and any(each.complete and each.cohort not in released for each in now)
    return Asked(deck, served, None if alone or waits else served)


def named(driver: Driver) -> tuple[int, ...] | None:
    """The arms of the policy's final answer, if it has one: that arm alone, or all arms of a kind."""
    if driver.answer is None:
        return None
    if not isinstance(driver.policy, Selection):
        return (driver.answer,)
    chosen = driver.policy.selected(driver.state)
    return tuple(arm for arm, is_chosen in zip(driver.arms, chosen, strict=True) if is_chosen)


def named_by(
    database: Database, study: str, protocol: Protocol, found: Sequence[Entry], answer: int | None, until: int
) -> tuple[int, ...] | None:
    """The same, by the steps of the log before this one, of which `found` are the entries in the ledger.

    The log says when a policy gave its answer, and which arm is served from then on. Which arms a selection named
    follows from it, as everything that a policy does: what the log says is done again.
    """
    if answer is None:
        return None
    if not isinstance(protocol.policy, Selection):
        return (answer,)
    (seed,) = database.rows("SELECT seed FROM study WHERE study = ?", study)[0]
    find = "SELECT step, number, arm, n, close FROM decision WHERE study = ? AND step < ? ORDER BY step"
    decisions = database.rows(find, study, until)
    told = [entry.says for entry in found if entry.says["kind"] == "released"]
    releases = [(each["cohort"], each["step"], each["arm"], each["n"], float.fromhex(each["total"])) for each in told]
    return named(replayed(study, protocol, bytes.fromhex(seed), list(found), decisions, releases, []))
