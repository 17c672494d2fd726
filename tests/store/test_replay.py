"""What a stored study decides follows from its seed and its releases, however often it is closed and opened again.

All comparisons are exact: of logs, of what the lab's engine decides, and of what channels remember. The bits of a study
are seeded here, so that two studies differ only if something was forgotten.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.engine.outcomes import DONE
from maskedbandit.policies.parts.purposes import find_purpose
from maskedbandit.reports.audit.runs import RUN_DELTA
from maskedbandit.store import release, session
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.memory import write_memory
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol
from tests.golden import MULTI_ARMED, interpreted
from tests.quick import QUICK
from tests.statistics import seeded
from tests.study.plays import SEED
from tests.study.test_driver_log import Numbered

CENTRAL, LOCAL = {"name": "central", "epsilon": 4}, {"name": "response", "epsilon": 2}
TREE = {"name": "tree", "epsilon": 1, "length": 512}
CHANNELS = (CENTRAL, {**CENTRAL, "noise": "discrete_gaussian"}, LOCAL)
PEOPLE, FEW, WINDOW = 320, 160, 1000  # milliseconds


def protocol(policy: Any, channel: Any, people: int = PEOPLE, exposure: str = "0 seconds") -> Protocol:
    """A study of two arms."""
    kind = mb.policies.room[policy]
    table = {
        "name": "study",
        "policy": {"name": policy, "m": 1} if hasattr(kind, "m") else policy,
        "channel": channel,
        "arms": [{"name": "a"}, {"name": "b"}],
        "budget": {"epsilon": 1000, "delta": 1e-6},
        "reward": {"rule": "first", "window": "1 second", "exposure": exposure},
    }
    return Protocol.from_table(
        {**table, **({"delta": RUN_DELTA} if find_purpose(kind.goal).aim == "delta" else {"people": people})}
    )


def accepted(policy: str) -> Any:
    """The first channel with which a study may have this policy, if there is one."""
    for channel in CHANNELS:
        try:
            protocol(policy, channel)
        except InvalidValue:
            continue
        return channel
    return None


SILENT = ("best_arm_dpse", "dpse", "uniform", "successive_elimination")  # too few people come for a cohort of these
FAST = (
    *("contemporaneous_klucb", "contemporaneous_elimination", "thompson_sampling"),
    *("eb_tci", "noise_aware_klucb", "pooled_elimination", "top_arms"),
)
STORED = {policy: channel for policy in MULTI_ARMED if (channel := accepted(policy))}


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory, where there is such a folder: whether a disk keeps what it is told is not the question here."""
    with TemporaryDirectory(dir=QUICK) as name:
        yield Path(name)


class Stored:
    """A study in a file, with its clock, and seeded bits."""

    def __init__(self, folder: Path, how: Protocol, kind: Callable[..., Study] = Study) -> None:
        self.address, self.folder, self.now, self.kind = f"sqlite:///{folder}/study.db", folder / "witness", 0, kind
        write_study(how, self.address, self.folder)
        database = open_database(self.address)
        database.change("UPDATE study SET seed = ?", SEED.hex())
        database.close()
        self.open()
        self.study.start()

    def open(self) -> None:
        database = open_database(self.address)
        self.study = self.kind(database, find_witness(database, self.folder), "study", lambda: self.now, "me")

    def open_again(self, dies: bool) -> None:
        before = write_memory(self.study._session.memory), list(self.study._session.driver.log)
        self.study.database.close() if dies else self.study.close()
        self.open()
        found = write_memory(self.study._session.memory), list(self.study._session.driver.log)
        assert found == before, "another study came back"

    def apply(self, operations: list[Any]) -> list[Any]:
        return [done.value() for done in self.study.apply(operations)]


@pytest.fixture
def bits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The bits of releases are seeded, and begin anew when this is called."""
    numbers = [count()]
    monkeypatch.setattr(release, "Bits", lambda: seeded(next(numbers[0])))
    return lambda: numbers.__setitem__(0, count())


def played(folder: Path, how: Protocol, chance: Random | None, days: int = 22, a_day: int = 16) -> list[Any]:
    """The log of a study; with chance it is closed and opened again at random points, or dies."""
    folder.mkdir()
    stored = Stored(folder, how)
    for day in range(days):
        stored.now = day * 700
        for part in range(2):
            if chance and chance.random() < 0.3:
                stored.open_again(dies=chance.random() < 0.5)
            study = stored.study
            study._session.bits = seeded(2 * day + part)
            units = [f"{day} {part} {i}" for i in range(a_day // 2)]
            given = stored.apply([("assign", unit) for unit in units])
            reports = [(each.ticket, int(i % 5 < (1, 4)[each.arm])) for i, each in enumerate(given) if each.ticket]
            stored.apply([("report", *each) for each in reports])
        stored.study.tick()
        if stored.study.answer is not None:
            break
    log = list(stored.study._session.driver.log)
    verify_study(stored.study.database, stored.study._session.witness, "study")
    check_never_closed(stored.study, log)
    stored.study.close()
    return log


def check_never_closed(study: Study, log: list[Any]) -> None:
    """A driver that never was closed decides the same at the same releases."""
    how = study.protocol
    driver, bits = Driver(how.policy, how.channel.law(), how.k, how.aim, SEED), seeded(1)
    for kind, *entry in log:
        if kind == "ask":
            while driver.deck.left:
                driver.assign(bits)
            if len(driver.log) <= log.index((kind, *entry)):
                driver.ask()
        else:
            while driver.deck.left and not driver.cohorts[entry[0]].full:
                driver.assign(bits)
            driver.close(entry[0])
            driver.tell(*entry)
    assert driver.log == log, "a driver that was never closed decides otherwise"


def check_reopened(folder: Path, begin: Callable[[], None], policy: str, channel: Any) -> int:
    """A study that was closed and opened decides, and releases, what one that was never closed does."""
    begin()
    whole = played(folder / "whole", protocol(policy, channel), None)
    begin()
    again = played(folder / "again", protocol(policy, channel), Random(1))
    assert again == whole, "it goes on otherwise"
    return sum(entry[0] == "tell" for entry in whole)


def slow_but(fast: Iterable[str]) -> list[Any]:
    """All policies; `make slow` alone has those that are not among these."""
    return [pytest.param(policy, marks=() if policy in fast else pytest.mark.slow) for policy in STORED]


@pytest.mark.sparing(1)
@pytest.mark.parametrize("policy", slow_but(FAST))
def test_a_study_that_is_opened_again_goes_on_as_if_it_never_was_closed(folder, bits, policy):
    assert check_reopened(folder, bits, policy, STORED[policy]) > 0 or policy in SILENT


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "channel"), [("noise_aware_klucb", LOCAL), ("ucb1", TREE), ("dp_thompson", TREE)])
def test_so_it_is_with_local_noise_and_with_noise_that_is_kept(folder, bits, policy, channel):
    assert check_reopened(folder, bits, policy, channel) > 5


@pytest.mark.slow
def test_noise_that_is_forgotten_is_found(folder, bits, monkeypatch):
    monkeypatch.setattr(session, "read_memory", lambda text, empty: empty)
    with pytest.raises(AssertionError, match="another study came back"):
        check_reopened(folder, bits, "ucb1", TREE)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("policy", ["contemporaneous_klucb", "thompson_sampling"])
def test_a_state_that_is_forgotten_is_found(folder, bits, monkeypatch, policy):
    def forgets(book: Book, dealt: Any) -> Driver:
        found, how = whole(book, dealt), book.protocol
        found.state = how.policy.init(how.k, how.aim)
        return found

    whole = Book.replay
    monkeypatch.setattr(Book, "replay", forgets)
    with pytest.raises((AssertionError, mb.errors.StoreError)):
        check_reopened(folder, bits, policy, CENTRAL)


# --- the engine -------------------------------------------------------------------------------------------------------


def check_as_the_engine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, delay: int, kind: Callable[..., Study] = Study
) -> int:
    """At the engine's releases a stored study asks for what the engine asks for, though it is opened again."""
    how = protocol(name, STORED[name], FEW, exposure="1 hour")
    engine, chance = Numbered(how.policy), Random(2)
    world = mb.Bernoulli([0.2, 0.8])
    assert interpreted(engine, how.channel, world, FEW, delay=Constant(delay)).status == DONE
    totals: list[float] = []
    monkeypatch.setattr(type(how.channel), "analyze", lambda *given, **more: totals.pop())
    stored, units, told, tickets = Stored(folder, how, kind), count(), 0, {}
    for what, *entry in engine.log:
        study = stored.study
        driver = study._session.driver
        while driver.deck.left and study.people < FEW:
            some = min(driver.deck.left, FEW - study.people)
            for given in stored.apply([("assign", f"{next(units)}") for _ in range(some)]):
                place = study._session.rows.place(given.ticket)
                tickets.setdefault(place.cohort, []).append(given.ticket)
        if driver.deck.left:
            break  # nobody is left for these places
        if what == "ask":
            asked = sum(each[0] == "ask" for each in driver.log)
            if entry[0] == asked:  # else it came with a deck
                stored.apply([(lambda session: session.driver.ask(),)])
            asks = [each for each in driver.log if each[0] == "ask"]
            assert asks[entry[0] : entry[0] + 1] == [(what, *entry)], f"the engine's decision was {entry}"
            continue
        arm, n, total = entry
        cohort = next(each for each in driver.deck.unreleased() if each.arm == arm and each.full)
        stored.apply([("expose", ticket) for ticket in tickets.pop(cohort.cohort)])
        stored.now += WINDOW + 1
        totals.append(total)
        (found,) = study.tick()
        assert (found.cohort, found.arm, found.n, found.total) == (cohort.cohort, arm, n, total)
        told += 1
        if chance.random() < 0.1:
            stored.open_again(dies=True)
    stored.study.close()
    return told


@pytest.mark.sparing(1)
@pytest.mark.parametrize("delay", [0, pytest.param(70, marks=pytest.mark.slow)])
@pytest.mark.parametrize("policy", slow_but(FAST[:3]))
def test_a_stored_study_decides_as_the_engine_at_its_releases(folder, monkeypatch, policy, delay):
    assert check_as_the_engine(folder, monkeypatch, policy, delay) > 0 or policy in SILENT


def test_another_decision_than_that_of_the_engine_is_found(folder, monkeypatch):
    monkeypatch.setattr("tests.study.test_driver_log.SEED", bytes(16))
    with pytest.raises(AssertionError, match="the engine's decision"):
        check_as_the_engine(folder, monkeypatch, "thompson_sampling", 0)


def test_every_policy_but_those_that_need_the_rewards_can_be_stored() -> None:
    assert set(MULTI_ARMED) - set(STORED) == {"capped_thompson", "dpucb_int", "gaussian_thompson"}
