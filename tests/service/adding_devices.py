"""Devices that add up by themselves, and their service, in the process of a test."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import httpx

from maskedbandit.device import Agreed, Device
from maskedbandit.device.own_place import OwnPlace
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.service.inside import Inside
from tests.service.two_operators_inside import ServiceWire
from tests.store.test_rounds_law import NoisyRelease

WINDOW, WAIT = 20, 60  # seconds
BETWEEN = 35  # seconds between two contacts of a device: there are two, or nearly, in each wait
SECAGG = {"name": "secagg", "corrupted": "1/10", "smallest": 4}
CHANNEL = {"name": "distributed", "epsilon": 1, "honest": "7/10", "backend": SECAGG}
AGREED = Agreed(1, corrupted="1/10")
ROUNDS: dict[str, Any] = {
    "policy": {"name": "successive_elimination", "least": 10},
    "channel": CHANNEL,
    "reward": {"window": "20 seconds", "exposure": "10 seconds"},
    "rounds": {"wait": "1 minute"},
}


class CountedWire(ServiceWire):
    """Notes the size of all that passes, and loses some of it."""

    def __init__(self, scene: AddingDevices) -> None:
        super().__init__(scene.service)
        self._scene = scene

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        lost = self._scene.is_lost()
        if lost == "on its way":
            raise httpx.ReadError("lost")
        found = super().handle_request(request)
        self._scene.seen.append((request.url.path, len(request.read()), len(found.content)))
        if lost:
            raise httpx.ReadError("lost")
        return found


class AddingDevices:
    """A study whose devices add up, and people who come to it; several may be on one service."""

    def __init__(
        self, folder: Path, service: Inside | None = None, name: str = "small", agreed: Agreed = AGREED, **changes: Any
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.name, self.agreed, self._own = folder, name, agreed, service is None
        self.service = service or Inside(f"sqlite:///{folder}/service.db", folder / "service")
        self.service.begin(**(ROUNDS | changes | {"name": name, "project": name}))
        self.study = self.service.run(self.service.host.hold(name)).study
        self.study._session.bits = Bits(Random(name).randbytes)  # who gets which place is the same in all worlds
        self.devices: list[Device] = []
        self.arms: list[str] = []
        self.values: list[float] = []
        self.served: list[str] = []  # arms of people for whom there was no place
        self.seen: list[tuple[str, int, int]] = []  # paths, and bytes of bodies and answers
        self._losses: Random | None = None
        self._share = 0.0

    @property
    def sums(self) -> dict[str, float]:
        """The outcomes of each arm."""
        pairs = list(zip(self.arms, self.values, strict=True))
        return {arm: sum(value for of, value in pairs if of == arm) for arm in "ab"}

    def make_device(self, unit: str) -> Device:
        """The device of a person."""
        return Device(
            self.folder / unit,
            "http://service.test",
            self.agreed,
            key=self.service.keys["client"],
            clock=lambda: self.service.clock() / 1000,
            transport=lambda: CountedWire(self),
        )

    def come(self, value: float | None) -> Device:
        """A person comes, agrees, sees the arm, and has an outcome."""
        assert self.meet(lambda arm: value)
        return self.devices[-1]

    def meet(self, find_value: Callable[[str], float | None]) -> bool:
        """The same, of whom the outcome may depend on the arm; whether there was a place."""
        unit = f"person {len(self.devices)}"  # of those who find no place the last one comes again
        device = self.make_device(unit)
        device.consent(True)
        arm = device.assign(self.name, unit, "").arm
        if not device.show():
            device.close()
            self.served.append(arm)
            return False
        self.devices.append(device)
        self.arms.append(arm)
        value = find_value(arm)
        self.values.append(value or 0.0)
        assert device.expose(self.name)
        if value is not None:
            assert device.record(self.name, value)
        return True

    def fill_cohorts(self, find_value: Callable[[str], float | None], people: int) -> None:
        """People come until all cohorts that are under way are full, or so many have come in all."""
        while len(self.arms) + len(self.served) < people:
            if not self.meet(find_value) or not self.study._session.driver.deck.left:
                return

    def fill(self, people: int = 20) -> None:
        """People come until two cohorts are full."""
        for number in range(people):
            self.come(float(number % 3 == 0))

    def contact(self, times: int = 1, lost: Collection[int] = ()) -> None:
        """All devices are in contact, one after the other, and so again, but for those that are lost."""
        for _ in range(times):
            for number, device in enumerate(self.devices):
                if number not in lost:
                    device.contact()

    def reopen(self, number: int) -> None:
        """A device was killed, and starts again."""
        self.devices[number].close()
        self.devices[number] = self.make_device(f"person {number}")

    def forget_rounds(self) -> None:
        """The service was killed, and starts again: it makes rounds from what it has stored."""
        self.study._session.rounds = None

    def lose(self, random: Random, share: float) -> None:
        """From now on this share of all messages is lost, on the way or on the way back."""
        self._losses, self._share = random, share

    def is_lost(self) -> str:
        """How the next message is lost, if it is."""
        if self._losses is None or self._losses.random() >= self._share:
            return ""
        return self._losses.choice(["on its way", "on the way back"])

    def read_releases(self) -> list[dict[str, Any]]:
        """What was released."""
        return list(self.service.ask("GET", f"/v1/studies/{self.name}/releases", key="owner").json["releases"])

    def read_ledger(self) -> list[dict[str, Any]]:
        """All entries of the ledger."""
        return list(self.service.ask("GET", f"/v1/studies/{self.name}/ledger", key="owner").json["entries"])

    def read_bodies(self, kind: str) -> list[dict[str, Any]]:
        """What entries of this kind say."""
        bodies = (json.loads(each["body"]) for each in self.read_ledger())
        return [body for body in bodies if body["kind"] == kind]

    def measure_noise(self) -> list[NoisyRelease]:
        """How far each release is from the outcomes of those who sent a masked value, who are as many as it says."""
        sums, people = Counter[int](), Counter[int]()
        for device, value in zip(self.devices, self.values, strict=True):
            (shown,) = device.show()
            if any(each.answer == "masked" for each in shown.sent):
                number = read_place_of(device).cohort
                assert number is not None
                sums[number], people[number] = sums[number] + round(value), people[number] + 1
        releases = self.read_releases()
        assert {each["cohort"]: each["n"] for each in releases} == people
        return [NoisyRelease(round(each["total"]) - sums[each["cohort"]], each["n"]) for each in releases]

    def verify(self) -> None:
        """All that is stored of the study fits together."""
        with closing(open_database(self.service.address)) as database:
            verify_study(database, find_witness(database, self.service.folder), self.name)

    def close(self) -> None:
        """Give everything back."""
        for device in self.devices:
            device.close()
        if self._own:
            self.service.close()


def read_place_of(device: Device) -> OwnPlace:
    """The person's place."""
    assert device._book is not None
    (booked,) = device._book.places()
    return booked.place


def read_ticket(device: Device) -> str:
    """The ticket of it."""
    return read_place_of(device).ticket
