"""The processes of a demo on this machine: servers of several operators, and the commands that these type."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from maskedbandit.errors import StorageFailed
from maskedbandit.service.server import bind_socket

PATIENCE = 60  # seconds for a process to begin, to end, and to answer
LOOK_AGAIN = 0.1  # seconds


class DemoProcesses:
    """Servers of this package, each with a folder, and the keys that it printed, by its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys: dict[str, dict[str, str]] = {}
        self.begun: dict[str, subprocess.Popen[bytes]] = {}
        self._http = httpx.Client(trust_env=False, timeout=PATIENCE)

    def start(self, name: str, url: str, *more: str) -> None:
        """Start a server, and wait until it answers and has said its keys."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        said, log = folder / "said", folder / "log"
        command = self._name_command("serve", "--data", str(folder), "--port", url.rpartition(":")[2], *more)
        with said.open("wb") as out, log.open("wb") as errors:
            self.begun[name] = process = subprocess.Popen(command, stdout=out, stderr=errors)
        end = time.monotonic() + PATIENCE
        while not self._answers(url) or "keys" not in said.read_text():
            if process.poll() is not None or time.monotonic() > end:
                raise StorageFailed(f"the {name} did not begin: {log.read_text()[-500:]}")
            time.sleep(LOOK_AGAIN)
        self.keys[name] = dict(re.findall(r"(\w+) +key +(mb_\S+)", said.read_text())) or self.keys.get(name, {})

    def run(self, *command: str) -> str:
        """Run a command; what it prints is returned."""
        done = subprocess.run(self._name_command(*command), capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise StorageFailed(f"`maskedbandit {' '.join(command[:2])}` failed: {done.stderr[-500:]}")
        return done.stdout

    def ask(self, name: str, role: str, method: str, url: str, body: Any = None) -> Any:
        """Ask a server with one of its keys."""
        headers = {"Authorization": f"Bearer {self.keys[name][role]}"}
        found = self._http.request(method, url, json=body, headers=headers)
        if found.status_code >= 300:
            raise StorageFailed(f"the {name} answers {found.status_code} to {method} {url}: {found.text}")
        return found.json()

    def end(self) -> None:
        """End all of them."""
        self._http.close()
        for process in self.begun.values():
            process.terminate()
        for process in self.begun.values():
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _answers(self, url: str) -> bool:
        try:
            return self._http.get(f"{url}/healthz").status_code == 200
        except httpx.HTTPError:
            return False

    def _name_command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "maskedbandit", *words]


def find_port() -> int:
    """A port of this machine that is free now."""
    with bind_socket("127.0.0.1", 0) as place:
        return int(place.getsockname()[1])
