"""The client of a worker that crashes.

The history of what was acknowledged is kept here, outside of the worker, from what the worker told. An operation that
was under way at a kill is unknown: it is done again, in its order, with the same unit, ticket and event.
"""

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from maskedbandit.study.protocol import Protocol
from tests.store.crash_history import History, Stored
from tests.store.crash_worker import At
from tests.store.racers import LATE

ROOT = Path(__file__).parents[2]
START, PAUSE, STOP = ("start",), ("pause",), ("stop",)


class Nursery:
    """The process that forks workers."""

    def __init__(self) -> None:
        self._line, other = socket.socketpair()
        self._line.settimeout(LATE)
        command = [sys.executable, "-m", "tests.store.crash_worker", str(other.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[other.fileno()], cwd=ROOT)
        other.close()

    def worker(self) -> tuple[int, Connection, Connection]:
        """A new worker's number, what it is told on, and what it tells on."""
        its_told, told = os.pipe()
        tell, its_tell = os.pipe()
        socket.send_fds(self._line, [b"fork"], [its_told, its_tell])
        os.close(its_told)
        os.close(its_tell)
        number = int(self._line.recv(64))
        return number, Connection(told, readable=False), Connection(tell, writable=False)

    def wait(self, worker: int) -> int:
        """How a worker ended."""
        self._line.send(f"wait {worker}".encode())
        return int(self._line.recv(64))

    def close(self) -> None:
        self._line.close()
        self._process.wait(LATE)


class Client:
    """Tells workers what to do, and begins another when one was killed."""

    def __init__(self, nursery: Nursery, address: str, folder: Path, mutant: str = "none") -> None:
        self._nursery, self.address, self.folder, self._mutant = nursery, address, folder, mutant
        self.kills, self.now, self._number = 0, 0, 0
        self.pending: dict[int, tuple[Any, ...]] = {}  # in order
        self.histories: list[History] = []
        self._worker: int | None = None

    # one worker

    def begin(self) -> None:
        """A new worker, and the study if there is one."""
        self._worker, self._told, self._tell = self._nursery.worker()
        self._told.send((self.address, str(self.folder), self._mutant))
        if self.histories:
            self.open()

    def new(self, table: dict[str, Any]) -> None:
        """A new study, which the worker opens."""
        self._told.send(("new", table))
        self._answer("new")
        self.histories.append(History(table["name"], table.get("project", table["name"])))
        self.open()

    def open(self) -> None:
        """The worker holds the latest study."""
        self._told.send(("open", self.history.name))
        self._answer("open")

    @property
    def history(self) -> History:
        """What was told of the latest study."""
        return self.histories[-1]

    def send(self, *operation: Any) -> int:
        """Have an operation done, without waiting for it."""
        self._number += 1
        self.pending[self._number] = operation
        self._told.send(("do", self.now, [(self._number, *operation)]))
        return self._number

    def receive(self) -> tuple[int | None, Any]:
        """The next acknowledgement: its number, and the result of an operation that was not refused."""
        what, number, result = self._hear()
        assert what != "failed", f"a worker failed: {result}"
        if number is None:
            self.history.told(result)
            return None, None
        if number not in self.pending:
            return number, None  # a mutant tells twice
        kind, *given = self.pending.pop(number)
        if what == "refused":
            self.history.refused(result, kind, tuple(given))
            return number, None
        self.history.done(result, kind, tuple(given))
        return number, result

    def _hear(self) -> Any:
        assert self._tell.poll(LATE), "a worker says nothing"
        return self._tell.recv()

    def do(self, *operation: Any) -> Any:
        """Have an operation done, and wait for it."""
        number = self.send(*operation)
        while True:
            found, result = self.receive()
            if found == number:
                return result

    def drain(self) -> None:
        """Wait for all that was sent."""
        while self.pending:
            self.receive()

    def steps(self, *operation: Any) -> list[str]:
        """The steps of an operation."""
        self._told.send(("arm", None))
        self.do(*operation)
        self._told.send(("steps",))
        return list(self._answer("steps"))

    def arm(self, at: At) -> None:
        """Have the worker die at this step from now on."""
        self._told.send(("arm", at))

    def kill(self) -> None:
        """End the worker by SIGKILL, then hear what it had told."""
        assert self._worker
        os.kill(self._worker, signal.SIGKILL)
        self.bury()

    def bury(self) -> None:
        """Hear what a worker told that is killed, or kills itself, and see that it was so."""
        while True:
            assert self._tell.poll(60), "the worker did not die"
            try:
                self.receive()
            except EOFError:
                break
        self._end(killed=True)

    def retry(self) -> None:
        """Another worker, that is asked for all that is unknown again."""
        self.begin()
        unknown, self.pending = self.pending, {}
        self.history.unsure |= {operation[1] for operation in unknown.values() if operation[0] == "erase"}
        for operation in unknown.values():
            self.send(*operation)
        self.do("releases")
        self.drain()

    def close(self) -> None:
        """End the worker as it should."""
        if self._worker is not None:
            self._told.send(("close",))
            while self._hear()[0] != "close":
                pass
            self._end(killed=False)

    def abandon(self) -> None:
        """Leave no worker behind, whatever happened."""
        if self._worker is not None:
            os.kill(self._worker, signal.SIGKILL)
            self._end(killed=True)

    def _end(self, killed: bool) -> None:
        assert self._worker
        worker, self._worker = self._worker, None
        self._told.close()
        self._tell.close()
        status = self._nursery.wait(worker)
        assert status == (signal.SIGKILL if killed else 0), f"a worker ended by itself: {status}"
        self.kills += killed

    def bury_at_opening(self, at: At) -> None:
        """Have the worker open the study again, and die at this step."""
        self.arm(at)
        self._told.send(("open", self.history.name))
        self.bury()

    def steps_of_opening(self) -> list[str]:
        """The steps of opening the study again."""
        self._told.send(("arm", None))
        self.open()
        self._told.send(("steps",))
        return list(self._answer("steps"))

    def _answer(self, what: str) -> Any:
        try:
            said, *result = self._hear()
        except EOFError:
            raise AssertionError(f"a worker ended when it was told {what}") from None
        assert said == what, (said, result)
        return result[0] if result else None

    # what must hold

    def check(self, history: History | None = None) -> None:
        """What the client was told of a study is what the database says, and the database fits together."""
        history = history or self.history
        database = open_database(self.address)
        try:
            witness = find_witness(database, self.folder)
            name = history.name
            find = "SELECT protocol, state FROM study WHERE study = ?"
            protocol, state = database.rows(find, name)[0]
            assert state == history.state, f"the study is {state}, and {history.state} was acknowledged"
            stored = Stored(database, name, Protocol.from_text(protocol))
            pseudonyms = witness.pseudonyms(history.project)
            stored.check_places({ticket: pseudonyms.of(unit) for ticket, unit in history.people.items()}, history)
            stored.check_reports(history)
            stored.check_releases(history)
            together = [each for each in self.histories if each.project == history.project]
            charges = Counter(pseudonyms.of(unit) for each in together for unit in each.people.values())
            stored.check_accounts(history.project, charges)
            verify_study(database, witness, name)
        finally:
            database.close()


@contextmanager
def client(nursery: Nursery, address: str, folder: Path, mutant: str = "none") -> Iterator[Client]:
    """A client with its first worker."""
    made = Client(nursery, address, folder, mutant)
    made.begin()
    try:
        yield made
        made.close()
    finally:
        made.abandon()
