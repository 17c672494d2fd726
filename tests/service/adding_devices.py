"""Devices that add up by themselves, and their service, in the process of a test."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import httpx

from maskedbandit.device import Agreed, Device
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.service.inside import Inside
from tests.service.two_operators_inside import ServiceWire

WINDOW, WAIT = 20, 60  # seconds
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
    """A study whose devices add up, and people who come to it."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.service = Inside(f"sqlite:///{folder}/service.db", folder / "service")
        self.service.begin(**(ROUNDS | changes))
        study = self.service.run(self.service.host.hold("small")).study
        study._session.bits = Bits(Random(1).randbytes)  # who gets which place is the same in all worlds
        self.devices: list[Device] = []
        self.arms: list[str] = []
        self.values: list[float] = []
        self.seen: list[tuple[str, int, int]] = []  # paths, and bytes of bodies and answers
        self._losses: Random | None = None
        self._share = 0.0

    @property
    def sums(self) -> dict[str, float]:
        """The outcomes of each arm."""
        pairs = list(zip(self.arms, self.values, strict=True))
        return {arm: sum(value for of, value in pairs if of == arm) for arm in "ab"}

    def make_device(self, unit: str, agreed: Agreed = AGREED) -> Device:
        """The device of a person."""
        return Device(
            self.folder / unit,
            "http://service.test",
            agreed,
            key=self.service.keys["client"],
            clock=lambda: self.service.clock() / 1000,
            transport=lambda: CountedWire(self),
        )

    def come(self, value: float | None) -> Device:
        """A person comes, agrees, sees the arm, and has an outcome."""
        unit = f"person {len(self.devices)}"
        device = self.make_device(unit)
        device.consent(True)
        self.devices.append(device)
        self.arms.append(device.assign("small", unit, "").arm)
        self.values.append(value or 0.0)
        assert device.expose("small")
        if value is not None:
            assert device.record("small", value)
        return device

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
        self.service.run(self.service.host.hold("small")).study._session.rounds = None

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
        return list(self.service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"])

    def read_ledger(self) -> list[dict[str, Any]]:
        """All entries of the ledger."""
        return list(self.service.ask("GET", "/v1/studies/small/ledger", key="owner").json["entries"])

    def verify(self) -> None:
        """All that is stored of the study fits together."""
        with closing(open_database(self.service.address)) as database:
            verify_study(database, find_witness(database, self.service.folder), "small")

    def close(self) -> None:
        """Give everything back."""
        for device in self.devices:
            device.close()
        self.service.close()


def read_ticket(device: Device) -> str:
    """The ticket of the person's place."""
    assert device._book is not None
    (booked,) = device._book.places()
    return booked.place.ticket
