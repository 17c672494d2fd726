"""A process that holds a study, does what it is told, and may kill itself before or after any statement.

It runs `python -m tests.store.crash_worker SOCKET`: a nursery that has imported everything once, and forks a worker for
each message that comes with the two ends of its pipes. A worker is told on one and tells on the other:

    ("new", table)                       a study is written down
    ("open", name)                       and held
    ("arm", at)                          from now on count steps, and die before or after one of them
    ("do", now, [(id, kind, ...), ...])  operations, for the writer; a told id is on disk
    ("steps",)                           what was counted
    ("close",)                           give the study back

A step is a statement, `commit`, or a write of the witness. Workers that are broken in
one place are in crash_mutants.py.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from maskedbandit.errors import MaskedBanditError, StoreError
from maskedbandit.store.book.entries import Release
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.requests import Assigned, Reported
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer
from maskedbandit.study.protocol import Protocol
from tests.store.crash_mutants import MUTANTS
from tests.store.small_study import PROOF

At = tuple[int | str, str]  # the number or the name of a step; "before" or "after" it


class Steps:
    """The steps since the last `arm`; at one of them the process dies, as by `kill -9`."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.at: At | None = None
        self._within = False

    def arm(self, at: At | None) -> None:
        self.seen, self.at = [], at

    def statement(self, kind: str, real: Callable[..., Any], *given: Any, **keys: Any) -> Any:
        """A statement is a step, in as many statements as the database makes of it."""
        if self._within:
            return real(*given, **keys)
        self._within = True
        try:
            return self.do(f"{kind} {given[0]}" if given else kind, partial(real, *given, **keys))
        finally:
            self._within = False

    def do(self, name: str, step: Callable[[], Any]) -> Any:
        """Do a step, unless the process dies before it."""
        self.seen.append(name)
        which = len(self.seen) - 1, name
        if self.at and self.at[0] in which and self.at[1] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = step()
        if self.at and self.at[0] in which and self.at[1] == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result


def dying(database: Database, steps: Steps) -> Database:
    """The database, whose statements are steps from now on."""
    for name in Database.__abstractmethods__ - {"tables", "close"}:
        setattr(database, name, partial(steps.statement, name, getattr(database, name)))
    return database


class Worker:
    """What a worker does with what it is told."""

    def __init__(self, told: Connection, tell: Connection) -> None:
        self._told, self._tell = told, tell
        self._steps, self._now = Steps(), 0
        self._study: Study | None = None
        self._writer: Writer | None = None

    def run(self) -> None:
        """Until there is nobody who tells anything."""
        self._address, folder, mutant = self._told.recv()
        self._folder, self._mutant = Path(folder), MUTANTS[mutant]
        self._mutant.install()
        for name in ("fsync", "replace"):  # of the witness: the databases do not call Python's
            setattr(os, name, self._step_of(name, getattr(os, name)))
        while True:
            try:
                what, *given = self._told.recv()
            except EOFError:
                return
            getattr(self, f"on_{what}")(*given)

    def _step_of(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: self._steps.do(name, partial(real, *given))

    def on_new(self, table: dict[str, Any]) -> None:
        self._give_back()
        write_study(Protocol.from_table(table), self._address, self._folder)
        if self._mutant.schema:
            database = open_database(self._address)
            with database.transaction():
                database.script(self._mutant.schema)
            database.close()
        self._tell.send(("new", table["name"]))

    def on_open(self, name: str) -> None:
        self._give_back()
        database = dying(self._mutant.database(open_database(self._address)), self._steps)
        study = self._mutant.study(database, find_witness(database, self._folder), name, lambda: self._now)
        study.tell_now = self._tell_now
        self._study, self._writer = study, Writer(study)
        self._tell.send(("open", name))

    def on_arm(self, at: At | None) -> None:
        assert self._writer
        self._writer.submit(lambda session: None).result()  # no other transaction is under way
        self._steps.arm(at)

    def on_steps(self) -> None:
        self._tell.send(("steps", self._steps.seen))

    def on_do(self, now: int, operations: list[tuple[Any, ...]]) -> None:
        assert self._writer
        self._now = now
        for number, kind, *given in operations:
            if kind == "report":
                given += ["", PROOF]
            future = self._writer.submit(*self._operation(number, kind, given))
            future.add_done_callback(partial(self._done, number))

    def on_close(self) -> None:
        self._give_back()
        self._tell.send(("close",))

    def _give_back(self) -> None:
        if self._writer and self._study:
            self._writer.close()
            self._study.close()
            self._writer = self._study = None

    def _operation(self, number: int, kind: str, given: list[Any]) -> tuple[Any, ...]:
        study = self._study
        assert study
        if kind == "releases":
            return (lambda session: study.releases(),)
        return self._mutant.operation(study, (kind, *given), partial(self._tell_now, number))

    def _tell_now(self, number: int | None, result: Any) -> None:
        """Only the mutants call this within a transaction."""
        self._tell.send(("done", number, plain(result)))

    def _done(self, number: int, future: Future[Any]) -> None:
        why = future.exception()
        if why is None:
            self._tell_now(number, future.result())
        elif isinstance(why, MaskedBanditError) and not isinstance(why, StoreError):
            self._tell.send(("refused", number, type(why).__name__))
        else:
            self._tell.send(("failed", number, repr(why)))


def plain(result: Any) -> Any:
    """A result in Python's own types."""
    if isinstance(result, Assigned):
        return result.arm, result.ticket, result.again
    if isinstance(result, Reported):
        return result.again
    if isinstance(result, list) and all(isinstance(each, Release) for each in result):
        return [(each.cohort, each.arm, each.n, each.total) for each in result]
    return result


def nursery(line: socket.socket) -> None:
    """Fork workers, and say how they ended, until the line is closed."""
    for each in ("apsw", "psycopg", "maskedbandit.store.databases.sqlite", "maskedbandit.store.databases.postgresql"):
        import_module(each)  # once for all
    open_database("sqlite:///:memory:").close()
    while True:
        said, pipes, _, _ = socket.recv_fds(line, 64, 2)
        if not said:
            return
        what, _, number = said.decode().partition(" ")
        if what == "wait":
            line.send(str(os.waitpid(int(number), 0)[1]).encode())
        elif (child := os.fork()) == 0:
            line.close()
            Worker(Connection(pipes[0], writable=False), Connection(pipes[1], readable=False)).run()
            os._exit(0)
        else:
            for pipe in pipes:
                os.close(pipe)
            line.send(str(child).encode())


if __name__ == "__main__":
    nursery(socket.socket(fileno=int(sys.argv[1])))
