"""One thread that writes for many: whatever waits while it writes goes into its next transaction.

A transaction waits for the disk once, however many operations are in it, so many callers together are served faster
than one after the other. There is no timer: a lone operation is written at once.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

from maskedbandit.errors import StorageFailed
from maskedbandit.store.session import Done, Operation
from maskedbandit.store.study import Study

MOST = 512  # operations in a transaction


class Waiting(NamedTuple):
    """An operation that waits to be done."""

    operation: Operation
    future: Any
    ticket: str | None
    unit: str | None


class Writer:
    """The thread that writes for a study, until `close`.

    **Guarantee**: the future of an operation has a result only after the operation is on disk.

    >>> from maskedbandit.store.studies import example
    >>> with example() as study, Writer(study) as writer:
    ...     waiting = [writer.submit(lambda unit=unit: study.op_assign(unit)) for unit in ("ann", "bob")]
    ...     [len(each.result().ticket) for each in waiting]
    [32, 32]
    """

    def __init__(self, study: Study, loop: AbstractEventLoop | None = None) -> None:
        self._study, self._loop = study, loop
        self._waiting: SimpleQueue[Waiting | None] = SimpleQueue()
        self._closed, self._lock = False, Lock()
        self._thread = Thread(target=self._write, name=f"writer of {study.name}", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation, ticket: str | None = None, unit: str | None = None) -> Any:
        """Have an operation of the study done; it is faster if the ticket or the unit that it is about is named.

        What comes of it is in a future: of the loop, if the writer has one, and otherwise of threads.
        """
        future: Any = self._loop.create_future() if self._loop else Future()
        with self._lock:
            if self._closed:
                raise StorageFailed("the study is being closed: nothing was done")
            self._waiting.put(Waiting(operation, future, ticket, unit))
        return future

    @property
    def waiting(self) -> int:
        """How many operations wait."""
        return self._waiting.qsize()

    def close(self) -> None:
        """Write what waits, and end."""
        with self._lock:  # so that nothing comes after what ends the thread
            self._closed = True
            self._waiting.put(None)
        self._thread.join()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self) -> None:
        going_on = True
        while going_on:
            batch = [self._waiting.get()]
            while batch[-1] is not None and len(batch) < MOST:
                try:
                    batch.append(self._waiting.get_nowait())
                except Empty:
                    break
            going_on = batch[-1] is not None
            mine = [each for each in batch if each is not None]
            if not self._loop:
                mine = [each for each in mine if each.future.set_running_or_notify_cancel()]
            if mine:
                self._do(mine)

    def _do(self, batch: list[Waiting]) -> None:
        tickets = [each.ticket for each in batch if each.ticket is not None]
        units = [each.unit for each in batch if each.unit is not None]
        try:
            done: list[Done] | BaseException = self._study.apply([each.operation for each in batch], tickets, units)
        except BaseException as why:
            done = why
        if self._loop:
            self._loop.call_soon_threadsafe(settle, batch, done)  # once for all: it wakes the loop up
        else:
            settle(batch, done)


def settle(batch: list[Waiting], done: list[Done] | BaseException) -> None:
    """Tell those who wait what came of it; whoever does not wait any more is not told."""
    failed = isinstance(done, BaseException)
    results: Any = [(None, done)] * len(batch) if failed else done
    for each, (result, why) in zip(batch, results, strict=True):
        if each.future.cancelled():
            continue
        if why is None:
            each.future.set_result(result)
        else:
            each.future.set_exception(why)
