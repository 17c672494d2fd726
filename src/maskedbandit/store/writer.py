"""One thread that writes for many: whatever waits while it writes goes into its next transaction.

A transaction waits for the disk once, however many operations are in it, so many callers together are served faster
than one after the other. There is no timer: a lone operation is written at once.
"""

from __future__ import annotations

from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.store.session import Operation
from maskedbandit.store.study import Study

MOST = 512  # operations in a transaction


class Waiting(NamedTuple):
    """An operation that waits to be done."""

    operation: Operation
    future: Future[Any]
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

    def __init__(self, study: Study) -> None:
        self._study = study
        self._waiting: SimpleQueue[Waiting | None] = SimpleQueue()
        self._closed, self._lock = False, Lock()
        self._thread = Thread(target=self._write, name=f"writer of {study.name}", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation, ticket: str | None = None, unit: str | None = None) -> Future[Any]:
        """Have an operation of the study done; it is faster if the ticket or the unit that it is about is named."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise InvalidValue("the writer", "closed", "open")
            self._waiting.put(Waiting(operation, future, ticket, unit))
        return future

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
            mine = [each for each in batch if each is not None and each.future.set_running_or_notify_cancel()]
            if mine:
                self._do(mine)

    def _do(self, batch: list[Waiting]) -> None:
        tickets = [each.ticket for each in batch if each.ticket is not None]
        units = [each.unit for each in batch if each.unit is not None]
        try:
            done = self._study.apply([each.operation for each in batch], tickets, units)
        except BaseException as why:
            for each in batch:
                each.future.set_exception(why)
            return
        for each, result in zip(batch, done, strict=True):
            if result.refusal is None:
                each.future.set_result(result.result)
            else:
                each.future.set_exception(result.refusal)
