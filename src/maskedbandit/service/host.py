"""What a server process hosts: the studies of a database, each with its writer, and the clock that makes them go on.

Every second each study is asked to do what is due, which also keeps its lease. A study that another process holds is
taken over when that process is gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, TypeVar

import httpx

from maskedbandit.errors import FencedOff, MaskedBanditError, StoreError, UnknownStudy
from maskedbandit.service.elsewhere import Elsewhere
from maskedbandit.service.held import Held
from maskedbandit.service.keys import Keys
from maskedbandit.service.limits import Buckets
from maskedbandit.service.metrics import Metrics
from maskedbandit.service.tally import Tally
from maskedbandit.store.connection import connect
from maskedbandit.store.database import Database
from maskedbandit.store.lease import may_be_alive, own_name, wall_clock
from maskedbandit.store.studies import listed, prepared_witness
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer
from maskedbandit.study.protocol import Protocol

log = logging.getLogger("maskedbandit")
READERS = 4  # connections that only read
LIVE = ("running", "paused", "stopped")
T = TypeVar("T")
Forecast = Callable[[Protocol, float, float, float], Awaitable[list[tuple[str, str]]]]


class Host:
    """The studies of a database, while a server runs."""

    def __init__(
        self, address: str, folder: Path | None, rate: float = 5000, clock: Callable[[], int] = wall_clock
    ) -> None:
        self.forecast: Forecast | None = None  # what a new study would bring; it is simulated, which is not for here
        self.url = ""  # where other processes reach this one
        self.address, self.folder, self.clock, self.keys = address, folder, clock, Keys()
        self.callers, self.people = Buckets(rate, 2 * rate), Buckets(10, 30)
        self.strangers = Buckets(5, 20)  # requests with wrong keys
        self.metrics = Metrics()
        self.tallies: dict[str, Tally] = {}  # what was counted for the page, by study
        self.stopping = asyncio.Event()
        self.ready = False  # whether the last round of the clock wrote everything
        self._held: dict[str, Held | Elsewhere] = {}
        self._troubles: dict[str, str] = {}  # of studies, when the clock last went round
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
        self._client = httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=20))
        self.stops = asyncio.ensure_future(self.stopping.wait())
        await self._round()
        self._clock_task = asyncio.create_task(self._go_on())

    async def stop(self) -> None:
        """Write what waits, and give everything back."""
        self.stopping.set()
        self._clock_task.cancel()
        for name in list(self._held):
            await self.drop(name)
        await self._client.aclose()
        self._threads.shutdown()
        while not self._readers.empty():
            self._readers.get().close()

    async def hold(self, name: str) -> Held | Elsewhere:
        """The study of this name: held by this process, or by another one that answers for it."""
        if (held := self._held.get(name)) is not None:
            return held
        async with self._opening:
            if name not in self._held:
                try:
                    study = await asyncio.to_thread(self._open, name)
                    self._held[name] = Held(study, Writer(study, asyncio.get_running_loop()))
                except FencedOff:
                    holder = await self.read(partial(holder_of, name=name))
                    if "://" not in holder:
                        raise  # by a command, which ends soon
                    self._held[name] = Elsewhere(name, holder, self._client)
        return self._held[name]

    async def drop(self, name: str) -> None:
        """Give a study back, as it will be another one."""
        if isinstance(held := self._held.pop(name, None), Held):
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
            seen = self.witness.seen(name)
            return *found, seen.head.entries if seen else 0

        return await self.read(question)

    def _open(self, name: str) -> Study:
        database = connect(self.address, create=False)
        try:
            return Study(database, self.witness, name, self.clock, f"{own_name()} {self.url}".strip())
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

        def question(database: Database) -> list[tuple[str, str, int]]:
            self.keys.read(database)
            studies = [each for each in listed(database) if each.state in LIVE]
            for each in studies:
                seen = self.witness.seen(each.name)
                held = isinstance(self._held.get(each.name), Held)
                self.metrics.study(each.name, each.state, each.people, seen.head.entries if seen else 0, held)
            return [(each.name, *lease_of(database, each.name)) for each in studies]

        troubles: dict[str, str] = {}
        for name, holder, lease in await self.read(question):
            held = self._held.get(name)
            if isinstance(held, Elsewhere) and (
                holder != held.holder or lease < wall_clock() or not may_be_alive(holder)
            ):
                await self.drop(name)  # it ended, or somebody else has it
            try:
                await self.hold(name)
            except MaskedBanditError as why:
                troubles[name] = str(why)
        here = {name: held for name, held in self._held.items() if isinstance(held, Held)}
        ticks = [held.writer.submit(held.study.op_tick) for held in here.values()]
        start = perf_counter()
        for name, done in zip(here, await asyncio.gather(*ticks, return_exceptions=True), strict=True):
            if isinstance(done, BaseException):
                troubles[name] = str(done)
            if isinstance(done, FencedOff):
                await self.drop(name)
        self.metrics.tick.set(perf_counter() - start)
        for name, text in troubles.items():
            if self._troubles.get(name) != text:  # not every second
                log.warning("a study cannot go on", extra={"study": name, "why": text})
        self._troubles, self.ready = troubles, not troubles
        self.metrics.ready.set(self.ready)


def lease_of(database: Database, name: str) -> tuple[str, int]:
    """Who holds a study, and until when nobody else may take it over."""
    row = database.one("SELECT holder, lease FROM study WHERE study = ?", name)
    if row is None:
        raise UnknownStudy(f"there is no study {name!r}")
    return str(row[0]), int(row[1])


def holder_of(database: Database, name: str) -> str:
    """Who holds a study."""
    return lease_of(database, name)[0]
