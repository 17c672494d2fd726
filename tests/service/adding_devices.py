"""Devices that add up by themselves, and their service, in the process of a test."""

from pathlib import Path
from typing import Any

from maskedbandit.device import Agreed, Device
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


class AddingDevices:
    """A study whose devices add up, and people who come to it."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.folder = folder
        self.service = Inside(f"sqlite:///{folder}/service.db", folder / "service")
        self.service.begin(**(ROUNDS | changes))
        self.devices: list[Device] = []
        self.sums = {"a": 0.0, "b": 0.0}

    def make_device(self, unit: str, agreed: Agreed = AGREED) -> Device:
        """The device of a person who agreed."""
        device = Device(
            self.folder / unit,
            "http://service.test",
            agreed,
            key=self.service.keys["client"],
            clock=lambda: self.service.clock() / 1000,
            transport=lambda: ServiceWire(self.service),
        )
        self.devices.append(device)
        device.consent(True)
        return device

    def come(self, value: float | None) -> Device:
        """A person comes, sees the arm, and has an outcome."""
        unit = f"person {len(self.devices)}"
        device = self.make_device(unit)
        arm = device.assign("small", unit, "").arm
        assert device.expose("small")
        if value is not None:
            assert device.record("small", value)
            self.sums[arm] += value
        return device

    def fill(self, people: int = 20) -> None:
        """People come until two cohorts are full."""
        for number in range(people):
            self.come(float(number % 3 == 0))

    def contact(self, times: int = 1) -> None:
        """All devices are in contact, one after the other, and so again."""
        for _ in range(times):
            for device in self.devices:
                device.contact()

    def read_releases(self) -> list[dict[str, Any]]:
        """What was released."""
        return list(self.service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"])

    def close(self) -> None:
        """Give everything back."""
        for device in self.devices:
            device.close()
        self.service.close()
