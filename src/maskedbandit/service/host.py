"""What a server process hosts: the studies of a database, each with its writer, and the clock that makes them go on.

Every second each study is asked to do what is due, which also keeps its lease. A study that another process holds is
taken over when that process is gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from maskedbandit.errors import MaskedBanditError, StoreError, TooMany, UnknownStudy
from maskedbandit.service.keys import Keys
from maskedbandit.service.limits import Buckets
from maskedbandit.store.connection import connect
from maskedbandit.store.database import Database
from maskedbandit.store.lease import wall_clock
from maskedbandit.store.session import Operation
from maskedbandit.store.status import published
from maskedbandit.store.studies import listed, prepared_witness
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer

log = logging.getLogger("maskedbandit")
READERS = 4  # connections that only read
WAITING = 20_000  # operations of a study; more are refused
LIVE = ("running", "paused", "stopped")
T = TypeVar("T")


class Held(NamedTuple):
    """A study that this process holds."""

    study: Study
    writer: Writer

    def do(self, operation: Operation, ticket: str | None = None, unit: str | None = None) -> Any:
        """What comes of an operation, after it is on disk."""
        if self.writer.waiting > WAITING:
            raise TooMany("the study has more requests waiting than it can write: try again later")
        return self.writer.submit(operation, ticket, unit)


class Host:
    """The studies of a database, while a server runs."""

    def __init__(
        self, address: str, folder: Path | None, rate: float = 5000, clock: Callable[[], int] = wall_clock
    ) -> None:
        self.address, self.folder, self.clock, self.keys = address, folder, clock, Keys()
        self.callers, self.people = Buckets(rate, 2 * rate), Buckets(10, 30)
        self.strangers = Buckets(5, 20)  # requests with wrong keys
        self.stopping = asyncio.Event()
        self.ready = False  # whether the last round of the clock wrote everything
        self._held: dict[str, Held] = {}
        self._opening = asyncio.Lock()
        self._readers: SimpleQueue[Database] = SimpleQueue()
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        database = connect(address)
        try:
            self.witness = prepared_witness(database, folder)
            self.keys.read(database)
        finally:
            self._readers.put(database)
        self.cookies = self.witness.secret("cookies")

    async def start(self) -> None:
        """Hold all studies, and begin the clock."""
        self.stops = asyncio.ensure_future(self.stopping.wait())
        await self._round()
        self._clock_task = asyncio.create_task(self._go_on())

    async def stop(self) -> None:
        """Write what waits, and give everything back."""
        self.stopping.set()
        self._clock_task.cancel()
        for held in self._held.values():
            await asyncio.to_thread(held.writer.close)
            await asyncio.to_thread(held.study.close)
        self._held.clear()
        self._threads.shutdown()
        while not self._readers.empty():
            self._readers.get().close()

    async def hold(self, name: str) -> Held:
        """The study of this name, held by this process."""
        if (held := self._held.get(name)) is not None:
            return held
        async with self._opening:
            if name not in self._held:
                study = await asyncio.to_thread(self._open, name)
                self._held[name] = Held(study, Writer(study, asyncio.get_running_loop()))
        return self._held[name]

    async def drop(self, name: str) -> None:
        """Give a study back, as it will be another one."""
        if (held := self._held.pop(name, None)) is not None:
            await asyncio.to_thread(held.writer.close)
            await asyncio.to_thread(held.study.close)

    async def read(self, question: Callable[[Database], T]) -> T:
        """The answer to a question about the database, which goes on meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, question)

    async def version(self, name: str) -> tuple[Any, ...]:
        """What changes whenever something changes that may be shown of a study."""

        def question(database: Database) -> tuple[Any, ...]:
            found = database.one("SELECT state, people FROM study WHERE study = ?", name)
            if found is None:
                raise UnknownStudy(f"there is no study {name!r}")
            return *found, len(published(database, self.witness, name))

        return await self.read(question)

    def _open(self, name: str) -> Study:
        database = connect(self.address, create=False)
        try:
            return Study(database, self.witness, name, self.clock)
        except BaseException:
            database.close()
            raise

    def _ask(self, question: Callable[[Database], T]) -> T:
        try:
            database = self._readers.get_nowait()
        except Empty:
            database = connect(self.address)
        try:
            answer = question(database)
        except StoreError:
            database.close()  # it may be broken
            raise
        except BaseException:
            self._readers.put(database)
            raise
        self._readers.put(database)
        return answer

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(1)
            try:
                await self._round()
            except Exception:
                self.ready = False
                log.exception("the clock failed, and goes on")

    async def _round(self) -> None:
        """Read the keys, hold what is not held yet, and do what is due."""

        def question(database: Database) -> list[str]:
            self.keys.read(database)
            return [each.name for each in listed(database) if each.state in LIVE]

        ready = True
        for name in await self.read(question):
            try:
                await self.hold(name)
            except MaskedBanditError as why:
                ready = False
                log.warning("a study is not held", extra={"study": name, "why": str(why)})
        ticks = [held.writer.submit(held.study.op_tick) for held in self._held.values()]
        for name, done in zip(list(self._held), await asyncio.gather(*ticks, return_exceptions=True), strict=True):
            if isinstance(done, BaseException):
                ready = False
                log.warning("a study could not go on", extra={"study": name, "why": str(done)})
        self.ready = ready
