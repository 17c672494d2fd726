"""What was erased is in no file of a SQLite database any more, looked for byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.store import sqlite
from maskedbandit.store.connection import connect
from maskedbandit.store.sqlite import Sqlite
from maskedbandit.store.studies import witness_of
from maskedbandit.store.study import Study
from tests.store.databases import fresh_postgresql
from tests.store.small_study import WINDOW, Clock, small_protocol, small_study

PEOPLE = 300  # so many that pages of the tables were split, and balanced
MARK = "erased.event"  # before a number, in the names of events
REWARD = {"most": 4, "rule": "sum", "window": "20 seconds", "exposure": "10 seconds"}


def traces(folder: Path, marks: list[bytes]) -> list[str]:
    """The files that have one of these."""
    files = [path for path in folder.glob("study.db*") if path.is_file()]
    assert files
    return [f"{mark!r} in {path.name}" for path in files for mark in marks if mark in path.read_bytes()]


def erased(folder: Path, released: bool, seed: int = 0) -> list[str]:
    """Traces of people who were erased, after each erasure and once the database is closed."""
    rng, clock, found = Random(seed), Clock(), list[str]()
    address = f"sqlite:///{folder}/study.db"
    study = small_study(address, folder / "witness", clock, small_protocol(reward=REWARD))
    marks: dict[str, list[bytes]] = {}
    for i in range(PEOPLE):
        given = study.assign(f"person {i}")
        if given.ticket is None:
            clock.now += 2 * WINDOW
            study.tick()
            continue
        study.expose(given.ticket)
        clock.now += 1
        values = [round(rng.uniform(0, 4), 12) for _ in range(2)]
        for j, value in enumerate(values):
            study.report(given.ticket, value, f"{MARK}.{i}.{j}.")
        events = [f"{MARK}.{i}.{j}.".encode() for j in range(2)]
        salt = study.database.rows("SELECT salt FROM place WHERE ticket = ?", given.ticket)[0][0]
        numbers = [struct.pack(">d", value) for value in values]
        marks[f"person {i}"] = [given.ticket.encode(), salt.encode(), *events, *numbers]
    if released:
        clock.now += 2 * WINDOW
        study.tick()
    assert len(marks) > PEOPLE / 4
    for unit in rng.sample(sorted(marks), 5):
        assert traces(folder, marks[unit])  # this is how it is stored
        assert study.erase(unit) == 1
        found += traces(folder, marks[unit])
    reader = connect(address)
    gone = rng.sample(sorted(marks), 1)[0]
    with reader.still():  # whoever reads an older state is in the way of emptying the log
        reader.rows("SELECT study FROM study")
        study.erase(gone)
    study.tick()
    reader.close()
    found += traces(folder, marks[gone])
    study.stop()
    clock.now += 2 * WINDOW
    study.tick()
    study.archive()
    everybody = [mark for each in marks.values() for mark in each]
    found += traces(folder, everybody)
    study.close()
    return found + traces(folder, everybody)


@pytest.fixture(autouse=True)
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are scrubbed after each erasure."""
    monkeypatch.setattr("maskedbandit.store.traces.REST", 0)


@pytest.mark.parametrize("released", [False, True])
def test_erased_data_is_in_no_file(tmp_path: Path, released: bool) -> None:
    assert erased(tmp_path, released) == []


def test_a_study_that_was_killed_scrubs_its_files_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, clock = f"sqlite:///{tmp_path}/study.db", Clock()
    study = small_study(address, tmp_path / "witness", clock)
    ticket = study.assign("ann").ticket
    assert ticket
    with monkeypatch.context() as patch:
        patch.setattr(Sqlite, "scrub", lambda self: False)
        study.erase("ann")
    assert traces(tmp_path, [ticket.encode()])
    other = Study(connect(address), witness_of(connect(address), tmp_path / "witness"), "small", clock, "tester")
    assert traces(tmp_path, [ticket.encode()]) == []
    other.close()


def only_the_log(database: Sqlite) -> bool:
    """Deleted rows are overwritten, and the log is emptied: pages that were split keep copies."""
    database._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return True


def only_the_pages(database: Sqlite) -> bool:
    """Pages are written anew, and the log has the old ones."""
    database._connection.execute("VACUUM")
    return True


@pytest.mark.slow
@pytest.mark.parametrize("twin", [only_the_log, only_the_pages])
def test_what_leaves_traces_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: Any) -> None:
    monkeypatch.setattr(sqlite, "SETTINGS", (*sqlite.SETTINGS, "secure_delete = ON"))
    monkeypatch.setattr(Sqlite, "scrub", twin)
    found = []
    for seed in range(20):  # of tickets, which decide where pages are split, one in three leaves traces at least
        (folder := tmp_path / str(seed)).mkdir()
        found += erased(folder, True, seed)
        if found:
            break
    assert found


def test_a_server_is_asked_to_free_the_space_of_what_was_erased(tmp_path: Path) -> None:
    with small_study(fresh_postgresql(), tmp_path / "witness", Clock()) as study:
        study.assign("ann")
        study.erase("ann")
        _, vacuum = study.database._vacuuming
        vacuum.join(60)
        count = "SELECT COUNT(*), PG_SLEEP(0.05) FROM pg_stat_user_tables WHERE vacuum_count > 0"
        tables = (study.database.rows(count)[0][0] for _ in range(1200))  # it says so a little later
        assert next(found for found in tables if found) == 3
