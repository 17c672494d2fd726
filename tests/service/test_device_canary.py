"""An outcome that stands out is nowhere at a service to which devices report: in no file, no log, no part of memory."""

import struct
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from maskedbandit.device import Agreed, Device
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import write_pairing
from maskedbandit.store.studies import find_witness
from tests.service.inside import TABLE
from tests.service.live import Live
from tests.store.two_operators import CHANNEL, Helper, name_operators

CANARY = 0.873194265172638
MARKS = (b"873194265172638", struct.pack("<d", CANARY), struct.pack(">d", CANARY), str(Fraction(CANARY)).encode())
PATIENT = {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour"}
HINT = "a payload that is surely in memory"


def read_memory(process: int) -> Iterator[bytes]:
    """All parts of the memory of a process that can be read and written."""
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in maps:
            where, mode, *_ = line.split()
            if not mode.startswith("rw") or "[vvar" in line:
                continue
            begin, end = (int(each, 16) for each in where.split("-"))
            memory.seek(begin)
            try:
                yield memory.read(end - begin)
            except OSError:
                continue


def is_in_memory(process: int, *marks: bytes) -> bool:
    """Whether one of these is in the memory of a process."""
    return any(mark in part for part in read_memory(process) for mark in marks)


def read_files(folder: Path) -> bytes:
    """All that is in a folder."""
    return b"".join(each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is a file on Linux alone")
def test_an_outcome_is_nowhere_at_the_leader(server: Live, tmp_path_factory: pytest.TempPathFactory) -> None:
    helper = Helper()
    with closing(open_database(server.address)) as database:
        own = read_own_keys(find_witness(database, server.witness))
        with database.transaction():
            write_pairing(database, helper.keys, "helper", "University", "http://127.0.0.1:1", "secret", 0)
    arms = [{"name": "a", "payload": {"text": HINT}}, {"name": "b"}]
    operators = name_operators(own, helper.keys)
    table = {"channel": CHANNEL | {"grid": 10**6}, "reward": PATIENT, "operators": operators, "arms": arms}
    server.start_study(TABLE | table)
    people, devices = tmp_path_factory.mktemp("people"), []
    for i in range(5):
        place = server.study("assign", {"unit": f"person {i}"}).json["device"]
        if place is None:
            continue
        assert server.study("expose", {"ticket": place["ticket"]}).status == 200
        device = Device(people / str(i), server.url, Agreed(1, (own.fingerprint, helper.keys.fingerprint)))
        device.consent(True)
        device.join(place)
        assert device.record("small", CANARY)
        device.contact()
        assert [each.answer for each in device.show()[0].sent] == ["stored", "stored"]
        devices.append(device)
    for device in devices:
        device.close()
    check_marks(server, people)


def check_marks(server: Live, people: Path) -> None:
    """Raise unless the outcome is on the devices, and nowhere at the service; what is at both is found at both."""
    assert server.process is not None
    assert is_in_memory(server.process.pid, HINT.encode())
    assert not is_in_memory(server.process.pid, *MARKS)
    assert server.end() == 0
    stored = read_files(server.folder) + server.said().encode()
    assert HINT.encode() in stored
    assert not [mark for mark in MARKS if mark in stored]
    assert [mark for mark in MARKS if mark in read_files(people)]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is a file on Linux alone")
def test_under_local_trust_an_outcome_is_nowhere_at_the_service(
    server: Live, tmp_path_factory: pytest.TempPathFactory
) -> None:
    people = tmp_path_factory.mktemp("people")
    channel, arms = {"name": "local", "epsilon": 1, "grid": 10**6}, [{"name": "a", "payload": HINT}, {"name": "b"}]
    server.start_study(TABLE | {"channel": channel, "reward": PATIENT | {"rule": "first"}, "arms": arms})
    for i in range(4):
        late = [0.0]  # the device's clock is set forward, and the window is over there
        device = Device(
            people / str(i),
            server.url,
            Agreed(1),
            key=server.keys["client"],
            clock=lambda late=late: time.time() + late[0],
        )
        device.consent(True)
        assert device.assign("small", f"person {i}", "").why == ""
        assert device.expose("small")
        assert device.record("small", CANARY)
        late[0] = 3600.0
        device.contact()
        assert [each.answer for each in device.show()[0].sent] == ["accepted"]
        device.close()
    check_marks(server, people)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is a file on Linux alone")
def test_an_outcome_in_the_clear_is_found(server: Live) -> None:
    """The same search finds one at a leader that sees outcomes."""
    server.start_study(TABLE | {"reward": {"window": "1 hour", "exposure": "1 hour"}})
    ticket = server.study("assign", {"unit": "ann"}).json["ticket"]
    server.study("expose", {"ticket": ticket})
    assert server.study("report", {"ticket": ticket, "value": CANARY}).status == 200
    assert server.process is not None
    in_memory = is_in_memory(server.process.pid, *MARKS)
    server.end()
    assert in_memory
    assert any(mark in read_files(server.folder) for mark in MARKS)
