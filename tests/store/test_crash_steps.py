"""A study survives `kill -9` before and after every statement, COMMIT and write of the witness.

After a step is before the next one: what is on disk, and what the client was told, are the same.

The checks are in crash_history.py, and each has a mutant in crash_mutants.py that it must reject.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import Corrupted
from maskedbandit.store.databases.connection import open_database
from tests.store.crash_client import PAUSE, START, Client, Nursery, client


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


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


def prepared(client: Client, kind: str, name: str, **more: Any) -> tuple[Any, ...]:
    """A new study in which this operation does what it is to do."""
    client.new(small_table(name) | more)
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


def ends(steps: int, stride: int = 1) -> list[tuple[int, str]]:
    """Before each of so many steps, or some of them, and after the last."""
    return [*((number, "before") for number in range(0, steps, stride)), (steps - 1, "after")]


def survives(client: Client, kind: str, stride: int = 1) -> int:
    """Kill an operation before each of its steps and after the last; how many steps it has."""
    steps = client.steps(*prepared(client, kind, f"{kind[:5]}-{kind[-7:]}".replace(" ", "-")))
    client.check()
    assert steps.count("commit") == 1
    assert ("replace" in steps[steps.index("commit") :]) == (kind in ("start", "pause", "release"))
    for number, side in ends(len(steps), stride):
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
        assert made.kills == steps + 1


def test_kill_at_some_statements(nursery: Nursery, tmp_path: Path) -> None:
    with client(nursery, f"sqlite:///{tmp_path}/study.db", tmp_path / "witness") as made:
        survives(made, "start", 4)


@pytest.mark.slow
def test_kill_at_every_statement_of_opening(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness") as made:
        prepared(made, "release", "opening")
        steps = made.steps_of_opening()
        for at in ends(len(steps)):
            made.bury_at_opening(at)
            made.retry()
        assert len(made.do("tick")) == 2
        made.check()
        assert made.kills == len(steps) + 1


# mutants, which the same check must reject


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
        database = open_database(address)
        after = dict(database.rows("SELECT cohort, total FROM release"))
        database.close()
        changes = sorted(after[cohort] - total for cohort, (_, _, total) in made.history.releases.items())
        assert changes == pytest.approx([-1, 0], abs=1e-6)


def exact_release(made: Client) -> None:
    """A release with so little noise that it tells what was added up."""
    channel, reward = (
        {"name": "central", "epsilon": 224, "grid": 1000},
        {"most": 4, "rule": "sum", "window": "2 seconds"},
    )
    operation = prepared(made, "release", "exact", channel=channel, reward=reward, budget={"epsilon": 224})
    assert len(made.do(*operation)) == 2
    made.check()


def test_a_release_tells_what_was_reported(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness") as made:
        exact_release(made)


def test_a_release_tells_whether_a_report_was_added_up_twice(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with (
        client(nursery, address, tmp_path / "witness", "reports added up twice") as made,
        pytest.raises(AssertionError, match="was reported"),
    ):
        exact_release(made)


@pytest.mark.sparing(1)
def test_a_release_that_is_not_in_the_ledger_is_found(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness", "releases without an entry") as made:
        operation = prepared(made, "release", "unlisted")
        made.check()
        made.do(*operation)
        with pytest.raises(Corrupted, match="is not in the ledger"):
            made.check()


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_refund_of_a_place_that_was_shown_is_found(nursery: Nursery, address: str, tmp_path: Path) -> None:
    with client(nursery, address, tmp_path / "witness", "refund on abort") as made:
        operation = prepared(made, "return", "refund")
        made.check()
        made.do(*operation)
        with pytest.raises(AssertionError, match="an account has ε = 0, and its charges are"):
            made.check()
