"""Scenarios that clients in every language play against the same service, over a network that fails on demand.

A scenario is a file of JSON in sdk/scenarios: a study, and steps. A client is a program that reads a step a line and
answers with a line: `gives`, or the `error` by its name. Whoever runs it kills it and starts it again.

* `do`: what the client does, with its arguments; `of` is whose ticket; `gives` or `error` is what must come of it. To
  `sign` is to make a person's token, which is good for `lasts` seconds, and kept by its `name`; `signed` names one.
* `kill`: the client's process ends at once; the next `open` starts another in the same folder.
* `network`: from now on `up`, `away` (nothing arrives), `busy` (503), `deaf` (answers are lost), `twice` or `hanging`;
  with `times` only for so many requests, and then `up`.
* `heard`: how many requests of each verb came since this was asked last; `alike`, of how many different bodies.
* `service`: what it has: `reports` by person and event, how many `places`, and who has seen an arm, `exposed`.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.client.live_service import LiveService
from tests.service.live import LATE, ROOT
from tests.store.small_study import small_protocol

SCENARIOS = sorted((ROOT / "sdk" / "scenarios").glob("*.json"))
WINDOW = {"window": "1 hour", "exposure": "1 hour", "rule": "sum", "most": 10}


class FaultyNetwork(ThreadingHTTPServer):
    """Carries requests to a service, or does not."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), FaultyHandler)
        self.service_port, self.heard = port, list[tuple[str, bytes]]()
        self.lock, self.mode, self.times, self.released = threading.Lock(), "up", -1, threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def change(self, mode: str, times: int) -> None:
        """From now on, or for so many requests."""
        with self.lock:
            self.mode, self.times = mode, times
            self.released.set()
            self.released = threading.Event()

    def take_mode(self, path: str, body: bytes) -> tuple[str, threading.Event]:
        """What becomes of a request."""
        with self.lock:
            self.heard.append((path.split("/")[4], body))
            mode = self.mode
            self.times -= 1
            if self.times == 0:
                self.mode = "up"
            return mode, self.released


class FaultyHandler(BaseHTTPRequestHandler):
    """A connection of a client."""

    protocol_version = "HTTP/1.1"
    server: FaultyNetwork

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        mode, released = self.server.take_mode(self.path, body)
        if mode == "hanging":
            released.wait(LATE)
        if mode in ("away", "hanging"):
            self.close_connection = True
            return
        if mode == "busy":
            self.reply(503, b"", "text/plain")
            return
        answers = [self.carry(body) for _ in range(2 if mode == "twice" else 1)]
        if mode == "deaf":
            self.close_connection = True
        else:
            self.reply(*answers[-1])

    def carry(self, body: bytes) -> tuple[int, bytes, str]:
        """Ask the service."""
        connection = HTTPConnection("127.0.0.1", self.server.service_port, timeout=LATE)
        try:
            headers = {name: self.headers[name] for name in ("Authorization", "Content-Type")}
            connection.request("POST", self.path, body, headers)
            found = connection.getresponse()
            return found.status, found.read(), found.getheader("Content-Type", "")
        finally:
            connection.close()

    def reply(self, status: int, content: bytes, kind: str) -> None:
        """Answer the client, if it still waits."""
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Driven:
    """A client in a process of its own."""

    def __init__(self, command: Sequence[str], twin: str) -> None:
        self._command, self._process = [*command, *([twin] if twin else [])], None

    def ask(self, step: dict[str, Any]) -> dict[str, Any]:
        """Have it do something: what came of it."""
        if self._process is None:
            streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self._process = subprocess.Popen(self._command, cwd=ROOT, text=True, **streams)
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:  # which no twin may
            raise RuntimeError("the client ended")
        return json.loads(line)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@contextmanager
def network_of(live: LiveService) -> Iterator[FaultyNetwork]:
    """A network before a service."""
    network = FaultyNetwork(live.port)
    thread = threading.Thread(target=network.serve_forever, args=(0.01,))  # seconds until it sees that it is to end
    thread.start()
    try:
        yield network
    finally:
        network.change("away", -1)
        network.shutdown()
        thread.join()
        network.server_close()


class Played:
    """A scenario under way."""

    def __init__(self, live: LiveService, network: FaultyNetwork, client: Driven, folder: Path) -> None:
        self.live, self.network, self.client, self.folder = live, network, client, folder
        self.tickets: dict[str, str] = {"a stranger": "f" * 32}
        self.arms: dict[str, str] = {}
        self.tokens: dict[str, str] = {}

    def do(self, do: str, of: str = "", gives: Any = None, error: str = "", **given: Any) -> None:
        """Have the client do something."""
        if do == "open":
            usual = {"url": self.network.url, "key": self.live.key, "study": self.live.study, "fallback": "a"}
            given = usual | {"folder": str(self.folder), "deadline": 60} | given
        if of:
            given["ticket"] = self.tickets[of]
        if do == "sign":
            name, given["expires"] = given.pop("name"), int(time.time()) + given.pop("lasts")
            self.tokens[name] = self.client.ask({"do": do, **given})["gives"]
            return
        if "signed" in given:
            given["token"] = self.tokens[given.pop("signed")]
        found = self.client.ask({"do": do, **given})
        if error:
            assert "error" in found, found
            assert found["error"] == error or error == "any", found
            return
        assert "error" not in found, found
        if do == "assign":
            said = found["gives"]
            if said["ticket"]:
                assert self.tickets.setdefault(given["unit"], said["ticket"]) == said["ticket"]
                self.arms.setdefault(given["unit"], said["arm"])
            if gives and gives.get("arm") == "as before":
                gives = gives | {"arm": self.arms[given["unit"]]}
            found["gives"] = {name: said[name] for name in gives or {}}
        if gives is not None:
            assert found["gives"] == gives, found

    def hear(self, alike: dict[str, int] | None = None, **verbs: int) -> None:
        """Look at what came through the network."""
        with self.network.lock:
            heard, self.network.heard = self.network.heard, []
        assert {verb: Counter(each for each, _ in heard)[verb] for verb in verbs} == verbs
        for verb, count in (alike or {}).items():
            assert len({body for each, body in heard if each == verb}) == count

    def look(self, reports: Any = None, places: int | None = None, exposed: Any = None) -> None:
        """Look at what the service has."""
        if reports is not None:
            wanted = [(self.tickets[person], event, value) for person, event, value in reports]
            assert sorted((*key, value) for key, value in self.live.reports().items()) == sorted(wanted)
        if places is not None:
            assert self.live.rows("SELECT COUNT(*) FROM place WHERE person IS NOT NULL") == [(places,)]
        if exposed is not None:
            found = {ticket for (ticket,) in self.live.rows("SELECT ticket FROM place WHERE exposed IS NOT NULL")}
            assert found == {self.tickets[person] for person in exposed}

    def step(self, step: dict[str, Any]) -> None:
        """Take one."""
        match step:
            case {"do": _}:
                self.do(**step)
            case {"kill": _}:
                self.client.kill()
            case {"network": mode}:
                self.network.change(mode, step.get("times", -1))
            case {"heard": verbs}:
                self.hear(step.get("alike"), **verbs)
            case {"service": has}:
                self.look(**has)
            case _:
                raise AssertionError(step)


def play_scenario(scenario: dict[str, Any], command: Sequence[str], folder: Path, twin: str = "") -> None:
    """Play it with a client, or with a broken twin of one; raises if anything is not as it must be."""
    protocol = small_protocol(
        **{"reward": WINDOW, "policy": {"name": "successive_elimination", "least": 20}} | scenario.get("study", {})
    )
    client = Driven(command, twin)
    live = LiveService(folder, protocol)
    with live.running(), network_of(live) as network:
        played = Played(live, network, client, folder / "client")
        try:
            for number, step in enumerate(scenario["steps"]):
                try:
                    played.step(step)
                except AssertionError as why:
                    raise AssertionError(f"step {number}, {json.dumps(step)}: {why}") from None
        finally:
            client.kill()
