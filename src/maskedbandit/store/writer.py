"""One thread that writes for many: whatever waits while it writes goes into its next transaction.

A transaction waits for the disk once, however many operations are in it, so many callers together are served faster
than one after the other. Without an event loop a lone operation is written at once. With one, it is written when the
loop has read all that came, or after three milliseconds of its turns: a transaction then has all who wait, and not the
half of them that came while it wrote for the others; and the two threads seldom want the interpreter at the same time.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from maskedbandit.errors import StorageFailed
from maskedbandit.store.held_study import HeldStudy
from maskedbandit.store.requests import Done, Operation

MOST_OPERATIONS = 512  # operations in a transaction
ROUNDS = 2  # of the loop without anything new: it reads a request in one, and acts on it in the next
LONGEST = 0.003  # seconds: a loop that has much else to do goes round seldom, and each time somebody may have come
Waiting = tuple[Operation, Any]  # an operation and its future


class Writer:
    """The thread that writes for a study, or for the helper's part of one, until `close`.

    With a loop only its thread may submit.

    **Guarantee**: the future of an operation has a result only after the operation is on disk.

    >>> from maskedbandit.store.studies import open_example
    >>> with open_example() as study, Writer(study) as writer:
    ...     waiting = [writer.submit("assign", unit) for unit in ("ann", "bob")]
    ...     [len(each.result().ticket) for each in waiting]
    [32, 32]
    """

    def __init__(self, study: HeldStudy[Any], loop: AbstractEventLoop | None = None) -> None:
        self.study, self._loop = study, loop
        self._waiting: deque[Waiting] = deque()
        self._turns: SimpleQueue[bool] = SimpleQueue()  # each lets the thread write; False is the last one
        self._idle = True  # no turn is being waited for, or taken
        self._closed, self._lock = False, Lock()
        self._thread = Thread(target=self._write, name=f"writer of {study.name}", daemon=True)
        self._thread.start()

    def submit(self, *operation: Any) -> Any:
        """Have an operation of the study done: a verb, and what it is given.

        What comes of it is in a future: of the loop, if the writer has one, and otherwise of threads.
        """
        future: Any = self._loop.create_future() if self._loop else Future()
        with self._lock:
            if self._closed:
                raise StorageFailed("the study is being closed: nothing was done")
            self._waiting.append((operation, future))
            if not self._loop:
                self._turns.put(True)
        if self._loop and self._idle:
            self._idle = False
            self._when_all_came(self._loop, self._loop.time())
        return future

    @property
    def waiting(self) -> int:
        """How many operations wait."""
        return len(self._waiting)

    def close(self) -> None:
        """Write what waits, and end."""
        with self._lock:  # so that nothing comes after what ends the thread
            self._closed = True
            self._turns.put(False)
        self._thread.join()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _when_all_came(self, loop: AbstractEventLoop, start: float, before: int = 0, quiet: int = 0) -> None:
        """Let the thread write once the loop has gone round without anything new, or has taken too long."""
        now = len(self._waiting)
        quiet = quiet + 1 if now == before else 0
        if quiet == ROUNDS or now >= MOST_OPERATIONS or loop.time() - start > LONGEST:
            self._turns.put(True)
        else:
            loop.call_soon(self._when_all_came, loop, start, now, quiet)

    def _write(self) -> None:
        while self._turns.get():
            self._do_next()
        while self._waiting:
            self._do_next()

    def _next(self, most: int) -> list[Waiting]:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), most))]
        if not self._loop:
            batch = [each for each in batch if each[1].set_running_or_notify_cancel()]
        return batch

    def _do_next(self) -> None:
        if not (batch := self._next(MOST_OPERATIONS)):
            return
        operations, futures = [each for each, _ in batch], [future for _, future in batch]
        try:
            done: list[Done] | BaseException = self.study.apply(operations)
        except BaseException as why:
            done = why
            if isinstance(why, StorageFailed):  # it may have taken long, and whoever waits would wait for it once more
                futures += [each[1] for each in self._next(len(self._waiting))]
        if self._loop:
            self._loop.call_soon_threadsafe(
                self._end_turn, self._loop, futures, done
            )  # once for all: it wakes the loop up
        else:
            settle_futures(futures, done)

    def _end_turn(self, loop: AbstractEventLoop, futures: Sequence[Any], done: list[Done] | BaseException) -> None:
        """Tell those who wait, and go on with those who came meanwhile."""
        try:
            settle_futures(futures, done)
        finally:
            if self._waiting:
                self._when_all_came(loop, loop.time())
            else:
                self._idle = True


def settle_futures(futures: Sequence[Any], done: list[Done] | BaseException) -> None:
    """Tell those who wait what came of it; whoever does not wait any more is not told."""
    failed = isinstance(done, BaseException)
    results: Any = [(None, done)] * len(futures) if failed else done
    for future, (result, why) in zip(futures, results, strict=True):
        if future.cancelled():
            continue
        if why is None:
            future.set_result(result)
        elif isinstance(why, StopIteration):  # no future may fail with it
            future.set_exception(RuntimeError("an operation stopped an iteration"))
        else:
            future.set_exception(why)
