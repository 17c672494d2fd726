"""Two studies of a project in one database, what is done to them, and what has to come of it."""

import atexit
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine

from maskedbandit.errors import MaskedBanditError, NotRunning, StorageFailed, StoreError
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.studies import write_study
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol
from tests.quick import QUICK
from tests.store.model import CHARGES, PERIOD, Given, Model, protocol
from tests.store.small_study import PROOF

NAMES = ("one", "two")
TABLES = ("project", "place", "reward", "release", "account", "entry")


@cache
def template(*protocols: Protocol) -> Path:
    """A folder with a database of two drafts, and its witness."""
    folder = Path(mkdtemp(dir=QUICK))
    atexit.register(shutil.rmtree, folder)
    for each in protocols:
        write_study(each, f"sqlite:///{folder}/0.db", folder / "witness")
    return folder


@contextmanager
def raises(kind: type[Exception], otherwise: str) -> Iterator[None]:
    """It must be refused so."""
    try:
        yield
    except kind:
        return
    except MaskedBanditError as why:
        raise AssertionError(f"{otherwise}: {why}") from why
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


class Stage(RuleBasedStateMachine):
    """How things are done; mutants are put in place of the study or its witness."""

    study_kind: ClassVar[Any] = Study
    witness_kind: ClassVar[Any] = Witness
    postgresql: ClassVar[bool] = False
    protocols: ClassVar[tuple[Protocol, ...]] = tuple(map(protocol, NAMES))

    def __init__(self) -> None:
        super().__init__()
        self.folder, self.clock, self.files = TemporaryDirectory(dir=QUICK), 1000 * PERIOD, 0
        self.copies: list[Open] = []
        self.clone: Open | None = None
        self.heads: dict[str, list[str]] = {name: [] for name in NAMES}
        self.last: dict[str, Any] = {}  # what was checked last

    def teardown(self) -> None:
        for each in (getattr(self, "use", None), self.clone):
            if each:
                each.drop()
        self.folder.cleanup()

    def opened(self, where: Open, name: str) -> Study:
        """The study of a database, taken over by the holder who had it before."""
        database = open_database(where.address)
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

    def waits(self, name: str) -> None:
        """The model's time is that of the next operation."""
        self.pass_time(self.use.models[name])

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
        before = self.rows(study.database) if refusal else None
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
        assert done.refusal is None, f"an assignment ended with {done.refusal!r}"
        before = model.of(unit)
        self.learn(name, where)
        left = model.left
        given = done.result
        assert given.again == (before is not None), "a person who had a place got another, or lost it"
        if before is not None:
            found = model.given[before]
            assert (given.ticket, given.arm, str(given.propensity)) == (before, found.arm, found.propensity)
        elif given.why == "budget_exceeded":
            assert given.ticket is None
            assert model.enrols
            assert left > 0
            assert model.charges[unit, model.period] >= CHARGES, "a person within the budget got no place"
        elif given.ticket is None:
            erased = any(each.unit == unit for each in model.gone)
            assert erased or not (model.enrols and left), "nobody got a place although there was one"
        else:
            self.adopt(name, where, unit, given.ticket)
            assert given.arm == model.given[given.ticket].arm
            assert str(given.propensity) == model.given[given.ticket].propensity

    def assign_all(self, name: str, units: list[str], where: Open | None = None) -> None:
        """In one transaction."""
        where = where or self.use
        study = where.studies[name]
        self.pass_time(where.models[name])
        for unit, done in zip(units, study.apply([("assign", unit) for unit in units]), strict=True):
            self.assigned(name, unit, done, where)

    def expose_one(self, name: str, ticket: str) -> None:
        self.waits(name)
        refusal = self.use.models[name].may_expose(ticket)
        self.do(name, "an exposure", lambda study: study.expose(ticket), refusal, lambda model: model.expose(ticket))

    @contextmanager
    def silence(self, name: str) -> Iterator[None]:
        """A report comes at the time of the clock, and leaves that of the study as it was."""
        model = self.use.models[name]
        before = model.time
        self.waits(name)
        yield
        model.time = before

    def report_one(self, name: str, ticket: str, value: float, event: str = "") -> None:
        with self.silence(name):
            self.report_now(name, ticket, value, event)

    def report_now(self, name: str, ticket: str, value: float, event: str) -> None:
        refusal = self.use.models[name].may_report(ticket, value, event)
        found = self.do(
            name,
            "a report",
            lambda study: study.report(ticket, value, event, proof=PROOF).again,
            refusal,
            lambda model: model.report(ticket, value, event),
        )
        assert found is None or found[0] == found[1], "a report was taken twice, or one that came first was not"

    def tick_one(self, name: str) -> None:
        found, expected = self.do(name, "a tick", lambda study: study.tick(), None, lambda model: model.tick())
        assert [(each.cohort, each.arm, each.n, each.total) for each in found] == expected, (
            f"{found} was released, and {expected} was due"
        )

    def move(self, name: str, kind: str, where: Open | None = None) -> None:
        refusal = (where or self.use).models[name].may_move(kind)
        assert refusal in (None, NotRunning)
        self.do(name, kind, lambda study: getattr(study, kind)(), refusal, lambda model: model.move(kind), where)

    def change(self, name: str, what: str, arm: str, where: Open | None = None) -> None:
        """Pause, resume or add an arm."""
        where = where or self.use
        refusal = where.models[name].may_change(what, arm)
        self.learn(name, where)
        self.do(
            name,
            f"to {what} an arm",
            lambda study: study.change_arms(what, arm),
            refusal,
            lambda model: model.change(what, arm),
            where,
        )

    def stored(self, name: str) -> set[str]:
        find = "SELECT ticket FROM place WHERE study = ? AND erased IS NULL"
        return {ticket for (ticket,) in self.use.studies[name].database.rows(find, name)}

    def catch_up(self, name: str, what: str, unit: str, ticket: str | None) -> None:
        """The model after an operation that was done though nobody was told."""
        model = self.use.models[name]
        if what == "assign":
            fresh = self.stored(name) - model.given.keys()
            assert len(fresh) <= 1
            for each in fresh:
                self.adopt(name, self.use, unit, each)
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

    def ledgers(self, where: Open) -> list[tuple[str, list[int]]]:
        """What moves the ledgers, as the models have it."""
        database = open_database(where.address)
        try:
            return database.rows("SELECT study, number, hash FROM entry ORDER BY study, number")
        finally:
            database.close()
