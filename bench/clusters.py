"""Runs on two workers of Dask against two threads, in turns: what of the work is runs, and what a piece costs.

Wall clocks tell little on a machine that others use as well, so CPU seconds are compared too: of the runs alone,
and of everything, with the workers and the scheduler.
"""

import time
from functools import partial
from typing import Any

import maskedbandit as mb
from bench.report import row
from maskedbandit.lab.engine.threads import Threads

LONG, RUNS, PIECES, PAIRS = 40_000_000, 10, 250, 2
run = partial(mb.simulate, mb.policies.UCB1(), mb.channels.Raw(), mb.Bernoulli([0.9, 0.5]), seed=3)


def spent(client: Any, executor: Any, horizon: int, runs: int) -> tuple[float, float]:
    """Wall and CPU seconds of so many runs, the latter of all processes."""

    def cpu() -> float:
        return time.process_time() + (sum(client.run(time.process_time).values()) if client else 0.0)

    before, start = cpu(), time.perf_counter()
    run(horizon=horizon, runs=runs, executor=executor)
    return time.perf_counter() - start, cpu() - before


def clusters() -> None:
    """Two workers, one thread each."""
    from distributed import Client, LocalCluster

    how: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**how) as local, Client(local, set_as_default=False) as client:
        executor = client.get_executor()
        for each in (executor, executor, Threads):
            run(horizon=1000, runs=20, executor=each)  # kernels are loaded
        pairs = []
        for _ in range(PAIRS):
            threads = spent(None, partial(Threads, 2), LONG, RUNS)
            pairs.append((threads, spent(client, executor, LONG, RUNS)))
        small = [spent(client, executor, 10, PIECES) for _ in range(PAIRS)]
    seconds, most = min(threads[1] for threads, _ in pairs) / RUNS, 1 / 0.85
    row(f"two Dask workers over two threads, runs of {seconds:.1f} s, CPU", ratio(pairs, 1), "times", most)
    row("the same by the clock", ratio(pairs, 0), "times", most)
    row("a piece on Dask, by the clock", 1e3 * min(wall for wall, _ in small) / PIECES, "ms")
    row("a piece on Dask, CPU of all processes", 1e3 * min(cpu for _, cpu in small) / PIECES, "ms")


def ratio(pairs: list[Any], which: int) -> float:
    """The least that the cluster took over the least that threads took."""
    threads, cluster = (min(each[side][which] for each in pairs) for side in (0, 1))
    return float(cluster / threads)
