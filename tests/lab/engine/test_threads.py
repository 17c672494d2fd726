"""Runs on threads: in order, with streams of their own, and left at once on an interrupt."""

import signal
import threading
from _thread import interrupt_main
from collections.abc import Iterator

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.threads import on_threads
from maskedbandit.lab.streams import Streams

WAIT = 60  # seconds after which a test has failed; nothing waits so long that works


def number(run: int, streams: Streams) -> tuple[int, float]:
    return run, float(streams.of(run)[1].random())


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_results_are_in_order_and_do_not_depend_on_threads(jobs) -> None:
    heard: list[int] = []
    found = on_threads(number, 30, jobs, 5, "study", lambda: heard.append(threading.get_ident()))
    streams = Streams(5, "study")
    assert found == [number(run, streams) for run in range(30)]
    assert heard == [threading.get_ident()] * 30  # so that whoever draws a bar needs no lock


def test_the_first_run_is_alone_and_the_others_are_not() -> None:
    together, first = threading.Barrier(3), threading.Event()

    def single(run: int, streams: Streams) -> int:
        if run == 0:
            assert threading.active_count() == before + 1
            first.set()
        else:
            assert first.is_set()
            together.wait(WAIT)
        return run

    before = threading.active_count()
    assert on_threads(single, 4, 3, 0, "", lambda: None) == [0, 1, 2, 3]
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
        if run > 0:
            if last.wait(WAIT) == 0:
                interrupt_main()
            let_go.wait(WAIT)
        ended.append(run)
        return run

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        on_threads(single, 100, 3, 0, "", lambda: None)
    assert ended == [0]
    let_go.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert len(begun) == len(ended) == 4  # nobody began another run


def test_an_error_of_a_run_is_raised_and_no_run_follows() -> None:
    begun: list[int] = []

    def single(run: int, streams: Streams) -> int:
        begun.append(run)
        if run == 2:
            raise InvalidValue("run", run, "another")
        return run

    with pytest.raises(InvalidValue, match="run is 2"):
        on_threads(single, 100, 1, 0, "", lambda: None)
    assert begun == [0, 1, 2]
    with pytest.raises(InvalidValue, match="jobs is 0"):
        on_threads(single, 100, 0, 0, "", lambda: None)
