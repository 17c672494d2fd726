"""A client that keeps a journal: a file outside of the server and its database, of all that was acknowledged.

Each acknowledgement is on disk before the next request. At the end the file is read again, and whatever it says is held
against the database: what was told stays, once, whatever was done to the server, to the database, and to the lines
between them meanwhile.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.service.live import Live
from tests.service.load import TABLE, Fault, Load
from tests.store.crash_history import History


class Journal(History):
    """What a client was told, written down before it counts."""

    def __init__(self, path: Path) -> None:
        super().__init__(TABLE["name"], TABLE["name"])
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def done(self, result: Any, kind: str, given: tuple[Any, ...]) -> None:
        self._write("done", result, kind, given)
        super().done(result, kind, given)

    def refused(self, why: str, kind: str, given: tuple[Any, ...]) -> None:
        self._write("refused", why, kind, given)
        super().refused(why, kind, given)

    def read(self) -> History:
        """The history that the file tells."""
        os.close(self._file)
        found = History(self.name, self.project)
        with self._path.open() as lines:
            for what, *said in map(json.loads, lines):
                getattr(found, what)(*said)
        assert found.acknowledged == self.acknowledged
        return found

    def _write(self, *said: Any) -> None:
        line = json.dumps(said).encode() + b"\n"
        assert os.write(self._file, line) == len(line)
        os.fsync(self._file)


class Journaled(Load):
    """The client: many people, who also look at what was released, while harm is done so many times."""

    def __init__(self, server: Live, harm: Callable[[], Any], others: tuple[Live, ...] = ()) -> None:
        super().__init__(server, Fault(), seed=16, others=others)
        self.history: History = Journal(server.folder / "journal")
        self._harm = harm
        self._held = False
        self._under_way = 0
        self.wrong: AssertionError | None = None  # what was found first

    def harm(self, number: int) -> None:
        if not self.over:
            with self._ending_it():
                self._harm()

    def run(self, people: int, kills: int = 0) -> None:
        try:
            super().run(people, kills)
        except EOFError:  # of those who were not needed any more
            assert self.wrong
            raise self.wrong from None

    @contextmanager
    def nobody_asks(self) -> Iterator[None]:
        """For a harm: what is under way is answered first, and all else waits."""
        self._held = True
        try:
            while self._under_way and not self.over:
                time.sleep(0.005)  # of the thread that does the harm: each request ends within 30 seconds
            yield
        finally:
            self._held = False

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        while self._held:
            await asyncio.sleep(0.005)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _ask(self, verb: str, body: str) -> tuple[int, dict[str, Any]]:
        async with self._asking():
            return await super()._ask(verb, body)

    async def _client(self) -> None:
        with self._ending_it():
            await super()._client()

    @contextmanager
    def _ending_it(self) -> Iterator[None]:
        """Whatever is found ends it for everybody."""
        try:
            yield
        except AssertionError as why:
            self.wrong = self.wrong or why
            self.over, self.left = True, -(10**9)
            raise

    async def _person(self, unit: str) -> None:
        await super()._person(unit)
        if self.rng.random() < 0.1:
            await self._look(self.rng.choice(self.servers))

    async def _look(self, server: Live) -> None:
        """A release that was seen is never another one."""
        path = f"/v1/studies/{TABLE['name']}/releases"
        try:
            async with self._asking():
                reply = await asyncio.to_thread(server.ask, "GET", path, None, self.server.keys["owner"])
        except (OSError, HTTPException):
            return
        if reply.status == 200:
            seen = [
                (each["cohort"], "abc".index(each["arm"]), each["n"], each["total"]) for each in reply.json["releases"]
            ]
            self.history.done(seen, "releases", ())

    def check(self) -> None:
        """The journal against the database."""
        assert isinstance(self.history, Journal)
        self.history = self.history.read()
        super().check()
