"""Who counts as one of a study's people: whoever has a place, once, however often the application asks."""

import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.store import erasure
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.book.witness import Pseudonyms
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.members import Member, read_members
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from tests.for_each import for_each
from tests.store.small_study import EXPOSURE, WINDOW, Clock, small_protocol, small_study


class Small:
    """A study of eight people, each of whom is a cohort, and its clock."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.address, self.folder, self.clock = f"sqlite:///{folder}/study.db", folder / "witness", Clock()
        protocol = small_protocol(**({"people": 8, "policy": "ucb1"} | changes))
        self.study = small_study(self.address, self.folder, self.clock, protocol)

    def ticket(self, unit: str) -> str | None:
        return self.study.assign(unit).ticket

    def released(self) -> int:
        self.clock.now += WINDOW + 1
        return len(self.study.tick())


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Small]:
    found = Small(tmp_path)
    yield found
    found.study.close()


def test_whoever_reloads_while_it_is_paused_takes_nobodys_place(small: Small) -> None:
    small.study.pause()
    for _ in range(8):
        assert small.ticket("ann") is None
    small.study.resume()
    assert small.study.people == 0
    assert small.ticket("bob")


def test_whoever_reloads_while_a_release_is_awaited_takes_nobodys_place(tmp_path: Path) -> None:
    """The first two cohorts have four places; with so little noise their means are the same."""
    little = {"channel": {"name": "central", "epsilon": 100}, "budget": {"epsilon": 100}}
    small = Small(tmp_path, people=40, policy={"name": "successive_elimination", "least": 2}, **little)
    tickets = [small.ticket(f"person {i}") for i in range(4)]
    for ticket in tickets:
        small.study.expose(ticket)
    for _ in range(40):
        assert small.ticket("eve") is None
    assert small.study.people == 4
    assert small.released() == 2
    assert small.ticket("eve")
    assert small.study.people == 5
    small.study.close()


def test_a_retry_counts_nobody(small: Small) -> None:
    assert len({small.ticket("ann") for _ in range(9)}) == 1
    assert small.study.people == 1


def test_as_many_as_planned_keep_a_place(small: Small) -> None:
    """One never sees the arm, so the place goes back, and the last cohort is released with another person."""
    tickets = [small.ticket(f"person {i}") for i in range(8)]
    for ticket in tickets[1:]:
        small.study.expose(ticket)
    assert small.ticket("another") is None
    small.clock.now += EXPOSURE + 1
    assert small.study.tick() == []
    assert small.study.people == 7
    small.study.expose(small.ticket("another"))
    assert small.ticket("one more") is None
    assert small.study.people == 8
    assert small.released() == 8


def test_a_study_that_counted_all_who_asked_goes_on(small: Small) -> None:
    """Its database says that all have come; how many have a place is counted again when it is opened."""
    for i in range(3):
        small.ticket(f"person {i}")
    small.study.close()
    database = open_database(small.address)
    with database.transaction():
        database.change("UPDATE study SET people = 8 WHERE study = 'small'")
    small.study = Study(database, find_witness(database, small.folder), "small", small.clock, "tester")
    assert small.study.people == 3
    assert small.ticket("bob")
    assert small.study.database.rows("SELECT people FROM study") == [(4,)]


def test_a_stage_is_planned_for_those_who_may_still_get_a_place(small: Small) -> None:
    """And not for fewer, because somebody reloaded."""
    for i in range(5):
        small.ticket(f"person {min(i, 2)}")
    small.study.pause()
    for _ in range(9):
        small.ticket("eve")
    assert small.study.people == 3
    small.study.change_arms("add", "c")
    assert next(each[1] for each in small.study._session.driver.log if each[0] == "stage") == 8 - 3


def test_to_archive_reads_each_cohort_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it read the cohort of each person, an archive of many would keep all other studies waiting."""
    small, read = Small(tmp_path, people=40, policy={"name": "successive_elimination", "least": 10}), list[int]()
    for i in range(20):
        small.study.expose(small.ticket(f"person {i}"))
    assert small.released() == 2

    def counted(database: Database, study: str, cohort: int) -> list[Member]:
        read.append(cohort)
        return read_members(database, study, cohort)

    monkeypatch.setattr(erasure, "read_members", counted)
    assert small.study.erase("person 0") == 1
    small.study.stop()
    small.study.archive()
    assert sorted(read[1:]) == [0, 1]
    database = open_database(small.address)
    assert database.rows("SELECT COUNT(*) FROM place WHERE person IS NOT NULL OR leaf IS NULL") == [(0,)]
    verify_study(database, find_witness(database, small.folder), "small")
    database.close()
    small.study.close()


@for_each("unit", ["", "ann", "日本", "x" * 63, "x" * 64, "x" * 1000])
def test_a_pseudonym_is_a_keyed_hash(unit: str) -> None:
    for key in (bytes(32), bytes(range(32)), bytes(64)):
        expected = hmac.digest(key, unit.encode(), "sha256")[:16].hex()
        names = Pseudonyms(key)
        assert [names.of(unit), names.of(unit)] == [expected] * 2


def test_whoever_was_erased_was_charged_all_the_same(small: Small) -> None:
    """So what `verify` counts does not tell how many were erased."""
    for unit in ("ann", "bob", "eve"):
        assert small.ticket(unit)
    assert verify_study(small.study.database, find_witness(small.study.database, small.folder), "small").people == 3
    small.study.erase("ann")
    assert verify_study(small.study.database, find_witness(small.study.database, small.folder), "small").people == 3
    small.study.erase("bob")
    assert verify_study(small.study.database, find_witness(small.study.database, small.folder), "small").people == 3
