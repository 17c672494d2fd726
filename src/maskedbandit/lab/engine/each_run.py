"""Numbered runs on an executor: threads, processes or a cluster. The numbers do not depend on it, nor on the pieces.

Runs are sent out in pieces. A piece comes back after a slice of time, with the runs that are done, and the rest of it
is sent out again in halves: so runs of microseconds share the cost of a message, long ones keep all workers busy to the
end, and little is lost with a worker. A run draws from streams of its own number, so it gives the same wherever it is.

An interrupt does not wait for a run to end. The calling process does no run itself, and waits in short steps, since a
signal that arrives on another thread does not wake a wait without a limit. It returns all runs that had come back; a
thread ends with its run, and any other worker with its piece.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from maskedbandit.errors import InvalidValue, WorkersLost
from maskedbandit.lab.engine.digest import digest_package
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.streams import Streams
from maskedbandit.privacy.exact import to_whole

PROGRESS_STEP = 0.1  # seconds until whoever waits looks for an interrupt
SLICE = 1.0  # seconds after which a piece comes back
PIECES = 64  # at first
MOST_RUNS = 10**7  # runs
POOLS = 3  # that may lose a worker, one after the other
ENGINES = ("distributed.scheduler", "ray.exceptions")  # whose errors say that a worker died again and again

RunResult = TypeVar("RunResult")
Workers: TypeAlias = Executor | Callable[[], Executor]  # an executor, or what makes one
KEPT_WORKERS = threading.local()


class Interrupted(KeyboardInterrupt):
    """An interrupt, and what the runs gave that had come back by then."""

    def __init__(self, found: dict[int, Any]) -> None:
        super().__init__()
        self.found = found


class Ended(Executor):
    """An executor that knows the results of these runs, and begins no other: it interrupts whoever asks for one."""

    def __init__(self, found: dict[int, Any]) -> None:
        self._found = found

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        _, runs, _ = args
        if not all(run in self._found for run in runs):
            raise KeyboardInterrupt
        future = Future[Any]()
        future.set_result([self._found[run] for run in runs])
        return future


@dataclass(frozen=True, kw_only=True)
class Task(ABC, Generic[RunResult]):
    """The common part of the runs of a setting. Its fields are sent to workers; the rest is made there."""

    seed: int
    study: str

    @abstractmethod
    def made(self) -> Callable[[int, Streams], RunResult]:
        """The function that does one run, given its number and its streams; threads may share it."""

    @cached_property
    def single(self) -> Callable[[int, Streams], RunResult]:
        """It, made once."""
        return self.made()

    @cached_property
    def stopped(self) -> threading.Event:
        """Set when nobody waits for more runs; known to the threads of one process."""
        return threading.Event()

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


def number_runs(runs: int, runs_from: int) -> range:
    """The numbers of so many runs."""
    first = to_whole("runs_from", runs_from, 0, MOST_RUNS - 1)
    return range(first, first + to_whole("runs", runs, 1, MOST_RUNS - first))


def streams_of(task: Task[Any]) -> Streams:
    """The streams of a task for the thread that asks, which are made once."""
    key = task.seed, task.study
    if getattr(KEPT_WORKERS, "key", None) != key:
        KEPT_WORKERS.key, KEPT_WORKERS.streams = key, Streams(*key)
    streams: Streams = KEPT_WORKERS.streams
    return streams


def piece(task: Task[RunResult], runs: range, code: str) -> list[RunResult]:
    """The results of the first of these runs: as many as end in a slice of time, and at least one."""
    if code and code != digest_package():
        said = "a worker's copy of maskedbandit", digest_package(), f"{code}, the code of the process that asks"
        raise InvalidValue(*said)
    found, end = list[RunResult](), time.monotonic() + SLICE
    streams, stopped = streams_of(task), task.stopped
    for run in runs:
        found.append(task.single(run, streams))
        if stopped.is_set() or time.monotonic() > end:
            break
    return found


def each_run(task: Task[RunResult], runs: range, executor: Workers, advance: Callable[[], object]) -> list[RunResult]:
    """The results of the runs of these numbers, in order; `advance` is called here for each, once its piece is back.

    A pool that lost a worker cannot be used again. If `executor` makes pools, another one does the runs that are
    missing. A cluster gives them to its other workers itself. An interrupt is an `Interrupted`.
    """
    found = dict[int, RunResult]()
    for left in reversed(range(POOLS)):
        try:
            with lent(executor) as workers:
                gather(task, runs, workers, found, advance)
            return [found[run] for run in runs]
        except KeyboardInterrupt:
            raise Interrupted(found) from None
        except Exception as wrong:
            broken = isinstance(wrong, BrokenExecutor)
            if not broken and not isinstance(wrong, CancelledError) and type(wrong).__module__ not in ENGINES:
                raise
            if isinstance(executor, Executor) or not broken or not left:
                kind = type(workers).__name__
                hint = " (an executor that is made anew, as executor=ProcessPoolExecutor, goes on)" if broken else ""
                said = f"{kind} lost workers, and {len(runs) - len(found)} of {len(runs)} runs with them: {wrong}"
                raise WorkersLost(said + (hint if isinstance(executor, Executor) else "")) from wrong
    raise AssertionError


@contextmanager
def lent(executor: Workers) -> Iterator[Executor]:
    """The executor, or one that is made, and ended after its use."""
    if isinstance(executor, Executor):
        yield executor
        return
    made = executor() if callable(executor) else executor
    if not isinstance(made, Executor):
        raise InvalidValue("executor", executor, "a concurrent.futures.Executor, or a function that makes one")
    try:
        yield made
    except BaseException:
        made.shutdown(wait=False, cancel_futures=True)
        raise
    made.shutdown()


def gather(
    task: Task[RunResult], runs: range, workers: Executor, found: dict[int, RunResult], advance: Callable[[], object]
) -> None:
    """Have the runs that are missing done."""
    code = "" if isinstance(workers, Threads) else digest_package()
    size, stopped = -(-len(runs) // PIECES), task.stopped
    stopped.clear()
    given, back = dict[Future[list[RunResult]], range](), SimpleQueue[Future[list[RunResult]]]()

    def give(part: range) -> None:
        future = workers.submit(piece, task, part, code)
        given[future] = part
        future.add_done_callback(back.put)

    try:
        for missing in split_into_ranges(run for run in runs if run not in found):
            for start in range(0, len(missing), size):
                give(missing[start : start + size])
        while given:
            try:
                future = back.get(timeout=PROGRESS_STEP)
            except Empty:
                continue
            part = given.pop(future)
            results = future.result()
            found.update(zip(part, results, strict=False))
            for _ in results:
                advance()
            rest = part[len(results) :]
            middle = len(rest) // 2
            for half in filter(None, (rest[:middle], rest[middle:])):  # more workers than pieces get some
                give(half)
    finally:
        if given:
            stopped.set()
        for future in given:
            future.cancel()


def split_into_ranges(runs: Iterable[int]) -> Iterator[range]:
    """Numbers in order, as ranges.

    >>> list(split_into_ranges([0, 1, 2, 5, 7, 8]))
    [range(0, 3), range(5, 6), range(7, 9)]
    """
    open: range | None = None
    for run in runs:
        if open is not None and run == open.stop:
            open = range(open.start, run + 1)
            continue
        if open is not None:
            yield open
        open = range(run, run + 1)
    if open is not None:
        yield open
