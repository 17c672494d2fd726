"""Questions about the database, which goes on meanwhile: threads that ask them, and connections that only read."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from maskedbandit.errors import StorageFailed, StoreError, TooMany
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database

QUESTION_PATIENCE = 8  # seconds for which a database may say nothing
READERS = 4  # connections that only read
MOST_QUESTIONS = 1000  # questions that wait for one of them; more are refused
T = TypeVar("T")


class Questions:
    """The questions of one server. The clock has a thread of its own, so that no other question keeps it waiting."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._readers: SimpleQueue[Database] = SimpleQueue()
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._clock = ThreadPoolExecutor(1, thread_name_prefix="clock")
        self._long = asyncio.Lock()
        self.waiting = 0  # or being answered
        self._failures = 0  # of the database

    async def read(self, question: Callable[[Database], T]) -> T:
        """The answer to a question about the database."""
        if self.waiting >= MOST_QUESTIONS:
            raise TooMany("too many questions to the database wait: try again later")
        self.waiting += 1
        try:
            ask = partial(self._ask_unless_failed, question, self._failures)
            return await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        finally:
            self.waiting -= 1

    async def of_clock(self, question: Callable[[Database], T]) -> T:
        """The answer to a question of the clock."""
        return await asyncio.get_running_loop().run_in_executor(self._clock, self.ask, question)

    async def recompute(self, question: Callable[[Database], T]) -> T:
        """The answer to one that takes a while, from a connection of its own: one at a time."""

        def ask() -> T:
            with closing(open_database(self._address, create=False)) as database:
                return question(database)

        async with self._long:
            return await asyncio.to_thread(ask)

    def ask(self, question: Callable[[Database], T]) -> T:
        """The answer, from this thread."""
        try:
            database = self._readers.get_nowait()
        except Empty:
            database = open_database(self._address, patience=QUESTION_PATIENCE)
        try:
            answer = question(database)
        except StoreError as why:
            database.close()  # it may be broken
            if isinstance(why, StorageFailed):
                self._failures += 1
                self._let_go()  # the others may be too
            raise
        except BaseException:
            self._readers.put(database)
            raise
        self._readers.put(database)
        return answer

    def close(self) -> None:
        """Answer what waits, and close the connections."""
        self._threads.shutdown()
        self._clock.shutdown()
        self._let_go()

    def _ask_unless_failed(self, question: Callable[[Database], T], failures: int) -> T:
        """Ask, unless the database failed while this waited for a thread: it would wait for that once more."""
        if self._failures != failures:
            raise StorageFailed("the database failed while others asked it")
        return self.ask(question)

    def _let_go(self) -> None:
        with suppress(Empty):
            while True:
                self._readers.get_nowait().close()
