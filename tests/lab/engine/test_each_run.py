"""Runs on executors: in order, with streams of their own however they are cut, and left at once on an interrupt."""

import os
import signal
import threading
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import InvalidValue, WorkersLost
from maskedbandit.lab.engine import each_run as module
from maskedbandit.lab.engine.each_run import Task, each_run, number_runs, split_into_ranges
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.streams import Streams
from tests.for_each import for_each

WAIT = 600  # seconds after which a test has failed; nothing waits so long that works
SPAWNED = partial(ProcessPoolExecutor, 2, mp_context=get_context("spawn"))


@dataclass(frozen=True, kw_only=True)
class Does(Task[Any]):
    """A task that does what it is given."""

    what: Callable[[int, Streams], Any]

    def made(self) -> Callable[[int, Streams], Any]:
        return self.what


def task(what: Callable[[int, Streams], Any]) -> Does:
    return Does(seed=5, study="study", what=what)


def number(run: int, streams: Streams) -> tuple[int, float]:
    return run, float(streams.of(run)[1].random())


def alone(runs: range) -> list[tuple[int, float]]:
    streams = Streams(5, "study")
    return [number(run, streams) for run in runs]


class Pretended(Executor):
    """Calls at once, in this thread, and counts them."""

    calls = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.sparing(4)
@pytest.mark.parametrize("slice_", [0.0, 1000.0], ids=["cut after every run", "whole pieces"])
@pytest.mark.parametrize("executor", [partial(Threads, n) for n in (1, 2, 7)] + [partial(ThreadPoolExecutor, 2)])
def test_results_are_in_order_and_do_not_depend_on_threads_or_pieces(executor, slice_, monkeypatch) -> None:
    monkeypatch.setattr(module, "SLICE", slice_)
    heard: list[int] = []
    found = each_run(task(number), range(3, 603), executor, lambda: heard.append(threading.get_ident()))
    assert found == alone(range(3, 603))
    assert heard == [threading.get_ident()] * 600  # so that whoever draws a bar needs no lock


@pytest.mark.parametrize(("slice_", "calls"), [(0.0, 600), (1000.0, 60)])
def test_a_piece_comes_back_after_a_slice_of_time_and_its_rest_goes_out_again(slice_, calls, monkeypatch) -> None:
    monkeypatch.setattr(module, "SLICE", slice_)
    pretended = Pretended()
    assert each_run(task(number), range(600), pretended, lambda: None) == alone(range(600))
    assert pretended.calls == calls


def by_piece(run: int, streams: Streams) -> tuple[int, float]:
    """The mutant: it goes on in the stream that whoever was before left off."""
    return run, float(streams.generators[0].random())


@pytest.mark.parametrize("what", [number, by_piece], ids=["streams of runs", "streams of pieces"])
def test_numbers_do_not_depend_on_who_runs_and_streams_of_pieces_would(what, monkeypatch) -> None:
    found = list[Any]()
    for slice_, jobs in ((0.0, 1), (1000.0, 3)):
        monkeypatch.setattr(module, "SLICE", slice_)
        monkeypatch.setattr(module, "PIECES", 7 * jobs)
        module.KEPT_WORKERS.__dict__.clear()
        found.append(each_run(task(what), range(60), partial(Threads, jobs), lambda: None))
    assert (found[0] == found[1]) == (what is number)


def test_threads_begin_at_once() -> None:
    together, before = threading.Barrier(3), threading.active_count()

    def single(run: int, streams: Streams) -> int:
        together.wait(WAIT)
        return run

    assert each_run(task(single), range(3), partial(Threads, 3), lambda: None) == [0, 1, 2]
    assert threading.active_count() == before


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that was started in the background ignores interrupts, unless it asks for them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_does_not_wait_for_the_runs_that_last() -> None:
    let_go, ended, begun = threading.Event(), list[int](), list[int]()
    last = threading.Barrier(3)

    def single(run: int, streams: Streams) -> int:
        begun.append(run)
        if last.wait(WAIT) == 0:
            interrupt_main()
        let_go.wait(WAIT)
        ended.append(run)
        return run

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        each_run(task(single), range(100), partial(Threads, 3), lambda: None)
    assert ended == []
    let_go.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert len(begun) == len(ended) == 3  # nobody began another run


@for_each("executor", [partial(Threads, 1), partial(ThreadPoolExecutor, 1)])
def test_an_error_of_a_run_is_raised_and_no_run_follows(executor) -> None:
    begun: list[int] = []

    def single(run: int, streams: Streams) -> int:
        begun.append(run)
        if run == 2:
            raise InvalidValue("run", run, "another")
        return run

    with pytest.raises(InvalidValue, match="run is 2"):
        each_run(task(single), range(100), executor, lambda: None)
    assert begun[:3] == [0, 1, 2]
    assert begun.count(2) == 1  # an error of a run is not tried again


def test_values_that_are_not_allowed_are_named() -> None:
    for wrong in (lambda: number_runs(0, 0), lambda: number_runs(1, -1), lambda: number_runs(1, 10**7)):
        with pytest.raises(InvalidValue):
            wrong()
    assert number_runs(3, 4) == range(4, 7)
    with pytest.raises(InvalidValue, match="executor is 'dask'"):
        each_run(task(number), range(2), "dask", lambda: None)
    with pytest.raises(InvalidValue, match="a worker's copy of maskedbandit"):
        module.piece(task(number), range(2), "the code of another version")


def dies(folder: Path, deaths: int, run: int, streams: Streams) -> tuple[int, float]:
    """Run 5 ends its process, so many times."""
    if run == 5 and len(list(folder.iterdir())) < deaths:
        (folder / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number(run, streams)


@pytest.mark.slow
def test_runs_of_a_worker_that_died_are_done_by_others(tmp_path) -> None:
    heard: list[int] = []
    found = each_run(task(partial(dies, tmp_path, 1)), range(20), SPAWNED, lambda: heard.append(1))
    assert found == alone(range(20))
    assert len(heard) == 20
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.slow
def test_runs_that_end_every_worker_are_not_tried_for_ever(tmp_path) -> None:
    with pytest.raises(WorkersLost, match="ProcessPoolExecutor lost workers, and"):
        each_run(task(partial(dies, tmp_path, 1000)), range(20), SPAWNED, lambda: None)
    assert len(list(tmp_path.iterdir())) == module.POOLS


def test_a_pool_that_cannot_be_made_anew_says_what_to_give_instead(tmp_path) -> None:
    forks = partial(ProcessPoolExecutor, 1, mp_context=get_context("forkserver"))
    with forks() as pool, pytest.raises(WorkersLost, match="executor=ProcessPoolExecutor"):
        each_run(task(partial(dies, tmp_path, 1)), range(20), pool, lambda: None)


class KilledWorker(Exception):
    """What Dask raises for a piece that ended three workers."""

    __module__ = "distributed.scheduler"


def killed(run: int, streams: Streams) -> None:
    raise KilledWorker("piece", "worker")


def test_a_cluster_that_gives_up_is_one_line() -> None:
    with pytest.raises(WorkersLost, match="Failing lost workers, and 3 of 3 runs with them"):
        each_run(task(killed), range(3), Failing(), lambda: None)


class Failing(Pretended):
    """Pretended, with errors in futures."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as wrong:
            future.set_exception(wrong)
        return future


def test_numbers_are_stretches() -> None:
    assert list(split_into_ranges([])) == []
    assert list(split_into_ranges([3])) == [range(3, 4)]
