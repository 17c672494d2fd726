"""A service of this machine that sees no outcome, and devices of people that stay, and add up by themselves.

Besides the people who never come back, one in forty leaves during the round: after the device has sent its keys.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from maskedbandit.cli.parts.demo_processes import PATIENCE
from maskedbandit.cli.parts.people_of_demo import EPSILON, GONE, WINDOW, PeopleOfDemo
from maskedbandit.device import Agreed, Device

LEAVES = 40  # of so many people one leaves during the round
PHASES = 4
IN_CONTACT = 8  # devices that are in contact at the same time
CONTACTS = 8  # of each device in the time that a phase waits, at most
TRIALS, SLOWER = 4, 2  # devices whose pace is measured; and by how much a device that is in contact is slower
CORRUPTED = "1/10"


class StayingDevices(PeopleOfDemo):
    """The service, and n people."""

    least = 40

    def __init__(self, folder: Path, n: int) -> None:
        super().__init__(folder, n)
        self.wait = 5  # seconds, in which this process is once through with all devices
        self._staying: list[Device] = []
        self._together = ThreadPoolExecutor(IN_CONTACT)

    @property
    def where(self) -> dict[str, str]:
        return {"page": f"{self.leader}/", "owner  key": self.owner}

    @property
    def agreed(self) -> Agreed:
        return Agreed(EPSILON, corrupted=CORRUPTED)

    @property
    def patience(self) -> float:
        return PATIENCE + WINDOW + PHASES * self.wait

    def begin(self) -> None:
        for name in ("leader", "people"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        self.wait += math.ceil(SLOWER * self.n * self._measure_pace())
        self.processes.start("leader", self.leader, "--rate", "1e9")
        backend = {"name": "secagg", "corrupted": CORRUPTED, "smallest": 4}
        self.start_study(
            channel={"name": "distributed", "epsilon": EPSILON, "honest": "7/10", "backend": backend},
            reward={"window": f"{WINDOW} seconds", "exposure": "1 hour"},
            rounds={"wait": f"{self.wait} seconds"},
        )

    def play(self, advance: Callable[[], None]) -> None:
        leaving = list[Device]()
        for i in range(self.n):
            device = self.come(i)
            advance()
            if device is not None and i % GONE != GONE - 1:
                (leaving if i % LEAVES == 0 else self._staying).append(device)
        time.sleep(WINDOW)
        for _ in self._together.map(Device.contact, [*leaving, *self._staying]):
            advance()  # each sent its keys: the first phase waits for those who never come back

    def look_again(self) -> None:
        list(self._together.map(Device.contact, self._staying))
        time.sleep(self.wait / CONTACTS)

    def end(self) -> None:
        self._together.shutdown()
        super().end()

    def count_missing(self, releases: Sequence[dict[str, Any]]) -> tuple[int, int]:
        people = sum(each.get("size", each["n"]) for each in releases)
        return people, people - sum(each["n"] for each in releases)

    def _measure_pace(self) -> float:
        """Seconds that a device of this machine needs to write something down."""
        began = time.monotonic()
        for i in range(TRIALS):
            with closing(Device(self.folder / "people" / f"trial {i}", self.leader, self.agreed)) as device:
                device.consent(True)
        return (time.monotonic() - began) / TRIALS
