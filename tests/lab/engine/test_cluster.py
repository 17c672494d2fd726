"""Runs on a Dask cluster: the numbers of one thread, and what fails is not tried again."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from distributed import Client

from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine import each_run as module
from maskedbandit.lab.engine.each_run import each_run
from tests.lab.engine.clusters import ONE, cluster, same, settings
from tests.lab.engine.test_each_run import task


@pytest.fixture(scope="module")
def threads(tmp_path_factory) -> Iterator[Client]:
    """A scheduler and a worker on threads of this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MASKEDBANDIT_KERNELS", "python")
        with cluster(1, processes=False) as client:
            yield client


@pytest.mark.sparing(1)
@pytest.mark.parametrize("name", settings())
def test_a_cluster_gives_the_numbers_of_one_thread(threads, name, monkeypatch) -> None:
    monkeypatch.setattr(module, "PIECES", 2)
    how = {"runs": 3, "seed": 5, "study": "s"}
    found = settings()[name](**how, executor=threads.get_executor())
    assert same(found, settings()[name](**how, executor=ONE))


@pytest.mark.sparing(3)
@pytest.mark.parametrize("name", settings())
def test_runs_in_two_halves_are_the_runs_of_the_whole(name, monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    whole, half = (settings()[name](seed=5, **how) for how in ({"runs": 4}, {"runs": 2, "runs_from": 2}))
    rows = [each for each in vars(whole) if isinstance(getattr(whole, each), np.ndarray) and each != "t"]
    assert all(np.array_equal(getattr(whole, each)[2:], getattr(half, each), equal_nan=True) for each in rows)
    assert sorted(set(whole.to_frame()["run"].to_list()))[2:] == sorted(set(half.to_frame()["run"].to_list()))


def refuses(count: list[int], run: int, streams: Any) -> int:
    count.append(run)
    raise InvalidValue("run", run, "another")


@pytest.mark.slow
def test_an_error_of_a_run_is_raised_here_and_not_tried_again(threads) -> None:
    with pytest.raises(InvalidValue, match="run is 0: it must be another"):
        each_run(task(partial(refuses, [])), range(1), threads.get_executor(), lambda: None)


TEXT = """
horizon = 50
runs = 4
instance = { name = "bernoulli", means = [0.2, 0.8] }
policy = "ucb1"
[[curves]]
channel = "raw"
"""


@pytest.mark.slow
def test_the_command_runs_on_a_cluster(threads, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    (tmp_path / "small.toml").write_text(TEXT)
    run = ["run", str(tmp_path / "small.toml"), "--quiet", "--out"]
    assert main([*run, str(tmp_path / "here")]) == 0
    # the scheduler is in this process, and has no port
    assert main([*run, str(tmp_path / "there"), "--cluster", threads.scheduler.address]) == 0
    here, there = (tmp_path / name / "summary.csv" for name in ("here", "there"))
    assert here.read_bytes() == there.read_bytes()
    capsys.readouterr()
    assert main([*run, str(tmp_path / "nowhere"), "--cluster", "no address"]) == 2
    assert "--cluster is 'no address': it must be the address of a Dask scheduler" in capsys.readouterr().err
