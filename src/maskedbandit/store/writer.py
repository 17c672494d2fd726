"""One thread that writes for many: whatever waits while it writes goes into its next transaction.

A transaction waits for the disk once, however many operations are in it, so many callers together are served faster
than one after the other. There is no timer: a lone operation is written at once.
"""

from __future__ import annotations

from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from maskedbandit.errors import InvalidValue
from maskedbandit.store.session import Operation
from maskedbandit.store.study import Study

MOST = 512  # operations in a transaction


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
        self._waiting: SimpleQueue[tuple[Operation, Future[Any]] | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=self._write, name=f"writer of {study.name}", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation) -> Future[Any]:
        """Have an operation of the study done."""
        if self._closed:
            raise InvalidValue("the writer", "closed", "open")
        future: Future[Any] = Future()
        self._waiting.put((operation, future))
        return future

    def close(self) -> None:
        """Write what waits, and end."""
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
            mine = [each for each in batch if each is not None and each[1].set_running_or_notify_cancel()]
            if mine:
                self._do(mine)

    def _do(self, batch: list[tuple[Operation, Future[Any]]]) -> None:
        try:
            done = self._study.apply([operation for operation, _ in batch])
        except BaseException as why:
            for _, future in batch:
                future.set_exception(why)
            return
        for (_, future), each in zip(batch, done, strict=True):
            if each.refusal is None:
                future.set_result(each.result)
            else:
                future.set_exception(each.refusal)
