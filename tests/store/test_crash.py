"""A study survives `kill -9` at random moments under load.

The checks are in crash_history.py; test_crash_steps.py has a mutant for each, that it must reject.
"""

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.store.crash_client import START, STOP, Client, Nursery, client

UNDER_WAY = 256  # operations that wait for their acknowledgement
STEP = 3  # milliseconds of the study's clock between two operations


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
            self.client.send(*self._next(i, came[: i // 4 + 1], erases=number % 2 == 1))
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
    assert sum(len(each.releases) for each in load.client.histories) >= 5


@pytest.mark.slow
def test_forty_kills(nursery: Nursery, address: str, tmp_path: Path) -> None:
    """One in about 400 operations."""
    load = run_load(nursery, address, tmp_path / "witness", 8, 2000, 40)
    assert load.acknowledged >= 16_000
    assert sum(len(each.releases) for each in load.client.histories) >= 50
