"""What was erased is in no file of a SQLite database any more, looked for byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest

from maskedbandit.store import sqlite
from maskedbandit.store.connection import connect
from maskedbandit.store.sqlite import Sqlite
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


@pytest.mark.parametrize("released", [False, True])
def test_erased_data_is_in_no_file(tmp_path: Path, released: bool) -> None:
    assert erased(tmp_path, released) == []


@pytest.mark.parametrize("twin", ["deleted rows stay", pytest.param("the log stays", marks=pytest.mark.slow)])
def test_what_leaves_traces_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: str) -> None:
    if twin == "deleted rows stay":
        less = tuple(each for each in sqlite.SETTINGS if "secure_delete" not in each)
        assert len(less) < len(sqlite.SETTINGS)
        monkeypatch.setattr(sqlite, "SETTINGS", (*less, "secure_delete = OFF"))
    else:
        monkeypatch.setattr(Sqlite, "scrub", lambda self: True)
    assert erased(tmp_path, True) != []
