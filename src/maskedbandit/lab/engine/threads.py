"""An executor of threads that an interrupt does not wait for.

Compiled loops run without the interpreter's lock, so threads share all cores. Nothing can stop such a loop within a
run, and a run may take minutes: a process that ends waits for the threads of Python's own executor, and not for these.
"""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from maskedbandit.privacy.exact import to_whole

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


class Threads(Executor):
    """At most `jobs` threads, by default one for each core, which end with the process.

    >>> with Threads(2) as threads:
    ...     threads.submit(max, 3, 4).result()
    4
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._most = to_whole("jobs", jobs if jobs is not None else os.cpu_count() or 1, 1)
        self._calls = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]()
        self._threads = list[Thread]()

    def submit(
        self, fn: Callable[Arguments, Returned], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Returned]:
        future = Future[Returned]()
        self._calls.put((future, partial(fn, *args, **kwargs)))
        if len(self._threads) < self._most:
            self._threads.append(Thread(target=self._work, daemon=True))
            self._threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        while cancel_futures:
            try:
                call = self._calls.get_nowait()
            except Empty:
                break
            if call is not None:
                call[0].cancel()
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, run = call
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(run())
                except BaseException as wrong:
                    future.set_exception(wrong)
