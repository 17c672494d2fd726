"""Two operators as processes of this machine, and people whose devices know nothing but the leader's address.

Every person comes, sees the arm, and has an outcome at once, which the device keeps. After the window the application
runs again, and the device reports; one person in twenty never comes back, and counts as the default.
"""

import json
import re
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from maskedbandit.cli.parts.demo_processes import LOOK_AGAIN, PATIENCE, DemoProcesses, find_port
from maskedbandit.device import Agreed, Device
from maskedbandit.errors import StorageFailed

MEANS = {"plain": 0.2, "bold": 0.8}  # of the arms
GONE = 20  # of so many people one never comes back
WINDOW = 2  # seconds
STUDY, EPSILON = "devices", 1


class DemoResult(NamedTuple):
    """The result of a demo."""

    people: int  # in what was released
    missing: int  # of them, without a report
    answer: str


class SecondOperator(NamedTuple):
    """What the operator beside the leader does."""

    role: str
    channel: dict[str, Any]
    statement: str  # where an entry of the ledger has what it states
    delta: str  # to which people agree


HELPER = SecondOperator("helper", {"name": "two_servers", "epsilon": EPSILON, "backend": "prio3"}, "helper", "0")


class TwoOperators:
    """The leader, the helper, and n people."""

    def __init__(self, folder: Path, n: int, second: SecondOperator = HELPER) -> None:
        self.folder, self.n, self.second, self._random = folder, n, second, Random(n)
        self.grace = 5 + n // 50  # seconds, in which this process is through with the devices whose window is over
        self.processes = DemoProcesses(folder)
        self._devices: list[Device] = []
        self._fingerprints = "", ""
        self.leader, self.helper = (f"http://127.0.0.1:{find_port()}" for _ in range(2))

    @property
    def owner(self) -> str:
        """The key of the owner of the leader's studies."""
        return self.processes.keys["leader"]["owner"]

    def begin(self) -> None:
        """Start both, pair them, and start the study."""
        for name in ("leader", "helper", "people"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        self.processes.start("helper", self.helper, "--role", self.second.role, "--name", "University")
        invited = json.loads(self.processes.run("helper", "invite", "--data", str(self.folder / "helper")))
        data = str(self.folder / "leader")
        pairing = "helper", "pair", self.helper, invited["invitation"], "--name", "Clinic"
        paired = self.processes.run(*pairing, "--data", data)
        leader, helper, *_ = re.findall(r"\b[0-9a-f]{64}\b", paired)
        self._fingerprints = leader, helper
        self.processes.start("leader", self.leader, "--rate", "1e9")
        table = {
            "name": STUDY,
            "about": "a rehearsal on one machine",
            "people": self.n - self.n % len(MEANS),
            "policy": {"name": "successive_elimination", "least": self.n // len(MEANS)},
            "channel": self.second.channel,
            "arms": [{"name": name} for name in MEANS],
            "reward": {"window": f"{WINDOW} seconds", "grace": f"{self.grace} seconds", "exposure": "1 hour"},
            "budget": {"epsilon": EPSILON, **({"delta": self.second.delta} if self.second.delta != "0" else {})},
            "operators": {
                "leader": {"name": "Clinic", "key": leader},
                "helper": {"name": "University", "key": helper, "address": self.helper},
            },
        }
        protocol = self._ask("POST", "/v1/studies", table)["protocol"]
        self._ask("POST", f"/v1/studies/{STUDY}/approve", {"protocol": protocol}, "officer")
        self._ask("POST", f"/v1/studies/{STUDY}/start?simulated=1")

    def play(self, advance: Callable[[], None]) -> None:
        """Have people come, and come back after their windows, except for those who never do."""
        waiting = deque[tuple[float, Device]]()
        for i in range(self.n):
            device = self._come(i)
            advance()
            if device is None or i % GONE == GONE - 1:
                advance()
            else:
                waiting.append((time.time() + WINDOW, device))
            while waiting and waiting[0][0] < time.time():
                waiting.popleft()[1].contact()
                advance()
        for due, device in waiting:
            time.sleep(max(0.0, due - time.time()) + 0.001)  # a device knows the time in milliseconds
            device.contact()
            advance()

    def finish(self) -> DemoResult:
        """Wait for the releases, and read what they say."""
        end = time.monotonic() + WINDOW + self.grace + PATIENCE
        while True:
            entries = self._ask("GET", f"/v1/studies/{STUDY}/ledger")["entries"]
            releases = [body for body in (json.loads(each["body"]) for each in entries) if body["kind"] == "released"]
            if len(releases) == len(MEANS):
                break
            if time.monotonic() > end:
                raise StorageFailed(f"{len(releases)} of {len(MEANS)} cohorts were released: see the logs in --data")
            time.sleep(LOOK_AGAIN)
        people = sum(each["n"] for each in releases)
        missing = people - sum(json.loads(each[self.second.statement])["reports"] for each in releases)
        highest = max(releases, key=lambda each: float.fromhex(each["total"]) / each["n"])
        return DemoResult(people, missing, list(MEANS)[highest["arm"]])

    def end(self) -> None:
        """End both processes, and give everything back."""
        for device in self._devices:
            device.close()
        self.processes.end()

    def _come(self, i: int) -> Device | None:
        """Have a person come, see the arm, and have an outcome; None if there was no place."""
        place = self._ask("POST", f"/v1/studies/{STUDY}/assign", {"unit": f"person {i}"}, "client")["device"]
        if place is None:
            return None
        self._ask("POST", f"/v1/studies/{STUDY}/expose", {"ticket": place["ticket"]}, "client")
        agreed = Agreed(EPSILON, self._fingerprints, delta=self.second.delta)
        device = Device(self.folder / "people" / str(i), self.leader, agreed, reports="deadline")
        self._devices.append(device)
        device.consent(True)
        device.join(place)
        device.record(STUDY, int(self._random.random() < MEANS[place["arm"]]))
        return device

    def _ask(self, method: str, path: str, body: Any = None, role: str = "owner") -> Any:
        return self.processes.ask("leader", role, method, self.leader + path, body)
