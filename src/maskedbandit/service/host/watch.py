"""Whether a study changed: looked up once a second, however many listen, who sleep until it did."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from maskedbandit.errors import MaskedBanditError, StorageFailed

LOOK_SECONDS = 1.0
Version = tuple[Any, ...]


class Listener:
    """One who listens, and what they have been told of."""

    def __init__(self, watch: StudyWatch, may_listen: Callable[[], bool]) -> None:
        self._watch, self.may_listen = watch, may_listen
        self.told: Version | None = None
        self.woken = asyncio.Event()

    async def await_version(self, told: Version, longest: float) -> Version:
        """The version of the study, once it is another one than was told, or after so many seconds; or because this one
        may listen no more, or the server ends."""
        self.told = told
        self.woken.clear()
        if self._watch.ended:  # while this one was busy
            return self._watch.look_back(told)
        try:
            async with asyncio.timeout(longest):
                await self.woken.wait()
        except TimeoutError:
            return told
        return self._watch.look_back(told)


class StudyWatch:
    """Those who listen to a study, and a task that looks for them."""

    def __init__(self, find_version: Callable[[], Awaitable[Version]], stops: asyncio.Future[Any]) -> None:
        self._find_version, self._stops = find_version, stops
        self._listeners: set[Listener] = set()
        self._latest: Version | None = None
        self._failed: MaskedBanditError | None = None
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def listen(self, may_listen: Callable[[], bool]) -> Iterator[Listener]:
        """A place among those who listen, until the end of a block."""
        listener = Listener(self, may_listen)
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._latest = self._failed = None
            self._task = asyncio.create_task(self._look())
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None  # whoever comes before it has ended begins another

    def look_back(self, told: Version) -> Version:
        """The version that was found last, or why none was."""
        if self._failed is not None:
            raise self._failed.with_traceback(None)
        return told if self._latest is None else self._latest

    @property
    def ended(self) -> bool:
        """Whether nobody looks any more."""
        return self._failed is not None or self._stops.done()

    async def _look(self) -> None:
        while not self.ended:
            await asyncio.wait([self._stops], timeout=LOOK_SECONDS)
            try:
                self._latest = await self._find_version()
            except MaskedBanditError as why:  # such as of a draft that was deleted
                self._failed = why
            except Exception as why:
                self._failed = StorageFailed(f"nobody knows whether the study changed: {why}")
            for each in self._listeners:
                if self.ended or each.told not in (None, self._latest) or not each.may_listen():
                    each.woken.set()
