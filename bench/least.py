"""The clock of all benchmarks."""

import time
from collections.abc import Callable
from functools import partial

from maskedbandit.lab.engine.threads import Threads

ONE = partial(Threads, 1)  # an executor


def least(work: Callable[[], object], repeats: int = 5) -> float:
    """CPU seconds of the fastest of some repeats, after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)
