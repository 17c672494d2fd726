"""Scrubbing the files of a database after erasures, beside all else, and for at most a hundredth of the time."""

import asyncio
import logging
from time import monotonic

from maskedbandit.errors import MaskedBanditError
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Again, Database
from maskedbandit.store.traces import Scrubber

REST = 100  # times as long as it took
GRACE = 5  # seconds
log = logging.getLogger("maskedbandit")


class Scrubbing:
    """The scrubbing of the database at one address."""

    def __init__(self, address: str) -> None:
        self._address, self._scrubber = address, Scrubber()
        self._under_way: asyncio.Task[None] | None = None
        self._database: Database | None = None  # while it is done
        self._rests = 0.0  # until when

    def begin(self) -> None:
        """Scrub, unless it is being done, or it is too early to do it again."""
        if (self._under_way is None or self._under_way.done()) and monotonic() >= self._rests:
            self._under_way = asyncio.create_task(self._do())

    async def end(self) -> None:
        """Wait until it is done, for a while; whatever is left is done by the next server."""
        if self._under_way is not None:
            await asyncio.wait([self._under_way], timeout=GRACE)
            if self._database is not None:
                self._database.interrupt()
            await self._under_way

    async def _do(self) -> None:
        start = monotonic()
        try:
            await asyncio.to_thread(self._scrub)
        except (
            MaskedBanditError,
            Again,
        ) as why:  # it is tried again, and meanwhile nothing is acknowledged that is not so
            log.warning("the files of the database were not scrubbed", extra={"why": str(why)})
        self._rests = monotonic() + REST * (monotonic() - start)

    def _scrub(self) -> None:
        self._database = database = open_database(self._address, create=False)  # of its own, as it takes a while
        try:
            self._scrubber.scrub(database)
        finally:
            self._database = None
            database.close()
