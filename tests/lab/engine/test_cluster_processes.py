"""Runs on processes, of a Dask cluster or of a pool, some of which are killed: the numbers of one thread."""

import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import maskedbandit as mb
from maskedbandit.lab.engine.each_run import each_run
from tests.lab.engine.clusters import INSTANCE, ONE, cluster, same, settings
from tests.lab.engine.test_each_run import alone, number, task

pytestmark = pytest.mark.slow


def noted(folder: Path, run: int, streams: Any) -> tuple[int, float]:
    """A run that says in which process it is; the first waits until somebody ends that process."""
    first = folder / "first"
    try:
        with first.open("x") as file:
            file.write(str(os.getpid()))
        while True:
            time.sleep(0.05)
    except FileExistsError:
        (folder / f"{os.getpid()}-{run}").touch()
    return number(run, streams)


def test_runs_of_a_worker_that_is_killed_are_done_by_the_other(tmp_path) -> None:
    killed, heard = list[int](), list[int]()

    def advance() -> None:
        heard.append(1)
        first = tmp_path / "first"
        if not killed and first.exists() and (pid := first.read_text()):
            killed.append(int(pid))
            os.kill(int(pid), signal.SIGKILL)

    with cluster(2, processes=True) as client:
        found = each_run(task(partial(noted, tmp_path)), range(40), client.get_executor(), advance)
    assert len(killed) == 1
    assert found == alone(range(40))
    assert len(heard) == 40


def test_processes_give_the_numbers_of_one_thread(monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for each in settings().values():
            assert same(each(runs=3, seed=5, executor=pool), each(runs=3, seed=5, executor=ONE))


def test_two_workers_that_die_in_the_middle_of_compiled_runs_leave_the_numbers_of_one_thread() -> None:
    """What a user sees: `simulate` on two processes of a cluster, one of which is killed."""
    with cluster(2, processes=True) as client:
        executor = client.get_executor()
        pids, ended = list(client.run(os.getpid).values()), list[int]()

        def advance() -> None:
            ended.append(1)
            if len(ended) == 5:
                os.kill(pids[0], signal.SIGKILL)

        how = {"runs": 60, "seed": 5, "horizon": 300_000}
        run = partial(mb.simulate, mb.policies.UCB1(), mb.channels.Raw(), INSTANCE, **how)
        found = run(executor=executor, advance=advance)
        assert pids[0] not in client.run(os.getpid).values()
    assert len(ended) == 60
    assert same(found, run(executor=ONE))
