"""Operational numbers of a study: who came, when, and which arm, and how far the cohorts are.

No reward is read here, and nothing that depends on one that was not released: not the time of a report, nor whether one
came. What was dealt by a decision that follows from a release which nobody may see yet is left out too: `Horizon`.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from msgspec import Struct

from maskedbandit.core import Decision
from maskedbandit.store.chain import Entry
from maskedbandit.store.database import Database
from maskedbandit.study.deck import Deck
from maskedbandit.study.protocol import Protocol

STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200]  # seconds, of a column
STEPS += [86_400 * days for days in (1, 2, 5, 10, 20, 50, 100, 200, 500)]
COLUMNS = 48  # of a picture over time, at most
DELAYS = [1, 10, 60, 300, 600, 1800, 3600, 21_600, 86_400]  # seconds, at which the columns of delays end


class Horizon(NamedTuple):
    """Up to where the study may be shown: nothing that happened at this time or later, nor was decided at this step."""

    time: int
    step: int
    whole: bool  # nothing is left out

    @classmethod
    def of(cls, unseen: Sequence[Entry]) -> Horizon:
        """Before the first of the entries that the witness has not seen."""
        if not unseen:
            return cls(2**62, 2**62, True)
        says = [entry.says for entry in unseen]
        return cls(
            says[0]["at"], min((each["step"] for each in says if each["kind"] == "released"), default=2**62), False
        )


class Cohort(Struct, frozen=True):
    """A cohort: open while places are left, waiting for the last window to end, or released."""

    number: int
    arm: int
    size: int  # places
    dealt: int
    seen: int
    state: str
    deadline: int | None = None  # of the last place that was seen so far


class Column(Struct, frozen=True):
    """People of each arm who came in a stretch of time."""

    at: int
    arms: tuple[int, ...]


class Counts(Struct, frozen=True):
    """Everything operational; each tuple by arm."""

    came: int | None  # with or without a place; None while it is not known how many may be shown
    dealt: tuple[int, ...]  # people with a place that they keep
    seen: tuple[int, ...]  # those of them who saw the arm
    unseen: int  # who may still see it
    returned: tuple[int, ...]  # places that nobody saw in time
    inside: int  # people whose window is not over
    cohorts: tuple[Cohort, ...]
    step: int  # milliseconds of a column
    columns: tuple[Column, ...]
    delays: tuple[int, ...]  # from assignment to exposure, up to each of DELAYS and more
    asked: int | None = None  # the arm of the policy's last answer for nobody


def counts(
    database: Database, study: str, protocol: Protocol, came: int, released: Set[int | None], horizon: Horizon, now: int
) -> Counts:
    """The counts of a study of which cohorts were released, each with so many people."""
    k, window, until = protocol.k, protocol.reward.window, horizon.time
    groups = database.rows(
        "SELECT cohort, arm, COUNT(*), COUNT(exposed), MAX(exposed) FROM place "
        "WHERE study = ? AND returned IS NULL AND assigned < ? GROUP BY cohort, arm",
        *(study, until),
    )
    dealt, seen, given = [0] * k, [0] * k, {}
    for cohort, arm, count, exposed, latest in groups:
        dealt[arm] += count
        seen[arm] += exposed
        given[cohort] = int(count), int(exposed), latest
    back = [0] * k
    find = "SELECT arm, COUNT(*) FROM place WHERE study = ? AND returned IS NOT NULL AND assigned < ? GROUP BY arm"
    for arm, count in database.rows(find, study, until):
        back[arm] = int(count)
    find = "SELECT COUNT(*) FROM place WHERE study = ? AND returned IS NULL AND assigned < ? AND exposed + ? >= ?"
    (inside,) = database.rows(find, study, until, window, now)[0]
    step, columns = over_time(database, study, k, until)
    deck, asked = deck_of(database, study, horizon.step)
    return Counts(
        came if horizon.whole else None,
        tuple(dealt),
        tuple(seen),
        sum(dealt) - sum(seen),
        tuple(back),
        int(inside),
        tuple(cohorts(deck, given, released, window)),
        step,
        columns,
        delays(database, study, until),
        asked,
    )


def over_time(database: Database, study: str, k: int, until: int) -> tuple[int, tuple[Column, ...]]:
    """How many people of each arm came, in columns of a length that fits the study so far."""
    find = "SELECT MIN(assigned), MAX(assigned) FROM place WHERE study = ? AND returned IS NULL AND assigned < ?"
    first, last = database.rows(find, study, until)[0]
    if first is None:
        return STEPS[0] * 1000, ()
    step = next((each * 1000 for each in STEPS if (last - first) // (each * 1000) < COLUMNS - 1), STEPS[-1] * 1000)
    found: dict[int, list[int]] = {}
    find = (
        "SELECT assigned / ?, arm, COUNT(*) FROM place WHERE study = ? AND returned IS NULL AND assigned < ? "
        "GROUP BY 1, 2"
    )
    for at, arm, count in database.rows(find, step, study, until):
        found.setdefault(int(at), [0] * k)[arm] = int(count)
    nobody = [0] * k
    return step, tuple(Column(at * step, tuple(found.get(at, nobody))) for at in range(first // step, last // step + 1))


def delays(database: Database, study: str, until: int) -> tuple[int, ...]:
    """How many people saw their arm within each of DELAYS after the assignment, and later."""
    cases = " ".join(f"WHEN exposed - assigned <= {1000 * each} THEN {i}" for i, each in enumerate(DELAYS))
    find = (
        f"SELECT CASE {cases} ELSE {len(DELAYS)} END, COUNT(*) FROM place "
        "WHERE study = ? AND returned IS NULL AND exposed IS NOT NULL AND assigned < ? GROUP BY 1"
    )
    found = {int(which): int(count) for which, count in database.rows(find, study, until)}
    return tuple(found.get(i, 0) for i in range(len(DELAYS) + 1))


def deck_of(database: Database, study: str, until: int) -> tuple[Deck, int | None]:
    """The cohorts that were asked for, and the arm of the last answer if that was for nobody."""
    deck, asked = Deck(), None
    find = "SELECT arm, n, close FROM decision WHERE study = ? AND step < ? ORDER BY step"
    for arm, n, close in database.rows(find, study, until):
        asked = int(arm) if n == 0 and arm >= 0 else None
        if n > 0:
            deck.add(Decision(arm, n, close))
    return deck, asked


def cohorts(
    deck: Deck, given: dict[int, tuple[int, int, int | None]], released: Set[int | None], window: int
) -> list[Cohort]:
    """The state of each cohort."""
    found = []
    for places in deck.cohorts:
        dealt, seen, latest = given.get(places.cohort, (0, 0, None))
        deadline = None if latest is None else latest + window
        if places.cohort in released:
            state, deadline = "released", None
        else:
            state = "waiting" if places.complete and dealt == seen == places.size else "open"
        found.append(Cohort(places.cohort, places.arm, places.size, dealt, seen, state, deadline))
    return found
