"""Numbered runs on threads. The numbers do not depend on the threads, and an interrupt does not wait for a run to end.

Compiled loops run without the interpreter's lock, so threads share all cores. Nothing can stop such a loop within a
run, and a run may take minutes; so the thread that asked does none itself. It waits for one result at a time, in short
steps, as a signal that arrives on another thread wakes nobody who waits without an end. On an interrupt it leaves, and
the threads end with the run that they are in, or with the process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

from maskedbandit.lab.streams import Streams
from maskedbandit.privacy.exact import whole

STEP = 0.1  # seconds until a waiting thread looks for an interrupt

T = TypeVar("T")


def on_threads(
    single: Callable[[int, Streams], T],
    runs: int,
    jobs: int | None,
    seed: int,
    study: str,
    advance: Callable[[], object],
) -> list[T]:
    """What `single(run, streams)` gives for each run, in order; `advance` is called after every run, here."""
    jobs = whole("jobs", jobs if jobs is not None else os.cpu_count() or 1, 1)
    numbers, results, stopped, wake = iter(range(runs)), SimpleQueue[tuple[int, Any]](), Event(), Event()

    def work() -> None:
        streams = Streams(seed, study)  # one object serves one thread
        try:
            while not stopped.is_set() and (run := next(numbers, -1)) >= 0:
                results.put((run, single(run, streams)))
                if run == 0:
                    wake.set()
        except BaseException as wrong:
            stopped.set()
            results.put((-1, wrong))
        wake.set()

    found: dict[int, T] = {}
    threads = list[Thread]()
    try:
        while len(found) < runs:
            # the first run alone, so that threads do not all compile
            while len(threads) < (min(jobs, runs) if found else 1):
                threads.append(Thread(target=work, daemon=True))
                threads[-1].start()
            wake.wait(STEP)
            wake.clear()
            while not results.empty():
                run, result = results.get()
                if run < 0:
                    raise result
                found[run] = result
                advance()
    finally:
        stopped.set()
    for thread in threads:
        thread.join()
    return [found[run] for run in range(runs)]
