"""People of a demo, whose devices know nothing but the address of a server of this machine, and what became of them.

Every person comes, sees the arm, and has an outcome at once, which the device keeps. After the window the application
runs again, and the device reports; one person in twenty never comes back.
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

import httpx

from maskedbandit.cli.parts.demo_processes import LOOK_AGAIN, DemoProcesses, find_port
from maskedbandit.device import Agreed, Device
from maskedbandit.errors import StorageFailed

MEANS = {"plain": 0.2, "bold": 0.8}  # of the arms
GONE = 20  # of so many people one never comes back
WINDOW = 2  # seconds
STUDY, EPSILON = "devices", 1


class DemoResult(NamedTuple):
    """The result of a demo."""

    people: int  # of cohorts that were released
    missing: int  # of them, without a report
    answer: str


class PeopleOfDemo(ABC):
    """A study on this machine, and n people."""

    least: ClassVar[int]  # people

    def __init__(self, folder: Path, n: int) -> None:
        self.folder, self.n, self._random = folder, n, Random(n)
        self.processes = DemoProcesses(folder)
        self.devices: list[Device] = []
        self.leader = f"http://127.0.0.1:{find_port()}"  # whom devices ask

    @property
    def owner(self) -> str:
        """The key of the owner of the leader's studies."""
        return self.processes.keys["leader"]["owner"]

    @property
    @abstractmethod
    def where(self) -> dict[str, str]:
        """What somebody needs who wants to look: names, and addresses or keys."""

    @property
    @abstractmethod
    def agreed(self) -> Agreed:
        """What all people agreed to."""

    @property
    @abstractmethod
    def patience(self) -> float:
        """Seconds for the releases, once all people have played."""

    @abstractmethod
    def begin(self) -> None:
        """Start the servers, and the study."""

    @abstractmethod
    def play(self, advance: Callable[[], None]) -> None:
        """Have people come, and come back after their windows, except for those who never do."""

    @abstractmethod
    def count_missing(self, releases: Sequence[dict[str, Any]]) -> tuple[int, int]:
        """Count the people of the cohorts that were released, and those whose report is missing."""

    def start_study(self, **more: Any) -> None:
        """Start the study, with these parts of its protocol."""
        table = {
            "name": STUDY,
            "about": "a rehearsal on one machine",
            "people": self.n - self.n % len(MEANS),
            "policy": {"name": "successive_elimination", "least": self.n // len(MEANS)},
            "arms": [{"name": name} for name in MEANS],
            "budget": {"epsilon": EPSILON},
        }
        protocol = self.ask("POST", "/v1/studies", table | more)["protocol"]
        self.ask("POST", f"/v1/studies/{STUDY}/approve", {"protocol": protocol}, "officer")
        self.ask("POST", f"/v1/studies/{STUDY}/start?simulated=1")

    def come(self, i: int) -> Device | None:
        """Have a person come, see the arm, and have an outcome; None if there was no place."""
        place = self.ask("POST", f"/v1/studies/{STUDY}/assign", {"unit": f"person {i}"}, "client")["device"]
        if place is None:
            return None
        self.ask("POST", f"/v1/studies/{STUDY}/expose", {"ticket": place["ticket"]}, "client")
        folder = self.folder / "people" / str(i)
        plain = partial(httpx.HTTPTransport, trust_env=False, verify=False)  # no TLS, which takes long to prepare
        device = Device(folder, self.leader, self.agreed, reports="deadline", transport=plain)
        self.devices.append(device)
        device.consent(True)
        device.join(place)
        device.record(STUDY, int(self._random.random() < MEANS[place["arm"]]))
        return device

    def read_releases(self) -> list[dict[str, Any]]:
        """What the ledger says of releases."""
        entries = self.ask("GET", f"/v1/studies/{STUDY}/ledger")["entries"]
        return [body for body in (json.loads(each["body"]) for each in entries) if body["kind"] == "released"]

    def finish(self) -> DemoResult:
        """Wait for the releases, and read what they say."""
        end = time.monotonic() + self.patience
        while len(releases := self.read_releases()) < len(MEANS):
            if time.monotonic() > end:
                raise StorageFailed(f"{len(releases)} of {len(MEANS)} cohorts were released: see the logs in --data")
            self.look_again()
        highest = max(releases, key=lambda each: float.fromhex(each["total"]) / each["n"])
        return DemoResult(*self.count_missing(releases), list(MEANS)[highest["arm"]])

    def look_again(self) -> None:
        """What happens while the releases are waited for."""
        time.sleep(LOOK_AGAIN)

    def end(self) -> None:
        """End all processes, and give everything back."""
        for device in self.devices:
            device.close()
        self.processes.end()

    def ask(self, method: str, path: str, body: Any = None, role: str = "owner") -> Any:
        """Ask the leader with one of its keys."""
        return self.processes.ask("leader", role, method, self.leader + path, body)
