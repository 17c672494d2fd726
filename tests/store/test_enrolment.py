"""Who is enrolled: rules, parts and ramps turn people away before anything is written, and the same people always."""

import shutil
from collections.abc import Iterator
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import NotRunning, PersonalValue
from maskedbandit.store import people
from maskedbandit.store.book.witness import Lots, Witness
from maskedbandit.store.lots import StudyLots
from maskedbandit.store.requests import Assigned
from maskedbandit.store.studies import open_study, write_study
from tests.statistics import at_most, mean_is
from tests.store.racers import name_enrolled
from tests.store.small_study import WINDOW, Clock, small_protocol, small_study

HOUR = 3_600_000
RAMP = {"shares": ["1/20", "1/4"], "every": "1 hour"}
HALF = {"name": "halves", "below": "1/2"}
ADULTS = {"age": {"least": 18}}
TABLES = ("place", "account", "erased", "reward", "decision", "entry", "loss")


class Staged:
    """A study with these rules that has just been started, and its clock."""

    def __init__(self, folder: Path, **enrolment: Any) -> None:
        self.address, self.folder, self.clock = f"sqlite:///{folder}/study.db", folder / "witness", Clock()
        self.protocol = small_protocol(enrolment=enrolment, people=10_000)
        self.study = small_study(self.address, self.folder, self.clock, self.protocol)

    def come(self, units: list[str], attributes: Any = None) -> list[Assigned]:
        """What these people get, in one transaction."""
        done = self.study.apply([("assign", unit, False, attributes) for unit in units])
        return [each.value() for each in done]

    def reopen(self) -> None:
        self.study.close()
        self.study = open_study(self.address, folder=self.folder, clock=self.clock)

    def rows(self) -> dict[str, Any]:
        return {table: self.study.database.rows(f"SELECT * FROM {table}") for table in TABLES}


@pytest.fixture
def adults(tmp_path: Path) -> Iterator[Staged]:
    staged = Staged(tmp_path, eligible=ADULTS, default="b")
    yield staged
    staged.study.close()


def test_whoever_is_not_eligible_gets_the_default_arm_and_nothing_is_written(adults: Staged) -> None:
    before = adults.rows()
    for attributes in (None, {}, {"age": 17}, {"age": "18"}, {"country": "DE"}):
        assert adults.come(["ann"], attributes) == [Assigned(1, None, Fraction(1), why="not_eligible")]
    assert adults.rows() == before
    assert adults.study.people == 0


def test_whoever_becomes_eligible_is_enrolled_then_and_stays_enrolled_whatever_is_sent(adults: Staged) -> None:
    assert adults.study.assign("ann", {"age": 17}).why == "not_eligible"
    enrolled = adults.study.assign("ann", {"age": 18})
    assert (enrolled.why, enrolled.ticket is None) == (None, False)
    adults.reopen()
    for attributes in (None, {}, {"age": 17}):
        again = adults.study.assign("ann", attributes)
        assert (again.ticket, again.arm, again.again) == (enrolled.ticket, enrolled.arm, True)


def test_attributes_are_nowhere_in_the_files(adults: Staged, tmp_path: Path) -> None:
    for age, unit in ((18, "ann"), (7, "bob")):
        adults.study.assign(unit, {"age": age, "diagnosis": "a-rare-disease"})
    adults.study.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"maskedbandit" in path.read_bytes() or b"small" in path.read_bytes() for path in files)
    assert not any(b"rare-disease" in path.read_bytes() or b"diagnosis" in path.read_bytes() for path in files)
    adults.reopen()


def test_wrong_attributes_are_refused_before_anything(adults: Staged) -> None:
    before = adults.rows()
    with pytest.raises(PersonalValue):
        adults.study.assign("ann", {"age": None})
    assert adults.rows() == before


def test_a_paused_default_is_served_and_a_harmful_one_is_not(adults: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    adults.study.change_arms("pause", "b")
    assert adults.study.assign("ann").arm == 1, "it is what the application does anyway"
    adults.study.change_arms("resume", "b")
    session = adults.study._session
    monkeypatch.setattr(session, "arms", session.arms.after("arm_harmful", 1))
    session.driver.begin_stage([0], 1000)
    given = people.assign(session, "ann")
    assert (given.arm, given.ticket, given.why) == (0, None, "not_eligible")


def test_nobody_is_turned_away_of_a_study_that_does_not_run_yet(tmp_path: Path) -> None:
    write_study(small_protocol(enrolment={"eligible": ADULTS}), f"sqlite:///{tmp_path}/a.db", tmp_path / "witness")
    with open_study(f"sqlite:///{tmp_path}/a.db", folder=tmp_path / "witness") as study, pytest.raises(NotRunning):
        study.assign("ann", {"age": 3})


def test_rules_hold_while_the_study_is_paused_and_when_it_is_stopped(adults: Staged) -> None:
    for move in (adults.study.pause, adults.study.stop):
        move()
        assert adults.study.assign("ann").why == "not_eligible"
        assert adults.study.assign("ann", {"age": 18}).why is None


@pytest.mark.slow
def test_the_ramp_lets_the_same_people_in_at_every_step(tmp_path: Path) -> None:
    """Whoever is in stays in, after restarts, pauses and with the clock set back; and all are in after the last."""
    staged, units = Staged(tmp_path, ramp=RAMP), [f"person {i}" for i in range(1000)]
    lots = StudyLots(staged.protocol, staged.study._session.witness)
    pseudonyms = staged.study._session.witness.pseudonyms("small")
    start, inside = staged.clock.now, list[set[str]]()
    for at, share in (
        (0, Fraction(1, 20)),
        (HOUR - 1, Fraction(1, 20)),
        (HOUR, Fraction(1, 4)),
        (2 * HOUR, Fraction(1)),
    ):
        staged.clock.now = start + at
        given = staged.come(units)
        inside.append({unit for unit, each in zip(units, given, strict=True) if each.why is None})
        assert inside[-1] == {unit for unit in units if lots.of(pseudonyms.of(unit)).ramp < share}
        assert {each.why for each in given} <= {None, "not_yet"}
        assert all((each.ticket, each.arm) == (None, 0) for each in given if each.why)
        staged.reopen()
        staged.clock.now -= HOUR  # the study's own time never goes back
        assert {unit for unit, each in zip(units, staged.come(units), strict=True) if each.why is None} == inside[-1]
        staged.study.pause()
        staged.study.resume()
    assert inside == sorted(inside, key=len)
    assert inside[0] <= inside[1] <= inside[2] <= inside[3] == set(units)
    staged.study.close()


def find_faults(lots: list[Any], twice: list[Any]) -> list[str]:
    """What is wrong with lots of many people, drawn twice; each test raises a false alarm with probability 1e-9."""
    found, n = ["drawn anew"] if lots != twice else [], len(lots)
    for which in ("group", "ramp"):
        drawn = [getattr(each, which) for each in lots]
        try:
            mean_is([float(each) for each in drawn], 0.5, (1 / 12) ** 0.5)
            for share in (Fraction(1, 20), Fraction(1, 4), Fraction(1, 2)):
                at_most(sum(each < share for each in drawn), n, float(share))
                at_most(sum(each >= share for each in drawn), n, float(1 - share))
        except AssertionError:
            found.append(which)
    try:
        both = sum(each.group < Fraction(1, 2) and each.ramp < Fraction(1, 2) for each in lots)
        at_most(both, n, 0.25)
        at_most(n - both, n, 0.75)
    except AssertionError:
        found.append("not independent")
    return found


class OneKey(Witness):
    """A twin whose lots for all uses are the same."""

    def lots(self, project: str, use: str) -> Lots:
        return super().lots(project, "all")


def all_lots(witness: Witness) -> list[Any]:
    protocol = small_protocol(enrolment={"ramp": RAMP, "group": HALF})
    names = witness.pseudonyms("small")
    return [StudyLots(protocol, witness).of(names.of(f"person {i}")) for i in range(2000)]


@pytest.mark.slow
def test_lots_are_uniform_independent_and_the_same_each_time(tmp_path: Path) -> None:
    small_study(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", Clock()).close()
    (folder,) = (tmp_path / "witness").iterdir()
    assert find_faults(all_lots(Witness(folder)), all_lots(Witness(folder))) == []
    assert find_faults(all_lots(OneKey(folder)), all_lots(OneKey(folder))) == ["not independent"]


@pytest.mark.slow
def test_a_lot_that_is_drawn_anew_or_is_not_uniform_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_study(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", Clock()).close()
    (folder,) = (tmp_path / "witness").iterdir()
    usual, count = Lots.of, iter(range(10**9))
    monkeypatch.setattr(Lots, "of", lambda self, person: usual(self, f"{person} {next(count)}"))
    assert find_faults(all_lots(Witness(folder)), all_lots(Witness(folder))) == ["drawn anew"]
    monkeypatch.setattr(Lots, "of", lambda self, person: usual(self, person) ** 2)
    assert {"group", "ramp"} <= set(find_faults(all_lots(Witness(folder)), all_lots(Witness(folder))))


def test_lots_for_two_studies_and_of_two_groups_differ_and_those_for_one_group_do_not(tmp_path: Path) -> None:
    """Of one project: whoever came early to one study is no likelier to come early to the next."""
    small_study(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", Clock()).close()
    witness = Witness(next((tmp_path / "witness").iterdir()))
    make = {"enrolment": {"ramp": RAMP, "group": HALF}, "project": "small"}
    first, second = (StudyLots(small_protocol(name=name, **make), witness).of("9f") for name in ("one", "two"))
    assert first.ramp != second.ramp
    assert first.group == second.group
    other = {"ramp": RAMP, "group": HALF | {"name": "others"}}
    assert (
        StudyLots(small_protocol(name="one", project="small", enrolment=other), witness).of("9f").group != first.group
    )


def play_world(folder: Path, value: float, spoil: Any) -> list[Any]:
    """Whom the study in this folder turns away, after all who were enrolled reported this and were released."""
    clock = Clock()
    with open_study(f"sqlite:///{folder}/study.db", folder=folder / "witness", clock=clock) as study:
        for i in range(40):
            if (ticket := study.assign(f"early {i}", {"age": 18}).ticket) is not None:
                study.expose(ticket)
                study.report(ticket, value)
        clock.now += WINDOW + 1
        assert study.tick()
        study._session.lots = spoil(study._session)
        found = list[Any]()
        for _ in range(2):
            found.append([study.assign(f"late {i}", {"age": i}).why for i in range(100)])
            clock.now += HOUR
        return found


def drawn_by_outcomes(session: Any) -> Any:
    """A twin by whose lots fewer people come early if those before them had good outcomes."""
    usual = session.lots

    def lots(person: str) -> Any:
        session.write()
        ((total,),) = session.database.rows("SELECT COALESCE(SUM(value), 0) FROM reward")
        found = usual(person)
        return found._replace(ramp=(found.ramp + 1) / 2 if total else found.ramp)

    return lots


@pytest.mark.slow
def test_who_is_enrolled_does_not_depend_on_what_others_reported(tmp_path: Path) -> None:
    """In two worlds that differ in the outcomes alone the same people are turned away, for the same reasons."""
    (first := tmp_path / "first").mkdir()
    staged = Staged(first, ramp=RAMP | {"shares": ["1/2"]}, eligible=ADULTS, group={"name": "g", "below": "9/10"})
    staged.study.close()
    for name, spoil, same in (("sound", lambda session: session.lots, True), ("broken", drawn_by_outcomes, False)):
        worlds = []
        for value in (0.0, 1.0):
            shutil.copytree(first, tmp_path / f"{name} {value}")
            worlds.append(play_world(tmp_path / f"{name} {value}", value, spoil))
        assert {each for step in worlds[0] for each in step} == {None, "not_eligible", "not_yet", "other_study"}
        assert (worlds[0] == worlds[1]) is same


@pytest.mark.slow
def test_another_process_enrols_the_same_people(tmp_path: Path) -> None:
    staged, units = Staged(tmp_path, ramp=RAMP), [f"person {i}" for i in range(200)]
    here = [unit for unit, each in zip(units, staged.come(units), strict=True) if each.why is None]
    staged.study.close()
    told = get_context("spawn").Queue()
    process = get_context("spawn").Process(
        target=name_enrolled, args=(staged.folder, staged.protocol.text, units, told)
    )
    process.start()
    assert told.get(timeout=600) == here
    process.join()
