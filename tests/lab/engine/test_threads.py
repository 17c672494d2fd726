"""The executor of threads: at most so many, errors in their futures, and an end that does not wait."""

import threading
from concurrent.futures import wait

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.threads import Threads

WAIT = 600  # seconds after which a test has failed; nothing waits so long that works


def test_calls_share_the_threads() -> None:
    together, names = threading.Barrier(3), set[str]()

    def call(number: int) -> int:
        together.wait(WAIT)
        names.add(threading.current_thread().name)
        return number

    with Threads(3) as threads:
        futures = [threads.submit(call, number) for number in range(9)]
        assert [each.result(WAIT) for each in futures] == list(range(9))
    assert len(names) == 3
    assert not names & {each.name for each in threading.enumerate()}


def test_an_error_is_that_of_its_future() -> None:
    with Threads(1) as threads:
        wrong, right = threads.submit(int, "x"), threads.submit(int, "3")
        with pytest.raises(ValueError, match="invalid literal"):
            wrong.result(WAIT)
        assert right.result(WAIT) == 3


def test_what_has_not_begun_is_cancelled_and_nobody_waits_for_the_rest() -> None:
    begun, let_go = threading.Event(), threading.Event()
    threads = Threads(1)
    first = threads.submit(lambda: (begun.set(), let_go.wait(WAIT)))
    later = [threads.submit(int) for _ in range(3)]
    assert begun.wait(WAIT)
    threads.shutdown(wait=False, cancel_futures=True)
    assert [each.cancelled() for each in later] == [True] * 3
    assert not first.done()
    let_go.set()
    assert wait([first], WAIT).done == {first}


def test_a_number_of_threads_is_at_least_one() -> None:
    with pytest.raises(InvalidValue, match="jobs is 0"):
        Threads(0)
