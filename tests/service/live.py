"""The service as it is used: a process that listens on a socket, started by its command."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from maskedbandit.service.server import bind_socket
from tests.service.inside import Reply

ROOT = Path(__file__).parents[2]
COMMAND = ("-m", "maskedbandit", "serve")
LATE = 600  # seconds after which a test has failed, on a machine however slow
PATIENT = {"window": "1 hour", "exposure": "1 hour"}  # of a study in which nobody may be late


def own_port() -> int:
    """A port that nobody else is given until the end of the tests, also while no server listens on it."""
    place = bind_socket("127.0.0.1", 0)
    port = int(place.getsockname()[1])
    place.detach()
    return port


class Live:
    """A server process, which may be ended and begun again; its keys stay."""

    def __init__(self, folder: Path, database: str | None = None, command: Sequence[str] = COMMAND) -> None:
        self.folder, self.command, self.port = folder, command, own_port()
        self.address = database or f"sqlite:///{folder}/studies.db"
        self.witness = folder / "witness"
        self.keys: dict[str, str] = {}
        self.outputs: list[Path] = []  # what the processes wrote, on either stream
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self, *more: str) -> None:
        """Start a process, and wait until it listens."""
        assert self.process is None
        place = ["--database", self.address, "--witness", str(self.witness)]
        command = [sys.executable, *self.command, *place, "--port", str(self.port), "--rate", "1e9", *more]
        errors = self.folder / f"stderr{len(self.outputs)}"
        self.outputs.append(errors)
        with errors.open("wb") as stream:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=stream)
        said = b""
        assert self.process.stdout
        for line in self.process.stdout:
            said += line
            if found := re.match(r"(\w+) +key +(mb_\S+)", line.decode()):
                self.keys[found[1]] = found[2]
            if line.startswith(b"keys"):
                break
        else:
            raise AssertionError(f"the server ended: {said.decode()} {errors.read_text()}")
        out = self.folder / f"stdout{len(self.outputs)}"
        out.write_bytes(said)
        self.outputs.append(out)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the process: its code, once it has ended."""
        assert self.process
        process, self.process = self.process, None
        os.kill(process.pid, how)
        assert process.stdout
        rest = process.stdout.read()
        process.stdout.close()
        self.outputs[-1].write_bytes(self.outputs[-1].read_bytes() + rest)
        return process.wait(LATE)

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self.port}"

    def abandon(self) -> None:
        """Leave no process behind, whatever happened."""
        if self.process is not None:
            self.end(signal.SIGKILL)

    def kill_and_begin(self) -> None:
        """End the process at once, and start another where it was."""
        assert self.end(signal.SIGKILL) == -signal.SIGKILL
        self.begin()

    def said(self) -> str:
        """All that the processes wrote."""
        return "".join(each.read_text() for each in self.outputs)

    def ask(self, method: str, path: str, body: Any = None, key: str | None = "client", **headers: str) -> Reply:
        """The answer to a request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=LATE)
        try:
            if key is not None:
                headers["Authorization"] = f"Bearer {self.keys.get(key, key)}"
            raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method, path, raw, headers)
            found = connection.getresponse()
            names = {name.lower(): value for name, value in found.getheaders()}
            return Reply(found.status, names, found.read())
        finally:
            connection.close()

    def study(self, verb: str, body: Any = None, key: str = "client", name: str = "small") -> Reply:
        """A request about a study."""
        return self.ask("POST", f"/v1/studies/{name}/{verb}", body, key)

    def start_study(self, table: dict[str, Any]) -> None:
        """A running study."""
        made = self.ask("POST", "/v1/studies", table, "owner")
        assert made.status == 201, made
        self.approve(table["name"])
        assert self.study("start", key="owner", name=table["name"]).status == 200

    def approve(self, name: str) -> None:
        """An officer approves the protocol of a draft."""
        protocol = self.ask("GET", f"/v1/studies/{name}", None, "officer").json["protocol"]
        assert self.study("approve", {"protocol": protocol}, "officer", name).status == 200

    def send(self, raw: bytes) -> socket.socket:
        """A connection on which these bytes were sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), LATE)
        connection.sendall(raw)
        return connection


@contextmanager
def live(
    folder: Path,
    database: str | None = None,
    command: Sequence[str] = COMMAND,
    more: Sequence[str] = (),
    witness: Path | None = None,
) -> Iterator[Live]:
    """A server that listens, until the end of a block."""
    folder.mkdir(exist_ok=True)
    made = Live(folder, database, command)
    made.witness = witness or made.witness
    try:
        made.begin(*more)
        yield made
    finally:
        made.abandon()
