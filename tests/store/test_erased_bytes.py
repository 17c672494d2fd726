"""What was erased is in no file of a SQLite database any more, looked for byte by byte."""

import asyncio
import json
import struct
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from maskedbandit.service.host import scrubbing
from maskedbandit.store import erasure
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases import sqlite
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.databases.postgresql import Postgresql
from maskedbandit.store.databases.sqlite import Sqlite
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from maskedbandit.store.traces import Scrubber, has_traces
from tests.service.inside import inside
from tests.store.databases import fresh_postgresql
from tests.store.small_study import PROOF, WINDOW, Clock, small_protocol, small_study

PEOPLE = 300  # so many that pages of the tables were split, and balanced
MARK = "erased.event"  # before a number, in the names of events
REWARD = {"most": 4, "rule": "sum", "window": "20 seconds", "exposure": "10 seconds"}


def traces(folder: Path, marks: list[bytes]) -> list[str]:
    """The files that have one of these."""
    files = {path.name: path.read_bytes() for path in folder.glob("study.db*") if path.is_file()}
    assert files
    return [f"{mark!r} in {name}" for name, content in files.items() for mark in marks if mark in content]


def erased(folder: Path, released: bool, seed: int = 0) -> list[str]:
    """Traces of people who were erased, after each erasure; if there are none, at the end of the study."""
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
    reader = open_database(address)
    gone = rng.sample(sorted(marks), 1)[0]
    with reader.still():  # whoever reads an older state is in the way of emptying the log
        reader.rows("SELECT study FROM study")
        study.erase(gone)
    reader.close()
    assert traces(folder, marks[gone])
    assert Scrubber().scrub(study.database)
    if found := found + traces(folder, marks[gone]):
        study.close()
        return found
    study.stop()
    clock.now += 2 * WINDOW
    study.tick()
    study.archive()
    everybody = [mark for each in marks.values() for mark in each]
    found = traces(folder, everybody)
    study.close()
    return found + traces(folder, everybody)


@pytest.mark.parametrize("released", [pytest.param(False, marks=pytest.mark.slow), True])
def test_erased_data_is_in_no_file(tmp_path: Path, released: bool) -> None:
    assert erased(tmp_path, released) == []


ROOT = {"name": "tree", "counter": "root", "noise": "discrete_gaussian", "epsilon": 1, "length": 1000}
KARY = {"name": "tree", "epsilon": 1, "length": 1000}


def archive_sums(folder: Path, channel: dict[str, Any], value: float) -> tuple[str, str]:
    """What a channel kept of outcomes, the first of which is this one, and what is left of it in an archived study."""
    folder.mkdir()
    clock, budget = Clock(), {"epsilon": 20, "delta": "1/1000000"}
    protocol = small_protocol(channel=channel, policy="dpucb", budget=budget)
    study = small_study(f"sqlite:///{folder}/study.db", folder / "witness", clock, protocol)
    arms = list[int]()
    for i in range(20):
        given = study.assign(f"person {i}")
        if given.ticket is None:
            break
        study.expose(given.ticket)
        study.report(given.ticket, value if not arms else 1)
        arms.append(given.arm)
    clock.now += 2 * WINDOW
    assert study.tick()
    find = "SELECT memory FROM release ORDER BY step DESC LIMIT 1"
    before = str(study.database.rows(find)[0][0])
    mark = before[:120].encode()  # of all, which is in several pages
    assert traces(folder, [mark])
    study.stop()
    study.archive()
    assert traces(folder, [mark]) == []
    study.close()
    database = open_database(f"sqlite:///{folder}/study.db")
    with Study(database, find_witness(database, folder / "witness"), "small", clock, "tester") as again:
        assert again.state == "archived"
        verify_study(again.database, find_witness(again.database, folder / "witness"), "small")
        return before, str(again.database.rows(find)[0][0])


@pytest.mark.parametrize("channel", [ROOT, KARY], ids=["root", "kary"])
def test_what_a_channel_kept_of_sums_is_erased_with_a_study(tmp_path: Path, channel: dict[str, Any]) -> None:
    """Whoever has it takes the noise off what was released: it is the noise, or the sums themselves."""
    worlds = [archive_sums(tmp_path / str(value), channel, value) for value in (0, 1)]
    if channel is ROOT:
        sums = [sum(map(sum, json.loads(before)[1])) for before, _ in worlds]
        assert sums[1] == sums[0] + 1
    assert [left for _, left in worlds] == ["", ""]


def test_a_study_that_keeps_its_sums_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "forget_memories", lambda database, study: None)
    with pytest.raises(AssertionError):
        archive_sums(tmp_path / "kept", ROOT, 1)


def test_a_server_scrubs_the_files_also_of_studies_that_are_archived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was to be done when the process before it ended is done, and an erasure meanwhile is not forgotten."""
    monkeypatch.setattr(scrubbing, "REST", 0)
    address, clock = f"sqlite:///{tmp_path}/study.db", Clock()
    with small_study(address, tmp_path / "witness", clock) as study, monkeypatch.context() as patch:
        tickets = [study.assign(unit).ticket.encode() for unit in ("ann", "bob")]
        patch.setattr(Scrubber, "scrub", lambda self, database: False)
        study.erase("ann")
        study.stop()
        study.archive()
    assert traces(tmp_path, tickets)
    with inside(address, tmp_path / "witness", clock=clock) as service:
        for _ in range(3):
            service.tick(1)
            service.run(service.host.scrubbing.end())
        assert traces(tmp_path, tickets) == []
        database = open_database(address)
        assert not has_traces(database)
        database.close()


def test_what_is_erased_while_files_are_scrubbed_is_scrubbed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, clock = f"sqlite:///{tmp_path}/study.db", Clock()
    with small_study(address, tmp_path / "witness", clock) as study:
        study.assign("ann"), study.assign("bob")
        real = Sqlite.empty_log

        def meanwhile(self: Sqlite) -> bool:
            self.change("UPDATE study SET traces = traces + 1")
            return real(self)

        with monkeypatch.context() as patch:
            patch.setattr(Sqlite, "empty_log", meanwhile)
            study.erase("ann")
        assert has_traces(study.database)
        assert Scrubber().scrub(study.database)
        assert not has_traces(study.database)


def test_pages_are_written_anew_once_while_somebody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewritten, blocked = list[int](), [True]
    real = Sqlite.rewrite
    with small_study(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", Clock()) as study:
        study.assign("ann")
        study.apply([("erase", "ann")])
        monkeypatch.setattr(Sqlite, "rewrite", lambda self: (rewritten.append(1), real(self)))
        monkeypatch.setattr(Sqlite, "empty_log", lambda self: not blocked[0])
        scrubber = Scrubber()
        assert [scrubber.scrub(study.database) for _ in range(3)] == [False] * 3
        blocked[0] = False
        assert scrubber.scrub(study.database)
        assert len(rewritten) == 1
        assert study.erase("nobody") == 0
        assert len(rewritten) == 1


def nothing(self: Sqlite) -> bool:
    """Not done, and said to be."""
    return True


@pytest.mark.slow
@pytest.mark.parametrize("twin", ["rewrite", "empty_log"])
def test_what_leaves_traces_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: str) -> None:
    """Also if deleted rows are overwritten: pages that were split keep copies of them."""
    monkeypatch.setattr(sqlite, "SETTINGS", (*sqlite.SETTINGS, "secure_delete = ON"))
    monkeypatch.setattr(Sqlite, twin, nothing)
    found = []
    for seed in range(20):  # of tickets, which decide where pages are split, one in three leaves traces at least
        (folder := tmp_path / str(seed)).mkdir()
        found += erased(folder, True, seed)
        if found:
            break
    assert found


def test_samples_of_what_was_erased_are_not_kept(tmp_path: Path) -> None:
    """PostgreSQL keeps samples of columns for its planner, which whoever may read the table may read."""
    clock = Clock()
    with small_study(fresh_postgresql(), tmp_path / "witness", clock) as study:
        tickets = list[str]()
        for i in range(40):
            if ticket := study.assign(f"person {i}").ticket:
                study.expose(ticket)
                study.report(ticket, i % 2, f"{MARK}.{i}", proof=PROOF)
                tickets.append(ticket)
            elif i % 3 == 0:
                clock.now += 2 * WINDOW
                study.tick()
        salts = [salt for (salt,) in study.database.rows("SELECT salt FROM place")]
        study.database.script("ANALYZE")
        sampled = "SELECT COUNT(*) FROM pg_stats WHERE tablename = ? AND attname = ? AND n_distinct <> 0"
        assert study.database.rows(sampled, "reward", "ticket") == [(1,)]
        study.erase("person 0")
        assert not kept_in_samples(study.database, [tickets[0], *salts, MARK])
        study.stop()
        clock.now += 2 * WINDOW
        study.tick()
        study.archive()
        assert not kept_in_samples(study.database, [*tickets, *salts, MARK])


def kept_in_samples(database: Database, marks: list[str]) -> list[str]:
    """Which of these are in what PostgreSQL knows of its tables."""
    found = str(database.rows("SELECT most_common_vals::TEXT, histogram_bounds::TEXT FROM pg_stats"))
    return [mark for mark in marks if mark in found]


def test_what_is_interrupted_is_done_later(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that ends does not wait for a database that says nothing."""
    waiting, kinds = Event(), {"sqlite": Sqlite, "postgresql": Postgresql}
    kind: Any = kinds[address.partition(":")[0]]
    endless = {
        Sqlite: "WITH RECURSIVE more (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more) SELECT COUNT(*) FROM more",
        Postgresql: "SELECT PG_SLEEP(600)",
    }[kind]

    def silent(self: Database) -> None:
        waiting.set()
        self.rows(endless)

    with inside(address, tmp_path / "witness") as service:
        service.begin()
        service.assign("ann")
        with monkeypatch.context() as patch:
            patch.setattr(kind, "rewrite", silent)
            patch.setattr(scrubbing, "GRACE", 0)
            assert service.study("erase", {"unit": "ann"}, "officer").json == {"places": 1}
            service.tick(1)
            service.run(asyncio.to_thread(waiting.wait, 60))
            service.run(service.host.scrubbing.end())
        database = open_database(address)
        assert has_traces(database)
        assert Scrubber().scrub(database)
        database.close()
