"""What every server process hosts: the studies of a database, each with its writer, and the clock that moves them on.

Every second each study is asked to do what is due, which also keeps its lease. A study that another process holds is
taken over when that process is gone.
"""

import asyncio
import hmac
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, ClassVar

import httpx

from maskedbandit.errors import BehindWitness, Corrupted, FencedOff, MaskedBanditError, StorageFailed, StoreError
from maskedbandit.service.host.attention import CLOCK, Attention
from maskedbandit.service.host.elsewhere import PROCESS, Elsewhere
from maskedbandit.service.host.last_use import LastUse
from maskedbandit.service.host.metrics import Metrics
from maskedbandit.service.host.questions import QUESTION_PATIENCE, Questions
from maskedbandit.service.host.scrubbing import Scrubbing
from maskedbandit.service.keys import Key, Keys
from maskedbandit.service.request.limits import Buckets
from maskedbandit.service.views.health import AHEAD
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.held_study import HeldStudy
from maskedbandit.store.helping.book import check_role
from maskedbandit.store.lease import Holder, may_be_alive, name_holder, read_clock, read_holder
from maskedbandit.store.studies import prepare_witness
from maskedbandit.store.study_rows import StudyRow, read_studies, read_study
from maskedbandit.store.traces import has_traces
from maskedbandit.store.writer import Writer

log = logging.getLogger("maskedbandit")
LIMITS = httpx.Limits(max_connections=20, keepalive_expiry=2)  # seconds: fewer than those after which servers close
STALLED = 10  # seconds after which a round of the clock ends no more
LIVE = ("running", "paused", "stopped")
Looks = dict[tuple[str, str], bool | None]


class Hosting(ABC):
    """The studies of a database, while a server runs."""

    role: ClassVar[str]  # of this operator in all of them

    def __init__(
        self, address: str, folder: Path | None, rate: float, clock: Callable[[], int], keys: Keys | None = None
    ) -> None:
        self.url = ""  # where other processes reach this one
        self.address, self.folder, self.clock, self.keys = address, folder, clock, keys or Keys()
        self.callers = Buckets(rate, 2 * rate)
        self.strangers = Buckets(5, 20)  # requests with wrong keys
        self.metrics = Metrics()
        self.stopping = asyncio.Event()
        self._wrote = False  # whether the last round of the clock wrote everything
        self._round_since: float | None = None  # when the round began that is under way
        self.held: dict[str, Writer | Elsewhere] = {}  # studies that were asked for, by name
        self._refused: dict[str, StoreError] = {}  # studies that could not be opened since the last round
        self._troubles: dict[str, BaseException] = {}  # of studies, when the clock last went round
        self.attention, self.scrubbing, self.last_use = Attention(), Scrubbing(address), LastUse()
        self._opening = asyncio.Lock()
        open_database(address).close()  # its tables are brought up to date, however long that takes
        self.questions = Questions(address)
        self.read, self.recompute = self.questions.read, self.questions.recompute
        self.questions.ask(partial(check_role, role=self.role))
        self.witness = self.questions.ask(partial(prepare_witness, folder=folder))
        self.questions.ask(self._read_known)
        self.cookies = self.witness.secret("cookies")
        self.process_seal = hmac.digest(self.cookies, b"process\n", sha256).hex().encode()

    async def start(self) -> None:
        """Hold all studies, and begin the clock."""
        self.stops = asyncio.ensure_future(self.stopping.wait())
        await self._round()
        self._clock_task = asyncio.create_task(self._go_on())

    async def stop(self) -> None:
        """Write what waits, and give everything back."""
        self.stopping.set()
        self._clock_task.cancel()
        await self._end_settling()
        for name in list(self.held):
            await self.drop(name)
        await self.scrubbing.end()
        if "_client" in vars(self):
            await self._client.aclose()
        self.questions.close()

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        """The way to other processes: made late, as that reads all certificates that are trusted."""
        headers = {PROCESS: self.process_seal.decode()}
        return httpx.AsyncClient(trust_env=False, limits=LIMITS, headers=headers)

    def answers_page(self, study: str, origin: str) -> bool:
        """Whether pages of a site may ask what the devices of a study ask."""
        return self.keys.names_origin(study, origin, self.clock())

    @property
    def ready(self) -> bool:
        """Whether the last round of the clock wrote everything, and the one that is under way does not hang."""
        since = self._round_since
        return self._wrote and not self.stopping.is_set() and (since is None or monotonic() - since < STALLED)

    @property
    def trouble(self) -> StoreError:
        """Why it is not ready; first what is not cured by itself."""
        lasting = [why for why in self._troubles.values() if isinstance(why, BehindWitness | Corrupted)]
        return lasting[0].with_traceback(None) if lasting else StorageFailed("not all studies can be written")

    async def find_new_key(self, text: str, count_stranger: Callable[[], Awaitable[None]]) -> Key:
        """The key with this text, which may have been made since keys were read; a stranger is counted first."""
        await count_stranger()
        if self.keys.may_be_new(text):
            await self.read(self.keys.read)
        return self.keys.of(text, self.clock())

    async def hold(self, name: str) -> Writer | Elsewhere:
        """The study of this name: held by this process, or by another one that answers for it.

        One that could not be opened is not tried again before the next round of the clock, however many ask for it.
        """
        if (held := self.held.get(name)) is not None:
            return held
        await self.read(partial(read_study, name=name))  # is there such a study?
        async with self._opening:
            if name not in self.held:
                if name in self._refused:
                    raise self._refused[name].with_traceback(None)
                if self.stopping.is_set():
                    raise StorageFailed("the server is ending: it opens no study")
                try:
                    self.held[name] = await self._opened(name)
                except StoreError as why:
                    self._refused[name] = why
                    raise
        return self.held[name]

    async def replace_holder(self, away: Elsewhere) -> Writer | Elsewhere:
        """The new holder of a study whose holder does not answer; raise `FencedOff` if its process may be alive.

        It does not wait for the clock. Of those who ask at the same time, the first one has the study opened.
        """
        if may_be_alive(away.holder):
            raise away.away()
        async with self._opening:
            if self.held.get(away.name) is away:
                del self.held[away.name]
        return await self.hold(away.name)

    async def drop(self, name: str) -> None:
        """Give a study back before it is replaced. Whoever asks for it meanwhile waits until that is done."""
        async with self._opening:
            if isinstance(held := self.held.pop(name, None), Writer):
                await asyncio.to_thread(held.close)
                await asyncio.to_thread(held.study.close)

    @abstractmethod
    def _hold(self, database: Database, name: str, holder: str) -> HeldStudy[Any]:
        """Hold a study in this process."""

    def _read_known(self, database: Database) -> None:
        """Read who may ask."""
        self.keys.read(database)

    def _look_at(self, database: Database, study: StudyRow, published: bool) -> Looks:
        """What somebody should look at in a study, and what is measured of it."""
        return {}

    @property
    def _settling(self) -> bool:
        """Whether something is under way that takes longer if more was reported."""
        return False

    def _settle(self, held: Mapping[str, Writer]) -> Looks:
        """Have the studies that this process holds go on with others, and say what somebody should look at."""
        return {}

    async def _end_settling(self) -> None:  # noqa: B027 - a helper begins nothing with others
        """End what was begun with others."""

    async def _opened(self, name: str) -> Writer | Elsewhere:
        try:
            study = await asyncio.to_thread(self._open, name)
        except FencedOff:
            holder = (await self.read(partial(read_holder, study=name))).holder
            if (url := self._reached(holder)) in ("", self.url):
                raise  # by a command, which ends soon, or by this process, which is about to give it back
            return Elsewhere(name, holder, url, self._client)
        return Writer(study, asyncio.get_running_loop())

    def _holder(self) -> str:
        """The name of a holder in this process, and where others may send what they are asked."""
        who = name_holder()
        return f"{who} {self._seal(who, self.url)} {self.url}" if self.url else who

    def _seal(self, who: str, url: str) -> str:
        """A text that only a process with the same witness can write: keys of clients are sent to no other process."""
        return hmac.digest(self.cookies, f"holder\n{who}\n{url}".encode(), sha256).hex()

    def _reached(self, holder: str) -> str:
        """The address at which a holder can be reached, or nothing."""
        rest, _, url = holder.rpartition(" ")
        who, _, seal = rest.rpartition(" ")
        return url if hmac.compare_digest(seal.encode(), self._seal(who, url).encode()) else ""

    def _open(self, name: str) -> HeldStudy[Any]:
        database = open_database(self.address, create=False, patience=QUESTION_PATIENCE)
        try:
            return self._hold(database, name, self._holder())
        except BaseException:
            database.close()
            raise

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(1)
            try:
                await self._round()
            except Exception:
                self._wrote, self._troubles = False, {}
                self.metrics.ready.set(False)
                log.exception("the clock failed, and goes on")

    async def _round(self) -> None:
        self._round_since = monotonic()
        try:
            await self._go_round()
        finally:
            self._round_since = None

    async def _go_round(self) -> None:
        """Read the keys and who signed out, hold what is not held yet, and do what is due."""

        def question(database: Database) -> tuple[list[tuple[StudyRow, Holder]], bool]:
            self._read_known(database)
            witness, studies = self.witness.as_now(), read_studies(database)
            for each in studies:
                if each.state not in LIVE:
                    continue
                seen, here = witness.seen(each.name), isinstance(self.held.get(each.name), Writer)
                entries = seen.head.entries if seen else 0
                published = database.rows("SELECT COUNT(*) FROM entry WHERE study = ?", each.name)[0][0] == entries
                if published:
                    self.metrics.study(each.name, each.state, entries, here)
                looks.update(self._look_at(database, each, published))
            mine = (each for each in studies if each.state in LIVE or isinstance(self.held.get(each.name), Elsewhere))
            return [(each, read_holder(database, each.name)) for each in mine], has_traces(database)

        looks, troubles = Looks(), dict[str, BaseException]()
        self._refused.clear()
        studies, traces = await self.questions.of_clock(question)
        if traces:
            self.scrubbing.begin()
        for row, by in studies:
            held = self.held.get(row.name)
            if isinstance(held, Elsewhere) and (
                by.holder != held.holder or by.lease < read_clock() or not may_be_alive(by.holder)
            ):
                await self.drop(row.name)  # it ended, or somebody else has it
            try:
                if row.state in LIVE:
                    await self.hold(row.name)
            except MaskedBanditError as why:
                troubles[row.name] = why
        here = {name: held for name, held in self.held.items() if isinstance(held, Writer)}
        ticks = [held.submit("tick") for held in here.values()]
        start, settling = perf_counter(), self._settling
        results = await asyncio.gather(*ticks, return_exceptions=True)
        for name, done in zip(here, results, strict=True):
            if isinstance(done, BaseException):
                troubles[name] = done
            if isinstance(done, FencedOff):
                await self.drop(name)
        # a release takes longer if more was reported
        if not settling and not self._settling and not any(isinstance(done, list) and done for done in results):
            self.metrics.tick.set(perf_counter() - start)
        for name, trouble in troubles.items():
            if str(self._troubles.get(name, "")) != str(trouble):  # not every second
                log.warning("a study cannot go on", extra={"study": name, "why": str(trouble)})
        self._troubles, self._wrote = troubles, not troubles
        self.metrics.ready.set(self._wrote)
        for name, held in here.items():
            ahead = max(held.study.time - self.clock(), 0)
            self.metrics.ahead.labels(name).set(ahead / 1000)
            looks[name, CLOCK] = ahead > AHEAD
        if self.last_use.waiting:
            await self.questions.of_clock(self.last_use.write)
        looks |= self._settle(here)
        self.attention.renew(looks)
