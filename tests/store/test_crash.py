"""A study survives `kill -9`, at random moments under load and before and after every statement.

The checks are in crash_client.py, and each has a broken twin in crash_worker.py that it must reject.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.store.connection import connect
from tests.store.crash_client import PAUSE, START, STOP, Client, Nursery, client

UNDER_WAY = 256  # operations that wait for their acknowledgement
STEP = 2  # milliseconds of the study's clock between two operations


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


def load_table(number: int) -> dict[str, Any]:
    """A study under load: so little noise that a release tells whether a report was doubled, and not quite none."""
    return {
        "name": f"load{number}",
        "project": "load",
        "people": 10**6,
        "channel": {"name": "central", "epsilon": 224, "grid": 1000},
        "arms": [{"name": name} for name in "abcde"],
        "reward": {"most": 4, "rule": "sum", "window": "1 second", "exposure": "1 second"},
        "budget": {"epsilon": 3 * 224},
    }


class Load:
    """Clients that come, see, report up to three times, repeat themselves, contradict themselves, or go away."""

    def __init__(self, client: Client, rng: Random, kills: list[int]) -> None:
        self.client, self.rng, self.kills = client, rng, deque(kills)
        self.ready: deque[tuple[Any, ...]] = deque()
        self.gone: set[str] = set()  # people who were erased, or will be

    @property
    def acknowledged(self) -> int:
        """Operations of all studies."""
        return sum(each.acknowledged for each in self.client.histories)

    def study(self, number: int, operations: int) -> None:
        """One study, from its start to its stop."""
        self.client.new(load_table(number))
        came = [f"u{self.rng.randrange(12_000)}" for _ in range(operations)]
        self.ready, self.gone = deque([START]), set()
        for i in range(operations):
            self.client.send(*self._next(i, came[: i // 4 + 1], erases=number % 4 == 3))
            self.client.now += STEP
            while len(self.client.pending) >= UNDER_WAY:
                self._receive()
        while self.client.pending or self.ready:
            while self.ready:
                self.client.send(*self.ready.popleft())
            self._receive()
        self.client.now += 5000
        for operation in (("tick",), STOP, ("releases",)):
            self.client.do(*operation)

    def _next(self, i: int, came: list[str], erases: bool) -> tuple[Any, ...]:
        history, pending, chance = self.client.history, self.client.pending, self.rng.random()
        if i % 64 == 63:
            return ("tick",)
        if self.ready:
            return self.ready.popleft()
        unit = self.rng.choice(came) if chance < 0.12 else came[-1]
        if 0.1 < chance < 0.12 and erases and unit in history.latest and ("assign", unit) not in pending.values():
            self.gone.add(unit)
            return "erase", unit
        if chance < 0.3 and history.latest:
            ticket = history.latest[self.rng.choice(list(history.latest))]
            known = [(event, history.reports[ticket, event]) for event in "012" if (ticket, event) in history.reports]
            if known and history.people[ticket] not in history.erased:
                event, value = self.rng.choice(known)
                return "report", ticket, value + (self.rng.random() < 0.2), event
        return ("tick",) if unit in self.gone else ("assign", unit)  # which, if unknown, would be another place

    def _receive(self) -> None:
        if self.kills and self.acknowledged >= self.kills[0]:
            self.kills.popleft()
            time.sleep(self.rng.random() * 0.004)  # so that it dies anywhere in a transaction
            self.client.kill()
            self.client.retry()
        if self.client.pending:
            self.client.receive()
        for ticket in self.client.history.fresh:
            if self.rng.random() < 0.9:  # the others saw nothing
                self.ready.append(("expose", ticket))
                for i in range(self.rng.randrange(4)):
                    self.ready.append(("report", ticket, float(self.rng.random() < 0.7), str(i)))
        self.client.history.fresh.clear()


def run_load(nursery: Nursery, address: str, folder: Path, studies: int, operations: int, kills: int) -> Load:
    """So many studies, one after the other, in so many kills."""
    rng = Random(14)
    with client(nursery, address, folder) as made:
        load = Load(made, rng, sorted(rng.sample(range(10, studies * operations - UNDER_WAY), kills)))
        for number in range(studies):
            load.study(number, operations)
        for history in made.histories:
            made.check(history)
        assert made.kills == kills
    return load


def test_few_kills(nursery: Nursery, tmp_path: Path) -> None:
    load = run_load(nursery, f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", 2, 1000, 3)
    assert load.acknowledged >= 2000


@pytest.mark.slow
def test_forty_kills(nursery: Nursery, address: str, tmp_path: Path) -> None:
    load = run_load(nursery, address, tmp_path / "witness", 16, 5000, 40)
    assert load.acknowledged >= 80_000


# at every statement


def small_table(name: str) -> dict[str, Any]:
    """Two cohorts of two people, and noise by which two draws are as good as surely different."""
    return {
        "name": name,
        "people": 1000,
        "policy": {"name": "successive_elimination", "least": 2},
        "channel": {"name": "central", "epsilon": 0.001, "grid": 10**6},
        "arms": [{"name": name} for name in "ab"],
        "reward": {"window": "2 seconds", "exposure": "1 second"},
        "budget": {"epsilon": 1},
    }


def assigned(client: Client, unit: str) -> str:
    """The ticket of a person."""
    ticket = client.do("assign", unit)[1]
    assert ticket
    return str(ticket)


def prepared(client: Client, kind: str, name: str) -> tuple[Any, ...]:
    """A new study in which this operation does what it is to do."""
    client.new(small_table(name))
    if kind == "start":
        return START
    client.do(*START)
    if kind == "pause":
        return PAUSE
    if kind == "assign":
        return "assign", "ann"
    if kind in ("expose", "report"):
        ticket = assigned(client, "ann")
        if kind == "expose":
            return "expose", ticket
        client.do("expose", ticket)
        return "report", ticket, 1.0, ""
    for unit in ("ann", "bob", "cy", "dan"):
        ticket = assigned(client, unit)
        if kind != "return":
            client.do("expose", ticket)
            client.do("report", ticket, 1.0, "")
    if kind == "erase before a release":
        return "erase", "ann"
    client.now += 10_000
    if kind == "erase after a release":
        assert len(client.do("tick")) == 2
        return "erase", "ann"
    return ("tick",)


KINDS = (
    "start",
    "pause",
    "assign",
    "expose",
    "report",
    "return",
    "release",
    "erase before a release",
    "erase after a release",
)


def survives(client: Client, kind: str, stride: int = 1) -> int:
    """Kill an operation before and after each of its steps; how many steps it has."""
    steps = client.steps(*prepared(client, kind, f"{kind[:5]}-{kind[-7:]}".replace(" ", "-")))
    client.check()
    assert steps.count("commit") == 1
    assert ("replace" in steps[steps.index("commit") :]) == (kind in ("start", "pause", "release"))
    for number in range(0, len(steps), stride):
        for side in ("before", "after"):
            operation = prepared(client, kind, f"{client.history.name[:13]}-{number}-{side}")
            client.arm((number, side))
            client.send(*operation)
            client.bury()
            client.retry()
            client.check()
    return len(steps)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_kill_at_every_statement(nursery: Nursery, address: str, tmp_path: Path, kind: str) -> None:
    with client(nursery, address, tmp_path / "witness") as made:
        steps = survives(made, kind)
        assert made.kills == 2 * steps


def test_kill_at_some_statements(nursery: Nursery, tmp_path: Path) -> None:
    with client(nursery, f"sqlite:///{tmp_path}/study.db", tmp_path / "witness") as made:
        survives(made, "start", 4)


@pytest.mark.slow
def test_kill_at_every_statement_of_opening(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness") as made:
        prepared(made, "release", "opening")
        steps = made.steps_of_opening()
        for number in range(len(steps)):
            for side in ("before", "after"):
                made.bury_at_opening((number, side))
                made.retry()
        assert len(made.do("tick")) == 2
        made.check()
        assert made.kills == 2 * len(steps)


# broken twins, which the same check must reject


def retried_and_checked(made: Client) -> None:
    made.retry()
    made.check()


def test_a_report_that_is_acknowledged_before_the_commit_is_lost(
    nursery: Nursery, address: str, tmp_path: Path
) -> None:
    with client(nursery, address, tmp_path / "witness", "told before the commit") as made:
        operation = prepared(made, "report", "early")
        made.arm(("commit", "before"))
        made.send(*operation)
        made.bury()
        with pytest.raises(AssertionError, match="an acknowledged report was lost"):
            retried_and_checked(made)


def test_without_the_primary_key_a_retry_counts_twice(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness", "rewards without a key") as made:
        operation = prepared(made, "report", "keyless")
        made.arm(("commit", "after"))
        made.send(*operation)
        made.bury()
        made.retry()
        with pytest.raises(AssertionError, match="a report counts twice"):
            made.check()


def test_a_release_that_is_published_before_the_commit_is_drawn_again(
    nursery: Nursery, address: str, tmp_path: Path
) -> None:
    with client(nursery, address, tmp_path / "witness", "published before the commit") as made:
        operation = prepared(made, "release", "early")
        made.arm(("commit", "before"))
        made.send(*operation)
        made.bury()
        assert len(made.history.releases) == 2
        with pytest.raises(AssertionError, match="a release was drawn again"):
            made.retry()


def killed_then_late(made: Client) -> None:
    """A release is killed before its commit; a report comes, by a clock that is behind; the release is made again."""
    prepared(made, "erase before a release", "late")
    made.now += 10_000
    made.arm(("commit", "before"))
    made.send("tick")
    made.bury()
    made.now -= 10_000
    made.retry()
    late = next(iter(made.history.people))
    made.do("report", late, 0.0, "late")
    made.now += 10_000
    made.do("tick")
    made.check()


def test_noise_is_not_repeated_when_a_cohort_was_not_sealed(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness") as made:
        killed_then_late(made)
        assert len(made.history.releases) == 2


def test_noise_from_a_seed_tells_a_late_report_exactly(nursery: Nursery, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/study.db"
    with client(nursery, address, tmp_path / "witness", "noise from a seed") as made:
        with pytest.raises(AssertionError, match="a release was drawn again"):
            killed_then_late(made)
        with pytest.raises(AssertionError, match="a release was drawn again"):
            made.drain()  # it told the other one before the commit, and again after it
        database = connect(address)
        after = dict(database.rows("SELECT cohort, total FROM release"))
        database.close()
        changes = sorted(after[cohort] - total for cohort, (_, _, total) in made.history.releases.items())
        assert changes == pytest.approx([-1, 0], abs=1e-6)


def test_places_that_are_known_in_memory_alone_are_dealt_twice(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness", "places in memory") as made:
        prepared(made, "assign", "memory")
        assigned(made, "ann")
        made.kill()
        made.retry()
        made.check()
        for unit in ("bob", "cy", "dan", "eve"):
            assigned(made, unit)
        with pytest.raises(AssertionError, match="a place was dealt twice"):
            made.check()


def test_a_refund_of_a_place_that_was_shown_is_found(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness", "refund on abort") as made:
        operation = prepared(made, "return", "refund")
        made.check()
        made.do(*operation)
        with pytest.raises(AssertionError, match="an account has ε = 0, and its charges are"):
            made.check()
