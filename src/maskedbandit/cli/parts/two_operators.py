"""Two operators as processes of this machine, and people whose devices know nothing but the leader's address.

Every person comes, sees the arm, and has an outcome at once, which the device keeps. After the window the application
runs again, and the device reports; one person in twenty never comes back, and counts as the default.
"""

import json
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx

from maskedbandit.device import Agreed, Device
from maskedbandit.errors import StorageFailed
from maskedbandit.service.server import bind_socket

MEANS = {"plain": 0.2, "bold": 0.8}  # of the arms
GONE = 20  # of so many people one never comes back
WINDOW = 2  # seconds
PATIENCE = 60  # seconds for a process to begin, and for the last release after it is due
LOOK_AGAIN = 0.1  # seconds
STUDY, EPSILON = "devices", 1


class DemoResult(NamedTuple):
    """The result of a demo."""

    people: int  # in what was released
    missing: int  # of them, without a report
    answer: str


class TwoOperators:
    """The leader, the helper, and n people."""

    def __init__(self, folder: Path, n: int) -> None:
        self.folder, self.n, self._random = folder, n, Random(n)
        self.grace = 5 + n // 50  # seconds, in which this process is through with the devices whose window is over
        self._processes: list[subprocess.Popen[bytes]] = []
        self._client = httpx.Client(trust_env=False, timeout=PATIENCE)
        self._keys: dict[str, str] = {}
        self._devices: list[Device] = []
        self._fingerprints = "", ""
        self.leader, self.helper = (f"http://127.0.0.1:{find_port()}" for _ in range(2))

    @property
    def owner(self) -> str:
        """The key of the owner of the leader's studies."""
        return self._keys["owner"]

    def begin(self) -> None:
        """Start both, pair them, and start the study."""
        for name in ("leader", "helper", "people"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        self._start("helper", self.helper, "--role", "helper", "--name", "University")
        invitation = json.loads(self._run("helper", "invite", "--data", str(self.folder / "helper")))["invitation"]
        data = str(self.folder / "leader")
        paired = self._run("helper", "pair", self.helper, invitation, "--name", "Clinic", "--data", data)
        leader, helper, *_ = re.findall(r"\b[0-9a-f]{64}\b", paired)
        self._fingerprints = leader, helper
        self._start("leader", self.leader, "--rate", "1e9")
        table = {
            "name": STUDY,
            "about": "a rehearsal on one machine",
            "people": self.n - self.n % len(MEANS),
            "policy": {"name": "successive_elimination", "least": self.n // len(MEANS)},
            "channel": {"name": "two_servers", "epsilon": EPSILON, "backend": "prio3"},
            "arms": [{"name": name} for name in MEANS],
            "reward": {"window": f"{WINDOW} seconds", "grace": f"{self.grace} seconds", "exposure": "1 hour"},
            "budget": {"epsilon": EPSILON},
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
        missing = people - sum(json.loads(each["helper"])["reports"] for each in releases)
        highest = max(releases, key=lambda each: float.fromhex(each["total"]) / each["n"])
        return DemoResult(people, missing, list(MEANS)[highest["arm"]])

    def end(self) -> None:
        """End both processes, and give everything back."""
        for device in self._devices:
            device.close()
        self._client.close()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _come(self, i: int) -> Device | None:
        """Have a person come, see the arm, and have an outcome; None if there was no place."""
        place = self._ask("POST", f"/v1/studies/{STUDY}/assign", {"unit": f"person {i}"}, "client")["device"]
        if place is None:
            return None
        self._ask("POST", f"/v1/studies/{STUDY}/expose", {"ticket": place["ticket"]}, "client")
        agreed = Agreed(EPSILON, self._fingerprints)
        device = Device(self.folder / "people" / str(i), self.leader, agreed, reports="deadline")
        self._devices.append(device)
        device.consent(True)
        device.join(place)
        device.record(STUDY, int(self._random.random() < MEANS[place["arm"]]))
        return device

    def _ask(self, method: str, path: str, body: Any = None, role: str = "owner") -> Any:
        headers = {"Authorization": f"Bearer {self._keys[role]}"}
        found = self._client.request(method, self.leader + path, json=body, headers=headers)
        if found.status_code >= 300:
            raise StorageFailed(f"the leader answers {found.status_code} to {method} {path}: {found.text}")
        return found.json()

    def _start(self, role: str, url: str, *more: str) -> None:
        """Start an operator's server, and wait until it answers."""
        said, log = self.folder / role / "said", self.folder / role / "log"
        command = "serve", "--data", str(self.folder / role), "--port", url.rpartition(":")[2], *more
        with said.open("wb") as out, log.open("wb") as errors:
            process = subprocess.Popen(name_command(command), stdout=out, stderr=errors)
        self._processes.append(process)
        end = time.monotonic() + PATIENCE
        while not self._answers(url) or (role == "leader" and "keys" not in said.read_text()):
            if process.poll() is not None or time.monotonic() > end:
                raise StorageFailed(f"the {role} did not begin: {log.read_text()[-500:]}")
            time.sleep(LOOK_AGAIN)
        self._keys |= dict(re.findall(r"(\w+) +key +(mb_\S+)", said.read_text()))

    def _answers(self, url: str) -> bool:
        try:
            return self._client.get(f"{url}/healthz").status_code == 200
        except httpx.HTTPError:
            return False

    def _run(self, *command: str) -> str:
        """Run a command; what it prints is returned."""
        done = subprocess.run(name_command(command), capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise StorageFailed(f"`maskedbandit {' '.join(command[:2])}` failed: {done.stderr[-500:]}")
        return done.stdout


def name_command(words: Sequence[str]) -> list[str]:
    """A command of this package, as a process."""
    return [sys.executable, "-m", "maskedbandit", *words]


def find_port() -> int:
    """A port of this machine that is free now."""
    with bind_socket("127.0.0.1", 0) as place:
        return int(place.getsockname()[1])
