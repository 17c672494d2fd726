"""A service whose devices add up by themselves, killed at random: nothing is lost, doubled, drawn again or dealt twice.

The devices are opened anew at random, too. They add no noise, and the outcome at place k of a cohort is 2^k or none: so
a release says whose outcomes are in it.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from os import urandom
from pathlib import Path
from random import Random
from sqlite3 import Connection
from threading import Lock
from typing import Any, NamedTuple

import httpx
import pytest

from maskedbandit.device import Agreed, Device, adding_up
from maskedbandit.device.booked_place import BookedPlace
from maskedbandit.device.contacts import ENDS
from maskedbandit.device_refusals import Unreachable
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.kept_round import MASKING, RoundDue
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.service.adding_devices import read_place_of
from tests.service.live import Live
from tests.service.test_device_rounds_to_the_answer import check_dealt
from tests.service.test_two_operators_kills import wait_for

KILLS, PEOPLE_AT_ONCE, SIZE = 5, 2, 8
MOST = 2 ** (SIZE - 1)  # outcome
TABLE: dict[str, Any] = {
    "name": "killed",
    "people": 10**6,
    "policy": {"name": "successive_elimination", "least": SIZE, "base": 1.000001, "failure": 1e-200},
    "channel": {
        "name": "distributed",
        "epsilon": 1,
        "grid": MOST,
        "honest": "1/2",
        "backend": {"name": "secagg", "corrupted": "1/10", "smallest": 4},
    },
    "arms": [{"name": name} for name in "ab"],
    "reward": {"window": "1 second", "exposure": "3 seconds", "most": MOST},
    "rounds": {"wait": "10 minutes"},  # so that nobody is lost
    "budget": {"epsilon": 1},
}


class KilledPerson(NamedTuple):
    """A person with a place, and what the device keeps."""

    device: Device
    unit: str
    cohort: int
    position: int
    value: int

    @property
    def has_place(self) -> bool:
        """Whether the service has said in time that it knows that the arm was seen: else the place went to another."""
        assert self.device._book is not None
        (booked,) = self.device._book.places()
        return booked.told and booked.ended not in ENDS


class KilledDevices:
    """Devices that are in contact with a service that is killed, and what they sent."""

    def __init__(self, service: Live, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.service, self.folder, self.over, self.came = service, folder, False, 0
        self.answered, self.wrong = 0, list[BaseException]()
        self.people: dict[str, KilledPerson] = {}  # by unit
        self.drawn = Counter[tuple[str, int]]()  # noise shares, by ticket and attempt
        self.sent: dict[tuple[str, int, int], set[bytes]] = {}  # by ticket, attempt and phase
        self.seen = dict[int, float]()  # releases
        self._lock = Lock()
        patch.setattr(adding_up, "draw_noise_share", lambda noise, bits: 0)
        patch.setattr(adding_up, "join_round", partial(self._join, adding_up.join_round))
        patch.setattr(adding_up, "answer_due", partial(self._answer, adding_up.answer_due))

    def _join(self, real: Any, connection: Connection, booked: BookedPlace, terms: Any) -> None:
        real(connection, booked, terms)
        self.drawn[booked.place.ticket, terms.attempt] += 1

    def _answer(self, real: Any, connection: Connection, booked: BookedPlace, due: RoundDue, now: int) -> bytes:
        found: bytes = real(connection, booked, due, now)
        with self._lock:
            self.sent.setdefault((booked.place.ticket, due.terms.attempt, due.phase), set()).add(found)
            self.answered += 1
        return found

    def run(self, name: int) -> None:
        """People come while there are places, and their devices are in contact, until it is over."""
        random, own = Random(f"people {name}"), list[str]()
        try:
            while not self.over:
                if (unit := self.come(random)) is not None:
                    own.append(unit)
                    continue
                for unit in own:
                    if random.random() < 0.1:
                        self.reopen(unit)
                    self.people[unit].device.contact()
                own = [unit for unit in own if not self.people[unit].device.show()[0].ended]
                self.look()
        except BaseException as why:
            self.wrong.append(why)
            raise

    def come(self, random: Random) -> str | None:
        """A person comes, sees the arm, and may have an outcome; None without a place, or an answer."""
        with self._lock:
            self.came += 1
            unit = f"person {self.came}"
        device = self.make_device(unit)
        device.consent(True)
        with suppress(Unreachable):  # a place that was given comes back, as nobody has seen the arm
            device.assign("killed", unit, "")
        if not device.show() or not device.expose("killed"):
            device.close()
            return None
        self.answered += 1
        place = read_place_of(device)
        assert place.cohort is not None
        assert place.offer.position is not None
        value = random.choice((0, 2**place.offer.position))
        if value:
            device.record("killed", value)
        self.people[unit] = KilledPerson(device, unit, place.cohort, place.offer.position, value)
        return unit

    def make_device(self, unit: str) -> Device:
        """The device of a person."""
        plain = partial(httpx.HTTPTransport, trust_env=False, verify=False)  # no TLS, which takes long to prepare
        agreed, key = Agreed(1, corrupted="1/10"), self.service.keys["client"]
        return Device(self.folder / unit, self.service.url, agreed, key=key, transport=plain)

    def reopen(self, unit: str) -> None:
        """A device was killed, and starts again."""
        self.people[unit].device.close()
        self.people[unit] = self.people[unit]._replace(device=self.make_device(unit))

    def look(self) -> None:
        """A release that was seen is never another one."""
        try:
            said = self.service.ask("GET", "/v1/studies/killed/releases", None, "owner")
        except OSError:
            return
        for each in said.json["releases"] if said.status == 200 else ():
            assert self.seen.setdefault(each["cohort"], each["total"]) == each["total"], "a release has changed"

    def close(self) -> None:
        """Give everything back."""
        for each in self.people.values():
            each.device.close()


class HeldDevices(NamedTuple):
    """What was compared."""

    people: int  # in released cohorts
    releases: int
    answers: int  # of devices in rounds


def check_devices(devices: KilledDevices) -> HeldDevices:
    """What devices sent, against the database of the service, and its ledger."""
    service = devices.service
    with closing(open_database(service.address)) as database:
        verify_study(database, find_witness(database, service.witness), "killed")
        released, discarded = (read_entries(database, "killed", kind) for kind in ("released", "discarded"))
        rows = database.rows("SELECT cohort, place FROM place WHERE study = 'killed' AND returned IS NULL")
    check_dealt(rows)
    assert not discarded, "a cohort is lost"
    totals = {each.cohort: each.total for each in released}
    assert len(totals) == len(released), "a cohort was released twice"
    assert devices.seen.items() <= totals.items(), "what was seen is not in the ledger"
    assert set(devices.drawn.values()) <= {1}, "a noise share was drawn again"
    assert all(len(each) == 1 for each in devices.sent.values()), "a device answered twice, and otherwise"
    masked = {ticket for ticket, _, phase in devices.sent if phase == MASKING}
    assert masked <= {ticket for ticket, _ in devices.drawn}
    there = [each for each in devices.people.values() if each.has_place]
    check_dealt([(each.cohort, each.position) for each in there])
    for release in released:
        people = [each for each in there if each.cohort == release.cohort]
        assert (release.n, len(people)) == (SIZE, SIZE), "somebody is missing"
        values = sum(each.value for each in people)
        assert release.total * MOST == values, f"outcomes are lost or doubled: {release.total * MOST:b}, not {values:b}"
    return HeldDevices(SIZE * len(released), len(released), devices.answered)


def play(folder: Path, patch: pytest.MonkeyPatch, kills: int = KILLS, seed: int = 37) -> HeldDevices:
    """Kills at random while devices answer; then all is held against what they sent."""
    (folder / "service").mkdir()
    service, random = Live(folder / "service"), Random(seed)
    try:
        service.begin()
        service.start_study(TABLE)
        with (
            closing(KilledDevices(service, folder / "people", patch)) as devices,
            ThreadPoolExecutor(PEOPLE_AT_ONCE) as threads,
        ):
            tasks = [threads.submit(devices.run, i) for i in range(PEOPLE_AT_ONCE)]
            try:
                for _ in range(kills):
                    wait_for(devices, devices.answered + random.randrange(1, 30))
                    service.kill_and_begin()
                wait_for(devices, devices.answered + 8 * SIZE)
            finally:
                devices.over = True
            for each in tasks:
                each.result()
            assert service.end() == 0
            found = check_devices(devices)
        assert "Traceback" not in service.said()
        return found
    finally:
        service.abandon()


@pytest.mark.slow
def test_kills_lose_and_double_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = play(tmp_path, monkeypatch)
    print(found)
    assert found.releases >= 2


@pytest.mark.slow
def test_devices_that_forget_what_they_sent_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They make other keys each time, and leave the attempt when these do not fit what was sent before."""
    monkeypatch.setattr(adding_up, "stretch_seed", lambda seed, kind: Bits(urandom))
    with pytest.raises(AssertionError, match="lost"):
        play(tmp_path, monkeypatch, kills=1)
