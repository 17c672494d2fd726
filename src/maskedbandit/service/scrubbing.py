"""Scrubbing the files of a database after erasures, beside all else, and for at most a hundredth of the time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic

from maskedbandit.errors import StoreError
from maskedbandit.store.connection import connect
from maskedbandit.store.database import Again
from maskedbandit.store.traces import Scrubber

REST = 100  # times as long as it took


class Scrubbing:
    """That of the database at an address."""

    def __init__(self, address: str) -> None:
        self._address, self._scrubber = address, Scrubber()
        self._under_way: asyncio.Task[None] | None = None
        self._rests = 0.0  # until when

    def begin(self) -> None:
        """Scrub, unless it is being done, or it is too early to do it again."""
        if (self._under_way is None or self._under_way.done()) and monotonic() >= self._rests:
            self._under_way = asyncio.create_task(self._do())

    async def end(self) -> None:
        """Wait until it is done."""
        if self._under_way is not None:
            await self._under_way

    async def _do(self) -> None:
        start = monotonic()
        with suppress(StoreError, Again):  # the clock will say that the database fails, and it is tried again
            await asyncio.to_thread(self._scrub)
        self._rests = monotonic() + REST * (monotonic() - start)

    def _scrub(self) -> None:
        database = connect(self._address, create=False)  # of its own, as it takes a while
        try:
            self._scrubber.scrub(database)
        finally:
            database.close()
