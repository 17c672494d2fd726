"""Two operators as processes of this machine, for whom the devices of people seal their reports."""

import json
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from maskedbandit.cli.parts.demo_processes import PATIENCE, find_port
from maskedbandit.cli.parts.people_of_demo import EPSILON, GONE, WINDOW, PeopleOfDemo
from maskedbandit.device import Agreed, Device


class TwoOperators(PeopleOfDemo):
    """The leader, the helper, and n people. Whoever never comes back counts as the default."""

    least = 4

    def __init__(self, folder: Path, n: int) -> None:
        super().__init__(folder, n)
        self.grace = 5 + n // 50  # seconds, in which this process is through with the devices whose window is over
        self._fingerprints = "", ""
        self.helper = f"http://127.0.0.1:{find_port()}"

    @property
    def where(self) -> dict[str, str]:
        return {"page": f"{self.leader}/", "owner  key": self.owner, "helper": self.helper}

    @property
    def agreed(self) -> Agreed:
        return Agreed(EPSILON, self._fingerprints)

    @property
    def patience(self) -> float:
        return WINDOW + self.grace + PATIENCE

    def begin(self) -> None:
        for name in ("leader", "helper", "people"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        self.processes.start("helper", self.helper, "--role", "helper", "--name", "University")
        invited = json.loads(self.processes.run("helper", "invite", "--data", str(self.folder / "helper")))
        data = str(self.folder / "leader")
        pairing = "helper", "pair", self.helper, invited["invitation"], "--name", "Clinic"
        paired = self.processes.run(*pairing, "--data", data)
        leader, helper, *_ = re.findall(r"\b[0-9a-f]{64}\b", paired)
        self._fingerprints = leader, helper
        self.processes.start("leader", self.leader, "--rate", "1e9")
        self.start_study(
            channel={"name": "two_servers", "epsilon": EPSILON, "backend": "prio3"},
            reward={"window": f"{WINDOW} seconds", "grace": f"{self.grace} seconds", "exposure": "1 hour"},
            operators={
                "leader": {"name": "Clinic", "key": leader},
                "helper": {"name": "University", "key": helper, "address": self.helper},
            },
        )

    def play(self, advance: Callable[[], None]) -> None:
        waiting = deque[tuple[float, Device]]()
        for i in range(self.n):
            device = self.come(i)
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

    def count_missing(self, releases: Sequence[dict[str, Any]]) -> tuple[int, int]:
        people = sum(each["n"] for each in releases)
        return people, people - sum(json.loads(each["helper"])["reports"] for each in releases)
