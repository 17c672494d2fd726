"""Sites and their coordinator as processes of this machine, and people whom each site's application serves.

Every person comes to a site, sees the arm, and has an outcome, of which nobody but the site learns. When the window is
over the sites add up, each for its own people, and the coordinator gets the noisy sum of all.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from maskedbandit.cli.parts.demo_processes import LOOK_AGAIN, PATIENCE, DemoProcesses, find_port
from maskedbandit.cli.parts.people_of_demo import MEANS
from maskedbandit.client import Client
from maskedbandit.errors import StorageFailed

WINDOW = 2  # seconds
STUDY, EPSILON = "trial", 1
SILENT = 1 / 20  # of the people, who have no outcome: each counts as the default


class SitesResult(NamedTuple):
    """The result of a demo."""

    sites: int
    people: int  # in what was released
    answer: str


class SitesOfDemo:
    """The coordinator, its sites, and their people."""

    def __init__(self, folder: Path, sites: int, people: int) -> None:
        self.folder, self.people = folder, people
        self.names = [f"site-{number}" for number in range(1, sites + 1)]
        self.urls = {name: f"http://127.0.0.1:{find_port()}" for name in ("coordinator", *self.names)}
        self.processes = DemoProcesses(folder)
        self._clients: dict[str, Client] = {}

    @property
    def owner(self) -> str:
        """The key of the owner of the coordinator's studies."""
        return self.processes.keys["coordinator"]["owner"]

    def begin(self, advance: Callable[[], None]) -> None:
        """Start all of them, have the sites join, start the study, and have the sites enter it."""
        self.processes.start("coordinator", self.urls["coordinator"], "--rate", "1e9")
        named = []
        for name in self.names:
            (self.folder / name).mkdir(parents=True, mode=0o700)
            invited = json.loads(self.processes.run("site", "invite", "--data", str(self.folder / "coordinator")))
            joining = "site", "join", self.urls["coordinator"], invited["invitation"], "--name", name
            joined = self.processes.run(*joining, "--data", str(self.folder / name))
            key = json.loads(joined.partition("\n")[0])["site"]
            named.append({"name": name, "key": key, "share": f"2/{len(self.names)}"})
            advance()
        protocol = self._ask("POST", "/v1/studies", self._table(named))["protocol"]
        self._ask("POST", f"/v1/studies/{STUDY}/approve", {"protocol": protocol}, "officer")
        self._ask("POST", f"/v1/studies/{STUDY}/start?simulated=1")
        for name in self.names:
            self.processes.run("site", "enter", STUDY, "--data", str(self.folder / name))
            self.processes.start(name, self.urls[name], "--role", "site", "--rate", "1e9")
            key, kept = self.processes.keys[name]["client"], self.folder / name / "application"
            fallback = next(iter(MEANS))
            self._clients[name] = Client(self.urls[name], key, STUDY, fallback=fallback, deadline=PATIENCE, folder=kept)
            advance()

    def play(self, advance: Callable[[], None]) -> None:
        """Have people come to the sites, to all of them at once, see their arms, and have outcomes."""
        with ThreadPoolExecutor(len(self.names)) as sites:
            for _ in sites.map(self._come, range(self.people)):
                advance()

    def finish(self) -> SitesResult:
        """Wait for the releases, and read what they say."""
        end = time.monotonic() + self._window + PATIENCE
        while True:
            entries = self._ask("GET", f"/v1/studies/{STUDY}/ledger")["entries"]
            releases = [body for body in (json.loads(each["body"]) for each in entries) if body["kind"] == "released"]
            if len(releases) == len(MEANS):
                break
            if time.monotonic() > end:
                raise StorageFailed(f"{len(releases)} of {len(MEANS)} cohorts were released: see the logs in --data")
            time.sleep(LOOK_AGAIN)
        highest = max(releases, key=lambda each: float.fromhex(each["total"]) / each["n"])
        many = len(set().union(*(each["sites"] for each in releases)))
        return SitesResult(many, sum(each["n"] for each in releases), list(MEANS)[highest["arm"]])

    def end(self) -> None:
        """End all processes, and give everything back."""
        for client in self._clients.values():
            client.close()
        self.processes.end()

    def _come(self, i: int) -> None:
        """Have a person come to a site."""
        client, random = self._clients[self.names[i % len(self.names)]], Random(f"person {i}")
        person = client.assign(f"person {i}")
        if person.ticket is not None:
            client.expose(person.ticket)
            if random.random() >= SILENT:
                client.report(person.ticket, int(random.random() < MEANS[person.arm]))

    @property
    def _window(self) -> int:
        """Seconds in which an outcome is reported, however slow this machine is."""
        return WINDOW + self.people // 100

    def _table(self, named: list[dict[str, str]]) -> dict[str, Any]:
        """The protocol."""
        backend = {"name": "sites", "colluding": 1 if len(named) > 3 else 0}
        return {
            "name": STUDY,
            "about": "a rehearsal on one machine",
            "people": self.people - self.people % len(MEANS),
            "policy": {"name": "successive_elimination", "least": self.people // len(MEANS)},
            "channel": {"name": "distributed", "epsilon": EPSILON, "honest": "1/4", "backend": backend},
            "arms": [{"name": name} for name in MEANS],
            "reward": {"window": f"{self._window} seconds", "exposure": "1 hour"},
            "budget": {"epsilon": EPSILON},
            "sites": {"wait": "1 hour", "list": named},
        }

    def _ask(self, method: str, path: str, body: Any = None, role: str = "owner") -> Any:
        return self.processes.ask("coordinator", role, method, self.urls["coordinator"] + path, body)
