"""Two studies of a project in one database, to which all happens that can: rules of a Hypothesis state machine.

After every step everything is compared with the model, and all invariants are checked on the rows themselves.
"""

import json
import shutil
from collections import Counter
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from maskedbandit.errors import BehindWitness, Conflict, Late, MaskedBanditError, StorageFailed
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol
from tests.statistics import seeded
from tests.store.databases import copied_postgresql, fresh_postgresql
from tests.store.invariants import check_database, check_study
from tests.store.model import EPSILON, EXPOSURE, FURTHER, MINUTE, PERIOD, WINDOW, Model, protocol
from tests.store.small_study import PROOF
from tests.store.stage import NAMES, Open, Stage, failing_commit, failing_witness, raises, template

WHICH = st.sampled_from(("one", "one", "one", "two"))
PICK = st.integers(0, 9999)
UNITS = st.integers(0, 23).map(lambda i: f"u{i}")


class Machine(Stage):
    """All that can happen."""

    @initialize(days=st.integers(0, 2))
    def begin(self, days: int) -> None:
        folder = Path(self.folder.name)
        if self.postgresql:
            address = fresh_postgresql()
            for each in self.protocols:
                write_study(each, address, folder / "witness")
        else:
            address = f"sqlite:///{folder}/0.db"
            shutil.copytree(template(*self.protocols), folder, dirs_exist_ok=True)
        database = open_database(address)
        self.witness = self.witness_kind(find_witness(database, folder / "witness").folder)
        database.close()
        charges: Counter[tuple[str, int]] = Counter()
        self.use = Open(address, {each.name: self.modelled(each, charges) for each in self.protocols})
        self.reopen()
        for name in NAMES:
            self.do(name, "start", lambda study: study.start(), None, lambda model: model.move("start"))
        self.prepare()
        for _ in range(days):
            self.day("one", [1, 0, -1, 1], 0)
        self.copy()

    def modelled(self, protocol: Protocol, charges: Counter[tuple[str, int]]) -> Model:
        """What must hold of a new study."""
        names = [name for name, _ in protocol.arms]
        control = None if protocol.control_arm is None else names[protocol.control_arm]
        return Model(charges, arms=names, control=control)

    def prepare(self) -> None:
        """What is done before anybody comes."""

    @rule(name=WHICH, units=st.lists(UNITS, min_size=1, max_size=5))
    def assign(self, name: str, units: list[str]) -> None:
        self.assign_all(name, units)

    @rule(name=WHICH, pick=PICK)
    def expose(self, name: str, pick: int) -> None:
        if ticket := self.ticket(name, pick, lambda each: True):
            self.expose_one(name, ticket)

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
            with self.silence(name):
                assert self.use.models[name].may_report(ticket, 1 - value, event) in (Conflict, Late)
            self.report_one(name, ticket, 1 - value if other else value, event)

    @rule(name=WHICH, pick=PICK, value=st.integers(0, 1))
    def report_late(self, name: str, pick: int, value: int) -> None:
        if ticket := self.ticket(name, pick, lambda each: each.exposed is not None and not each.reports):
            self.clock = max(self.clock, self.use.models[name].given[ticket].exposed + WINDOW + 1)
            with self.silence(name):
                assert self.use.models[name].may_report(ticket, value) is Late
            self.report_one(name, ticket, value)

    @rule(by=st.sampled_from([1, MINUTE, EXPOSURE, EXPOSURE + 1, WINDOW, WINDOW + 1, PERIOD, -1, -EXPOSURE, -PERIOD]))
    def jump(self, by: int) -> None:
        self.clock += by

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
            "report": lambda: study.report(ticket, 1, proof=PROOF),
            "tick": study.tick,
            "pause": study.pause,
            "erase": lambda: study.erase(unit),
        }[what]
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
            study.apply([])  # it comes back by itself
        if how != "before":
            self.waits(name)
            self.catch_up(name, what, unit, ticket)

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
                shown, others = (side.studies[each].releases() for side in (second, first))
                assert others[: len(shown)] == shown, "a clone shows what contradicts another"
        second.drop()
        self.use, self.clone = first, None

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "use"):
            return
        rows = check_database(self.use.studies["one"].database, self.witness, self.use.models)
        for name in NAMES:
            study, model = self.use.studies[name], self.use.models[name]
            self.last[name] = check_study(study, self.witness, model, rows, self.heads[name], self.last.get(name))


class Changing(Machine):
    """The same, and the arms of both studies change; whom chance gives an arm repeats, as much follows from it."""

    opens = 0

    def opened(self, where: Open, name: str) -> Study:
        study = super().opened(where, name)
        study._session.bits = seeded(self.opens)
        self.opens += 1
        return study

    def prepare(self) -> None:
        for name in NAMES:
            self.change(name, "add", "c")

    @rule(
        name=WHICH,
        what=st.sampled_from(["pause", "pause", "resume", "resume", "add"]),
        arm=st.sampled_from("abcd"),
        before=st.lists(UNITS, max_size=4),
        after=st.lists(UNITS, max_size=4),
    )
    def change_arms(self, name: str, what: str, arm: str, before: list[str], after: list[str]) -> None:
        """An arm is paused, resumed or added, while places are open and cohorts wait, and people come."""
        self.assign_all(name, before)
        self.change(name, what, arm)
        self.assign_all(name, after)
        self.clock += EXPOSURE + 1
        self.tick_one(name)

    @rule(name=WHICH, how=st.sampled_from(["before", "after", "witness"]), arm=st.sampled_from("abc"))
    def fail_to_pause(self, name: str, how: str, arm: str) -> None:
        """The database or the witness fails when an arm is paused."""
        model, study = self.use.models[name], self.use.studies[name]
        self.waits(name)
        refusal = model.may_change("pause", arm)
        self.learn(name, self.use)
        place = failing_witness if how == "witness" else partial(failing_commit, how=how)
        with place(study), suppress(StorageFailed, *([refusal] if refusal else [])):
            study.change_arms("pause", arm)
        study.apply([])
        if how != "before" and refusal is None:
            model.change("pause", arm)


class Held(Changing):
    """The same, and both studies have a control arm, which has two of seven places and cannot be paused."""

    protocols = tuple(
        protocol(name, arms=[{"name": "a"}, {"name": "d", "share": "2/7"}, {"name": "b"}]) for name in NAMES
    )


class OnDevices(Machine):
    """The same under local trust, and there is a guardrail, which no arm can break, and a metric; there is no noise."""

    protocols = tuple(
        protocol(
            name,
            channel={"name": "local", "epsilon": EPSILON},
            guardrail={"name": "harm", "harm": {"above": 0.9999}, "rule": "first", "share": "1/4"},
            metrics=[{"name": "spent", "rule": "first", "share": "1/4"}],
        )
        for name in NAMES
    )

    def report_one(self, name: str, ticket: str, value: float, event: str = "") -> None:
        """Each person's harm is what the reward is not, and so is what is spent, of whoever had no other event."""
        for metric, said in (("", value), ("harm", 1 - value), *([] if event else [("spent", 1 - value)])):
            if metric or not event:
                self.report_metric(name, ticket, said, metric)

    def report_metric(self, name: str, ticket: str, value: float, metric: str) -> None:
        """One outcome."""
        with self.silence(name):
            self.report_metric_now(name, ticket, value, metric)

    def report_metric_now(self, name: str, ticket: str, value: float, metric: str) -> None:
        event = {"": "", "harm": FURTHER[0], "spent": FURTHER[1]}[metric]
        found = self.do(
            name,
            "a report",
            lambda study: study.report(ticket, value, metric=metric, proof=PROOF).again,
            self.use.models[name].may_report(ticket, value, event),
            lambda model: model.report(ticket, value, event),
        )
        assert found is None or found[0] == found[1], "a report was taken twice, or one that came first was not"

    @invariant()
    def further_sums_are_released(self) -> None:
        """The further sums of each release are those of the same people."""
        for name in NAMES if hasattr(self, "use") else ():
            rows = self.use.studies[name].database.rows("SELECT body FROM entry WHERE study = ?", name)
            said = [each for (body,) in rows if (each := json.loads(body))["kind"] == "released"]
            found = {each["cohort"]: [float.fromhex(total) for total, _ in each["further"]] for each in said}
            assert found == self.use.models[name].further, "another sum of a further outcome was released"
