"""An outcome that stands out is nowhere at a service and its shuffler: in no file, no log, no answer, no memory.

Nor is who sent what: the service has no envelope and no message before the mix, and the shuffler no ticket and no name.
"""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskedbandit.device import Agreed, Device
from maskedbandit.shuffle.envelopes import name_person
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.traces import Scrubber
from tests.service.inside import TABLE
from tests.service.live import COMMAND, Live
from tests.service.shuffler_journal import ShuffledJournal
from tests.service.test_device_canary import CANARY, HINT, MARKS, PATIENT, is_in_memory, read_files
from tests.service.test_javascript import wait_for_releases
from tests.service.test_two_operators_kills import make_operator, pair

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is a file on Linux alone"),
]
DELTA, PEOPLE, HOUR = "1/100000", 6, 3600
STUDY: dict[str, Any] = {
    "policy": {"name": "successive_elimination", "least": PEOPLE // 2},
    "channel": {
        "name": "split_and_mix",
        "epsilon": 1,
        "eta": "1/1000000",
        "honest": "2/3",
        "grid": 10**6,
        "backend": "shuffler",
    },
    "reward": PATIENT,
    "budget": {"epsilon": 1, "delta": DELTA},
    "arms": [{"name": "a", "payload": {"text": HINT}}, {"name": "b"}],
}


class ListeningTransport(httpx.BaseTransport):
    """Carries what a device sends, and keeps the bodies."""

    def __init__(self, kept: list[tuple[str, bytes]]) -> None:
        self.kept, self.inner = kept, httpx.HTTPTransport(trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of whom it is sent to."""
        self.kept.append((request.url.path.rpartition("/")[2], request.read()))
        return self.inner.handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        self.inner.close()


class Canaries:
    """A service and a shuffler, as processes, and people whose outcome is the canary."""

    def __init__(self, folder: Path, mutant: str = "") -> None:
        self.folder, self.turned, self.sent, self.hours = folder, folder / "turned", list[tuple[str, bytes]](), 0
        turned = ("-m", "tests.service.turned_server", str(self.turned), "serve")
        mutated = ("-m", "tests.service.mutant_server", mutant, "serve") if mutant else COMMAND
        self.service = make_operator(folder / "service", None, turned)
        self.shuffler = make_operator(folder / "shuffler", None, mutated)
        self.devices, self.tickets = list[Device](), list[str]()

    def begin(self) -> None:
        """Begin both, and the study."""
        operators = pair(self.service, self.shuffler, ShuffledJournal.second)
        self.fingerprints = operators["leader"]["key"], operators["helper"]["key"]
        self.service.start_study(TABLE | STUDY | {"operators": operators})

    def come(self, unit: str) -> None:
        """A person comes, and has the outcome."""
        place = self.service.study("assign", {"unit": unit}).json["device"]
        assert self.service.study("expose", {"ticket": place["ticket"]}).status == 200
        device = Device(
            self.folder / "people" / unit,
            self.service.url,
            Agreed(1, self.fingerprints, delta=DELTA),
            clock=lambda: time.time() + HOUR * self.hours,
            transport=lambda: ListeningTransport(self.sent),
        )
        device.consent(True)
        device.join(place)
        assert device.record("small", CANARY)
        self.devices.append(device)
        self.tickets.append(place["ticket"])

    def report(self) -> None:
        """The windows are over, and all devices report; the shuffler waits for the service."""
        self.turn_clock(1)
        for device in self.devices:
            for _ in range(1000):  # the shuffler hears of the study from the service, within a second
                device.contact()
                if [each.answer for each in device.show()[0].sent] == ["stored"]:
                    break
            else:
                raise AssertionError("the shuffler takes no report")

    def turn_clock(self, hours: int) -> None:
        """So many hours are over since the begin."""
        self.hours = hours
        new = self.turned.with_suffix(".new")
        new.write_text(str(hours))
        new.rename(self.turned)  # whoever reads the file reads all of it

    @property
    def envelopes(self) -> list[bytes]:
        """What was sent to the shuffler, as base64: what is sent again is the same."""
        found = [re.search(rb'"sealed":"([^"]+)"', body) for path, body in self.sent if path == "bundle"]
        return list(dict.fromkeys(each[1] for each in found if each))

    @property
    def messages(self) -> list[bytes]:
        """The encrypted messages of all people that wait at the shuffler, in hexadecimal, bundle by bundle."""
        with closing(open_database(self.shuffler.address)) as database:
            return [messages.encode() for (messages,) in database.rows("SELECT messages FROM bundle")]

    def close(self) -> None:
        """End all of them."""
        for device in self.devices:
            device.close()
        for each in (self.service, self.shuffler):
            each.abandon()


def listen(server: Live) -> bytes:
    """All that a process answers to whoever asks for all that there is, with any key."""
    paths = [
        path for path, asked in server.ask("GET", "/openapi.json", key=None).json["paths"].items() if "get" in asked
    ]
    assert len(paths) > 5
    found = list[bytes]()
    for path in ("/", "/metrics", "/healthz", "/readyz", *paths):
        if not path.endswith("/events"):
            for key in (None, *server.keys):
                given = server.ask("GET", path.format(study="small", cohort=0, key="small"), None, key)
                found.append(str(given.headers).encode() + given.body)
    return b"".join(found)


def read_stored(server: Live) -> bytes:
    """All that is in the files of a process that has ended, once those were scrubbed, and all that it wrote."""
    with closing(open_database(server.address)) as database:
        assert Scrubber().scrub(database)
    return read_files(server.folder) + server.said().encode()


def find(where: bytes, *marks: bytes) -> list[bytes]:
    """Which of these are there."""
    return [mark for mark in marks if mark in where]


@pytest.fixture
def canaries(tmp_path: Path) -> Iterator[Canaries]:
    made = Canaries(tmp_path)
    yield made
    made.close()


def check_no_canary(canaries: Canaries) -> None:
    """Raise unless each of both has no outcome, and nothing that joins a person with a message."""
    canaries.begin()
    units = [f"canary-{i}" for i in range(PEOPLE)]
    for unit in units:
        canaries.come(unit)
    canaries.report()
    service, shuffler = canaries.service, canaries.shuffler
    assert service.process is not None
    assert shuffler.process is not None
    tickets, bundles, envelopes = [each.encode() for each in canaries.tickets], canaries.messages, canaries.envelopes
    people = [name_person(each).hex().encode() for each in canaries.tickets]
    assert len(envelopes) == len([each for each in bundles if each]) == PEOPLE
    raw = [bytes.fromhex(each.decode()) for each in bundles]
    of_people = [*tickets, *(each.encode() for each in units)]
    # what must be found, where it must be
    assert is_in_memory(service.process.pid, HINT.encode())
    assert is_in_memory(shuffler.process.pid, *people)
    # and what must not
    assert not is_in_memory(service.process.pid, *MARKS, *envelopes, *bundles, *raw)
    assert not is_in_memory(shuffler.process.pid, *MARKS, *of_people)
    heard = listen(service), listen(shuffler)
    assert find(heard[0], HINT.encode())
    canaries.turn_clock(3)
    wait_for_releases(service, 2, "small")
    assert not is_in_memory(service.process.pid, *MARKS, *envelopes)
    assert not is_in_memory(shuffler.process.pid, *MARKS, *of_people)
    heard = heard[0] + listen(service), heard[1] + listen(shuffler)
    assert (service.end(), shuffler.end()) == (0, 0)
    said = shuffler.said().encode()
    assert not find(said + heard[1], *people, *envelopes, *bundles), "the shuffler says who sent what"
    stored = read_stored(service), read_stored(shuffler)
    assert find(stored[0], HINT.encode(), *tickets) == [HINT.encode(), *tickets]
    assert not find(stored[0] + heard[0], *MARKS, *envelopes, *bundles, *raw, *people)
    assert not find(stored[1] + heard[1], *MARKS, *of_people, *envelopes, *bundles, *raw, *people)
    assert find(read_files(canaries.folder / "people"), *MARKS)


def test_an_outcome_is_nowhere_at_a_service_and_its_shuffler(canaries: Canaries) -> None:
    check_no_canary(canaries)


def test_a_shuffler_that_writes_down_who_sends_is_found(tmp_path: Path) -> None:
    with closing(Canaries(tmp_path, "writes down who sends")) as made, pytest.raises(AssertionError, match="who sent"):
        check_no_canary(made)
