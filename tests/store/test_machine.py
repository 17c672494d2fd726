"""A state machine does to two stored studies all that can happen; every invariant is checked after every step.

220 examples in all, some of them on PostgreSQL. Broken studies show that the machine finds what it is there to find:
of each of them 30 examples are enough in three of four cases. So a fault that every kind of study has is missed by all
with a probability of about 3e-5, and one of a single kind, of which there are 42 to 65 examples, with one of .05 to
.15.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar

import hypothesis
import pytest
from hypothesis import Phase, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from maskedbandit.errors import Late, StoreError
from maskedbandit.store import due, erasure, people, release, session
from maskedbandit.store.accounts import Accounts
from maskedbandit.store.book import checks
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.chain import NO_ENTRY
from maskedbandit.store.book.standing import Standing
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.requests import Reported, name_report
from maskedbandit.store.session import Session
from maskedbandit.store.study import Study
from maskedbandit.study.control import Control
from tests.store.machine import Changing, Held, Machine, OnDevices

STEPS = 25
JOIN = Control.join


def run(machine: type[Machine], examples: int, seed: int = 0) -> None:
    """Let so many examples happen; others with another seed. A failure is shown as it came."""

    @hypothesis.seed(seed)
    class Numbered(machine):
        pass

    how = settings(max_examples=examples, stateful_step_count=STEPS, phases=[Phase.generate], database=None)
    run_state_machine_as_test(Numbered, settings=settings(how, derandomize=False, deadline=None, print_blob=False))


@pytest.mark.slow
def test_all_that_can_happen_to_a_study() -> None:
    run(Machine, 5)
    run(Changing, 5)
    run(Held, 2)
    run(OnDevices, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "kind", "examples"), [(1, Machine, 60), (2, Changing, 60), (3, OnDevices, 40), (4, Held, 40)]
)
def test_more_of_all_that_can_happen(seed: int, kind: type[Machine], examples: int) -> None:
    run(kind, examples, seed)


@pytest.mark.slow
def test_all_that_can_happen_on_postgresql() -> None:
    class Server(Changing):
        postgresql = True

    run(Server, 6)


# --- mutants ----------------------------------------------------------------------------------------------------------


class Unread(Witness):
    """A witness that is written and never read."""

    def check_others(self, *which: Any) -> None:
        pass

    def watching(self, database: Any, study: str, before: Any, *after: Any) -> Any:
        seen = self.seen(study)
        return super().watching(database, study, seen.head if seen else before, *after)


def take_late(session: Session, ticket: str, value: float, *name: str) -> Reported:
    """A report, whenever it comes."""
    try:
        return people.report(session, ticket, value, *name)
    except Late:
        session.rows.add_report(
            name_report(session.protocol, ticket, *name), float(value), session.now, next(session.positions)
        )
        return Reported(again=False)


class TakesLate(Study):
    """A report counts whenever it comes."""

    operations: ClassVar[dict[str, Callable[..., Any]]] = {**Study.operations, "report": take_late}


class ChargesLater(Study):
    """A person is charged after the arm was shown."""

    later: tuple[Any, ...] = ()

    def __init__(self, *given: Any) -> None:
        self.operations = {**Study.operations, "assign": self._assign}
        super().__init__(*given)

    def _assign(self, session: Session, unit: str) -> Any:
        accounts = session.accounts
        accounts.charge = lambda *which: setattr(self, "later", (*self.later, which))
        try:
            return people.assign(session, unit)
        finally:
            del accounts.charge

    def apply(self, operations: Any) -> Any:
        done, later, self.later = super().apply(operations), self.later, ()
        if later:
            super().apply([(lambda session, which: session.accounts.charge(*which), which) for which in later])
        return done


def refund(session: Session) -> Any:
    """What is due is done, and whoever was charged for a place that was given back is charged nothing."""
    find = "SELECT COUNT(*) FROM place WHERE study = ? AND returned IS NOT NULL"
    before = session.database.rows(find, session.name)
    found = due.do_what_is_due(session)
    if session.database.rows(find, session.name) != before:
        session.database.change("DELETE FROM account")
    return found


class Refunds(Study):
    """A place that was given back costs nothing."""

    operations: ClassVar[dict[str, Callable[..., Any]]] = {**Study.operations, "tick": refund}


def full_and_reported(session: Session, places: Any) -> bool:
    """A cohort closes when n reports came."""
    find = (
        "SELECT COUNT(DISTINCT place.ticket) FROM place JOIN reward ON reward.ticket = place.ticket "
        "WHERE place.study = ? AND cohort = ? AND returned IS NULL"
    )
    count = session.database.rows(find, session.name, places.cohort)[0][0]
    return bool(places.full and count == places.size)


class ForgetsReturned(Session):
    """What comes back after a restart holds places that were given back as dealt."""

    def _load(self) -> None:
        super()._load()
        find = "SELECT DISTINCT cohort, place FROM place WHERE study = ? AND returned IS NOT NULL"
        for cohort, place in self.database.rows(find, self.name):
            places = self.driver.cohorts[cohort]
            if place >= places._next or place in places._returned:
                places.take(place)
                self.driver.deck.sort(places)


class DrawsAgain(Session):
    """The noise of the last release is drawn again when the study is opened."""

    def _load(self) -> None:
        super()._load()
        self.database.change(
            "UPDATE release SET total = total + 1 WHERE study = ? AND step = (SELECT MAX(step) FROM release)", self.name
        )


class NeverStale(Session):
    """What is in memory stays after a transaction failed."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_stale" and hasattr(self, "driver"):
            value = False
        super().__setattr__(name, value)


class Nameless(Accounts):
    """Charges are not said to be for a place."""

    def charge(self, person: str, period: int, loss: int, ticket: str) -> None:
        super().charge(person, period, loss, "")


def machine(base: type[Machine] = Machine, **parts: Any) -> type[Machine]:
    return type("Broken", (base,), parts)


MUTANTS: dict[str, tuple[type[Machine], dict[Any, Any], str]] = {
    "a witness that is not read": (
        machine(witness_kind=Unread),
        {(checks, "seen_head"): lambda *which: NO_ENTRY},
        "a restored copy was opened|a clone wrote",
    ),
    "a cohort that closes when n reports came": (machine(), {(release, "is_due"): full_and_reported}, "was due"),
    "a report that counts after the release": (machine(study_kind=TakesLate), {}, "was not refused"),
    "places that are forgotten": (
        machine(),
        {(Study, "session_class"): ForgetsReturned},
        "a place was forgotten|the number of people is another",
    ),
    "a charge after the arm was shown": (machine(study_kind=ChargesLater), {}, "over the budget|charge"),
    "an account that names no place": (machine(), {(session, "Accounts"): Nameless}, "names other places|got another"),
    "an account that names a place that was erased": (
        machine(),
        {(erasure, "forget_ticket"): lambda *which: None},
        "an account names other places",
    ),
    "a refund": (machine(study_kind=Refunds), {}, "a charge was lost|over the budget"),
    "a release that is drawn again": (
        machine(),
        {(Study, "session_class"): DrawsAgain},
        "a release was changed|was changed",
    ),
    "arms that are in play again after a restart": (
        machine(Changing),
        {(Book, "standing"): property(lambda book: Standing.at_start(book.protocol.k))},
        "other arms are in play",
    ),
    "a control whose share begins anew with each group": (
        machine(Held),
        {(Control, "join"): lambda control, group, law, placed, given: JOIN(control, group, law, 0, 0)},
        "the control has another share",
    ),
    "a control that can be paused": (
        machine(Held),
        {(Standing, "at_start"): classmethod(lambda kind, k, control: kind(k, tuple(range(k))))},
        "other arms are in play|earlier entries do not allow",
    ),
    "harm that counts as a reward": (
        machine(OnDevices),
        {(release, "find_prefix"): lambda protocol, metric: ""},
        "was released, and|another sum",
    ),
    "memory of what failed": (
        machine(),
        {(Study, "session_class"): NeverStale},
        "was not stored|a clone|the state or|has not seen",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", MUTANTS)
def test_the_machine_finds(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, patches, said = MUTANTS[what]
    for (where, name), broken in patches.items():
        monkeypatch.setattr(where, name, broken)
    assert any(found(kind, seed, said) for seed in range(12)), "not found, or something else was said of it"


def found(kind: type[Machine], seed: int, said: str) -> bool:
    """Whether 30 examples find it, which they may not, as live noise differs every time.

    Every mutant was found in at least 9 of 12 such rounds, so all 12 miss it with a probability of about 6e-8.
    """
    try:
        run(kind, 30, seed)
    except (AssertionError, StoreError, Flaky) as why:  # flaky: other noise hid it the second time
        return re.search(said, str(why)) is not None
    return False
