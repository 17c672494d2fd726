"""Two studies of a project in one database, to which all happens that can: rules of a Hypothesis state machine.

After every step everything is compared with the model, and all invariants are checked on the rows themselves.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from maskedbandit.errors import (
    BehindWitness,
    BudgetExceeded,
    Conflict,
    Late,
    MaskedBanditError,
    NotRunning,
    StorageFailed,
    StoreError,
)
from maskedbandit.store.connection import connect
from maskedbandit.store.database import Database
from maskedbandit.store.studies import new, witness_of
from maskedbandit.store.study import Study
from maskedbandit.store.witness import Witness
from tests.store.databases import copied_postgresql, fresh_postgresql
from tests.store.invariants import check_database, check_study
from tests.store.model import CHARGES, EXPOSURE, MINUTE, PERIOD, WINDOW, Given, Model, protocol

NAMES = ("one", "two")
WHICH = st.sampled_from(("one", "one", "one", "two"))
PICK = st.integers(0, 9999)
UNITS = st.integers(0, 23).map(lambda i: f"u{i}")
TABLES = ("project", "place", "reward", "release", "account", "entry")

QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # nothing here asks whether a disk keeps what it is told


@cache
def template() -> Path:
    """A folder with a database of two drafts, and its witness."""
    folder = Path(mkdtemp(dir=QUICK))
    for name in NAMES:
        new(protocol(name), f"sqlite:///{folder}/0.db", folder / "witness")
    return folder


@contextmanager
def raises(kind: type[Exception], otherwise: str) -> Iterator[None]:
    """It must be refused so."""
    try:
        yield
    except kind:
        return
    raise AssertionError(otherwise)


@contextmanager
def failing_commit(study: Study, how: str) -> Iterator[None]:
    """The next commit fails, before or after it was done."""
    database = study.database
    commit = database.commit

    def fails() -> None:
        if how == "after":
            commit()
        raise StorageFailed(f"the commit failed, {how} it was done")

    database.commit = fails
    try:
        yield
    finally:
        del database.commit


@contextmanager
def failing_witness(study: Study) -> Iterator[None]:
    """The witness cannot be written."""
    witness = study._session.witness

    def fails(name: str, content: Any) -> None:
        raise StorageFailed("the disk of the witness is full")

    witness._write = fails
    try:
        yield
    finally:
        del witness._write


class Open:
    """A database that is in use: its two studies, and what must hold of them."""

    def __init__(self, address: str, models: dict[str, Model]) -> None:
        self.address, self.models = address, models
        self.studies: dict[str, Study] = {}

    def drop(self) -> None:
        """As when the process dies: connections end, and nothing else is done."""
        for study in self.studies.values():
            study.database.close()
        self.studies.clear()


class Machine(RuleBasedStateMachine):
    """All that can happen. Mutants are put in place of the study or its witness."""

    study_kind: ClassVar[Any] = Study
    witness_kind: ClassVar[Any] = Witness
    postgresql: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.folder, self.clock, self.files = TemporaryDirectory(dir=QUICK), 1000 * PERIOD, 0
        self.copies: list[Open] = []
        self.clone: Open | None = None
        self.heads: dict[str, list[str]] = {name: [] for name in NAMES}
        self.last: dict[str, Any] = {}  # what was checked last

    @initialize(days=st.integers(0, 2))
    def begin(self, days: int) -> None:
        folder = Path(self.folder.name)
        if self.postgresql:
            address = fresh_postgresql()
            for name in NAMES:
                new(protocol(name), address, folder / "witness")
        else:
            address = f"sqlite:///{folder}/0.db"
            shutil.copytree(template(), folder, dirs_exist_ok=True)
        database = connect(address)
        self.witness = self.witness_kind(witness_of(database, folder / "witness").folder)
        database.close()
        charges: Counter[tuple[str, int]] = Counter()
        self.use = Open(address, {name: Model(charges) for name in NAMES})
        self.reopen()
        for name in NAMES:
            self.do(name, "start", lambda study: study.start(), None, lambda model: model.move("start"))
        for _ in range(days):
            self.day("one", [1, 0, -1, 1], 0)
        self.copy()

    def teardown(self) -> None:
        for each in (getattr(self, "use", None), self.clone):
            if each:
                each.drop()
        self.folder.cleanup()

    # how things are done

    def opened(self, where: Open, name: str) -> Study:
        """The study of a database, taken over by the holder who had it before."""
        database = connect(where.address)
        try:
            study = self.study_kind(database, self.witness, name, lambda: self.clock, "machine")
        except BaseException:
            database.close()
            raise
        where.studies[name] = study
        return study

    def reopen(self) -> None:
        for name in NAMES:
            self.opened(self.use, name)

    def pass_time(self, model: Model) -> None:
        """A study's time never goes back."""
        model.time = max(model.time, self.clock)

    def do(
        self,
        name: str,
        what: str,
        operation: Callable[[Study], Any],
        refusal: type[Exception] | None,
        change: Callable[[Model], Any],
        where: Open | None = None,
    ) -> Any:
        """Do it in the study; it must be refused so, or else change the model so and give what that gives."""
        where = where or self.use
        model, study = where.models[name], where.studies[name]
        self.pass_time(model)
        before = self.rows(study.database)
        refused: MaskedBanditError | None = None
        try:
            result = operation(study)
        except StoreError:
            raise
        except MaskedBanditError as why:
            refused = why
        if refused is not None:
            assert type(refused) is refusal, f"{what} ended with {refused!r}, and not with {refusal}"
            assert self.rows(study.database) == before, f"{what} was refused and changed something"
            return None
        assert refusal is None, f"{what} was not refused with {refusal}"
        expected = change(model)
        return result, expected

    @staticmethod
    def rows(database: Database) -> dict[str, Any]:
        """What is in the tables that only operations change."""
        found = {table: sorted(map(repr, database.rows(f"SELECT * FROM {table}"))) for table in TABLES}
        return {**found, "study": database.rows("SELECT study, state, people FROM study ORDER BY study")}

    def ticket(self, name: str, pick: int, which: Callable[[Given], bool]) -> str | None:
        """One of the tickets of which this is true."""
        found = [ticket for ticket, each in self.use.models[name].given.items() if which(each)]
        return found[pick % len(found)] if found else None

    # rules

    def adopt(self, name: str, where: Open, unit: str, ticket: str) -> None:
        """A person got a place, and chance decided which."""
        find = "SELECT cohort, place, arm, propensity, exposed, returned FROM place WHERE study = ? AND ticket = ?"
        row = where.studies[name].database.one(find, name, ticket)
        assert row is not None, "an assignment was acknowledged that is not stored"
        cohort, place, arm, propensity, exposed, returned = row
        assert exposed is None
        assert returned is None
        model = where.models[name]
        self.learn(name, where)
        model.assign(ticket, Given(unit, cohort, place, arm, propensity, model.time, model.period))

    def learn(self, name: str, where: Open) -> None:
        """The cohorts that were asked for."""
        find = "SELECT arm, n FROM decision WHERE study = ? AND n > 0 ORDER BY number"
        sizes = dict(enumerate(where.studies[name].database.rows(find, name)))
        assert sizes.items() >= where.models[name].sizes.items(), "a decision was changed"
        where.models[name].sizes = sizes

    def assigned(self, name: str, unit: str, done: Any, where: Open) -> None:
        """What came of an assignment, against what may."""
        model, expected = where.models[name], where.models[name].may_assign()
        if expected:
            assert type(done.refusal) is expected
            return
        before = model.of(unit)
        self.learn(name, where)
        left = sum(size - len(model.live(cohort)) for cohort, (_, size) in model.sizes.items())
        if done.refusal is not None:
            assert type(done.refusal) is BudgetExceeded, f"an assignment ended with {done.refusal!r}"
            assert before is None
            assert model.enrols
            assert left > 0
            assert model.charges[unit, model.period] >= CHARGES, "a person within the budget was refused"
            return
        given = done.result
        assert given.again == (before is not None), "a person who had a place got another, or lost it"
        if before is not None:
            found = model.given[before]
            assert (given.ticket, given.arm, str(given.propensity)) == (before, found.arm, found.propensity)
        elif given.ticket is None:
            assert not (model.enrols and left), "nobody got a place although there was one"
            model.people += 1
        else:
            self.adopt(name, where, unit, given.ticket)
            assert given.arm == model.given[given.ticket].arm
            assert str(given.propensity) == model.given[given.ticket].propensity

    def assign_all(self, name: str, units: list[str], where: Open | None = None) -> None:
        """In one transaction."""
        where = where or self.use
        study = where.studies[name]
        self.pass_time(where.models[name])
        for unit, done in zip(units, study.apply([partial(study.op_assign, unit) for unit in units]), strict=True):
            self.assigned(name, unit, done, where)

    @rule(name=WHICH, units=st.lists(UNITS, min_size=1, max_size=5))
    def assign(self, name: str, units: list[str]) -> None:
        self.assign_all(name, units)

    def expose_one(self, name: str, ticket: str) -> None:
        refusal = self.use.models[name].may_expose(ticket) if self.waits(name) else None
        self.do(name, "an exposure", lambda study: study.expose(ticket), refusal, lambda model: model.expose(ticket))

    def waits(self, name: str) -> bool:
        """The model's time is that of the next operation."""
        self.pass_time(self.use.models[name])
        return True

    @rule(name=WHICH, pick=PICK)
    def expose(self, name: str, pick: int) -> None:
        if ticket := self.ticket(name, pick, lambda each: True):
            self.expose_one(name, ticket)

    def report_one(self, name: str, ticket: str, value: float, event: str = "") -> None:
        self.waits(name)
        refusal = self.use.models[name].may_report(ticket, value, event)
        found = self.do(
            name,
            "a report",
            lambda study: study.report(ticket, value, event).again,
            refusal,
            lambda model: model.report(ticket, value, event),
        )
        assert found is None or found[0] == found[1], "a report was taken twice, or one that came first was not"

    @rule(name=WHICH, pick=PICK, value=st.integers(0, 1))
    def report(self, name: str, pick: int, value: int) -> None:
        if ticket := self.ticket(name, pick, lambda each: each.returned is None):
            self.report_one(name, ticket, value)

    @rule(name=WHICH, pick=PICK, value=st.integers(0, 1))
    def report_another_event(self, name: str, pick: int, value: int) -> None:
        if ticket := self.ticket(name, pick, lambda each: each.exposed is not None):
            self.report_one(name, ticket, value, "later")

    @rule(name=WHICH, pick=PICK, other=st.booleans())
    def replay_or_conflict(self, name: str, pick: int, other: bool) -> None:
        if ticket := self.ticket(name, pick, lambda each: bool(each.reports)):
            event, value = self.use.models[name].given[ticket].reports[0]
            assert self.use.models[name].may_report(ticket, 1 - value, event) is Conflict
            self.report_one(name, ticket, 1 - value if other else value, event)

    @rule(name=WHICH, pick=PICK, value=st.integers(0, 1))
    def report_late(self, name: str, pick: int, value: int) -> None:
        if ticket := self.ticket(name, pick, lambda each: each.exposed is not None and not each.reports):
            self.clock = max(self.clock, self.use.models[name].given[ticket].exposed + WINDOW + 1)
            self.waits(name)
            assert self.use.models[name].may_report(ticket, value) is Late
            self.report_one(name, ticket, value)

    @rule(by=st.sampled_from([1, MINUTE, EXPOSURE, EXPOSURE + 1, WINDOW, WINDOW + 1, PERIOD, -1, -EXPOSURE, -PERIOD]))
    def jump(self, by: int) -> None:
        self.clock += by

    def tick_one(self, name: str) -> None:
        found, expected = self.do(name, "a tick", lambda study: study.tick(), None, lambda model: model.tick())
        assert [each[:4] for each in found] == expected, f"{found} was released, and {expected} was due"

    @rule(name=WHICH)
    def tick(self, name: str) -> None:
        self.tick_one(name)

    @rule(name=WHICH, values=st.lists(st.integers(-1, 1), min_size=4, max_size=4), first=st.integers(0, 23))
    def day(self, name: str, values: list[int], first: int) -> None:
        """People come, most of them see their arm and report, and their time goes by."""
        self.assign_all(name, [f"u{(first + i) % 24}" for i in range(9)])
        model = self.use.models[name]
        tickets = [ticket for ticket, each in model.given.items() if each.returned is None]
        tickets = [ticket for ticket in tickets if model.given[ticket].cohort not in model.releases]
        for i, ticket in enumerate(tickets):
            self.expose_one(name, ticket)
            if values[i % 4] >= 0:
                self.report_one(name, ticket, values[i % 4])
        self.clock += WINDOW + 1
        self.tick_one(name)

    @rule(names=st.lists(WHICH, min_size=1, max_size=2))
    def days(self, names: list[str]) -> None:
        for name in names:
            self.day(name, [1, 1, 0, -1], 4 * len(self.use.models[name].given))

    @rule(name=WHICH, kind=st.sampled_from(["pause", "resume"]))
    def pause_or_resume(self, name: str, kind: str) -> None:
        self.move(name, kind)

    def move(self, name: str, kind: str, where: Open | None = None) -> None:
        refusal = (where or self.use).models[name].may_move(kind)
        assert refusal in (None, NotRunning)
        self.do(name, kind, lambda study: getattr(study, kind)(), refusal, lambda model: model.move(kind), where)

    @rule(name=WHICH, sure=st.integers(0, 5))
    def stop(self, name: str, sure: int) -> None:
        if sure == 0:
            self.move(name, "stop")

    @rule(name=WHICH, unit=UNITS)
    def erase(self, name: str, unit: str) -> None:
        count, expected = self.do(
            name, "an erasure", lambda study: study.erase(unit), None, lambda model: model.erase(unit)
        )
        assert count == expected

    @rule(unit=UNITS)
    def exhaust(self, unit: str) -> None:
        """A person who sees nothing comes to both studies again and again: places are given back, charges are not."""
        for name in ("two", "one", "two", "one"):
            self.assign_all(name, [unit])
            self.clock += EXPOSURE + 1
            self.tick_one(name)

    @rule()
    def crash(self) -> None:
        self.use.drop()
        self.reopen()

    @rule()
    def restart(self) -> None:
        for study in self.use.studies.values():
            study.close()
        self.reopen()

    @rule(
        name=WHICH,
        how=st.sampled_from(["before", "after", "witness"]),
        what=st.sampled_from(["assign", "expose", "report", "tick", "tick", "pause", "erase"]),
        unit=UNITS,
        dies=st.booleans(),
    )
    def fail(self, name: str, how: str, what: str, unit: str, dies: bool) -> None:
        """The database or the witness fails at the commit, before or after it was done, and nothing is acknowledged."""
        model, study = self.use.models[name], self.use.studies[name]
        ticket = model.of(unit)
        if what == "tick":
            self.clock += WINDOW + 1
        if what in ("expose", "report") and ticket is None:
            return
        operation = {
            "assign": lambda: study.assign(unit),
            "expose": lambda: study.expose(ticket),
            "report": lambda: study.report(ticket, 1),
            "tick": study.tick,
            "pause": study.pause,
            "erase": lambda: study.erase(unit),
        }[what]
        people = model.people
        place = failing_witness if how == "witness" else partial(failing_commit, how=how)
        with place(study):
            try:
                operation()
            except StorageFailed:
                failed = True
            except MaskedBanditError:
                failed = False  # a refusal, where the ledger does not move
            else:
                failed = False
        assert failed or how == "witness", "a commit that failed was acknowledged"
        if dies:
            self.use.drop()
            self.reopen()
        else:
            study.releases()  # it comes back by itself
        if how != "before":
            self.waits(name)
            self.catch_up(name, what, unit, ticket, people)

    def catch_up(self, name: str, what: str, unit: str, ticket: str | None, people: int) -> None:
        """The model after an operation that was done though nobody was told."""
        model = self.use.models[name]
        if what == "assign":
            stored, tickets = self.stored(name)
            fresh = tickets - model.given.keys()
            assert len(fresh) <= 1
            assert people <= stored <= people + 1
            for each in fresh:
                self.adopt(name, self.use, unit, each)
            model.people = stored
        elif what == "expose" and not model.may_expose(ticket):
            model.expose(ticket)
        elif what == "report" and not model.may_report(ticket, 1):
            model.report(ticket, 1)
        elif what == "tick":
            model.tick()
        elif what == "pause" and not model.may_move("pause"):
            model.move("pause")
        elif what == "erase":
            model.erase(unit)

    def stored(self, name: str) -> tuple[int, set[str]]:
        database = self.use.studies[name].database
        find = "SELECT ticket FROM place WHERE study = ? AND erased IS NULL"
        people = database.rows("SELECT people FROM study WHERE study = ?", name)[0][0]
        return people, {ticket for (ticket,) in database.rows(find, name)}

    # copies of the database

    @precondition(lambda self: len(self.copies) < 3)
    @rule()
    def copy(self) -> None:
        """Yesterday's copy."""
        self.use.drop()
        self.files += 1
        if self.postgresql:
            address = copied_postgresql(self.use.address)
        else:
            address = f"sqlite:///{self.folder.name}/{self.files}.db"
            shutil.copy(self.use.address[10:], address[10:])
        self.copies.append(Open(address, deepcopy(self.use.models)))
        self.reopen()

    def ledgers(self, where: Open) -> list[tuple[str, list[int]]]:
        """What moves the ledgers, as the models have it."""
        database = connect(where.address)
        try:
            return database.rows("SELECT study, number, hash FROM entry ORDER BY study, number")
        finally:
            database.close()

    @precondition(lambda self: self.copies and self.clone is None)
    @rule(pick=PICK, name=WHICH)
    def open_copy(self, pick: int, name: str) -> None:
        """It is refused if any ledger has moved on since; if none has, nobody was shown anything that is not in it."""
        copy = self.copies.pop(pick % len(self.copies))
        if self.ledgers(copy) != self.ledgers(self.use):
            for each in (name, *NAMES):
                with raises(BehindWitness, "a restored copy was opened"):
                    self.opened(copy, each)
            copy.drop()
            return
        for each in NAMES:
            self.opened(copy, each)
        self.clone = copy

    @precondition(lambda self: self.clone is not None)
    @rule(name=WHICH, unit=UNITS, wins=st.booleans())
    def use_clone(self, name: str, unit: str, wins: bool) -> None:
        """Two databases are in use at once: the first whose ledger moves is the one that goes on."""
        clone = self.clone
        moved = self.ledgers(clone) != self.ledgers(self.use)
        if not moved and not wins:
            self.assign_all(name, [unit], clone)  # nobody's reward is released by that
            return
        first, second = (clone, self.use) if wins and not moved else (self.use, clone)
        if not moved:
            if first.models[name].state == "stopped":
                return
            self.move(name, "pause" if first.models[name].state == "running" else "resume", first)
        for each in (name, *NAMES):
            kind = {"running": "pause", "paused": "resume"}.get(second.models[each].state)
            if kind:
                with raises(BehindWitness, "a clone wrote what another contradicts"):
                    getattr(second.studies[each], kind)()
                with raises(BehindWitness, "a clone shows what may contradict another"):
                    second.studies[each].releases()
        second.drop()
        self.use, self.clone = first, None

    # what must hold

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "use"):
            return
        rows = check_database(self.use.studies["one"].database, self.witness, self.use.models)
        for name in NAMES:
            study, model = self.use.studies[name], self.use.models[name]
            self.last[name] = check_study(study, self.witness, model, rows, self.heads[name], self.last.get(name))
