"""Several processes fill one folder: no part is done twice, and no part is left out of the table."""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from maskedbandit.lab import files
from maskedbandit.lab.experiments import table
from maskedbandit.lab.experiments.experiment import read_experiment
from tests.lab.processes import PROCESSES

TEXT = """
about = "two lines"
horizon = 100
instance = { name = "bernoulli", means = [0.2, 0.8] }
[[curves]]
theory = "no_privacy"
[[curves]]
theory = "central"
channel = "central"
"""
LATE = 600  # seconds after which a test has failed; what works waits for processes to start, no longer


@contextmanager
def nobody(locks: files.Locks, name: str, numbers: range = files.FIRST_TRY) -> Any:
    """The mutant of a lock: everybody gets it."""
    yield True


def together(path: Path, broken: bool, barrier: Any, drawn: Any, done: Any) -> None:
    """A process that fills the folder, in which each setting begins when the other process begins one too."""
    if broken:
        files.Locks.held = nobody
    experiment = read_experiment(path)

    def draw(curve: Any) -> pl.DataFrame:
        barrier.wait(LATE)
        drawn.put(curve.id)
        return experiment.shown.tabulate_curve(curve)

    shown = replace(experiment.shown, tabulate_curve=draw)
    found = table.collect_results(
        replace(experiment, shown=shown), experiment.settings, path.parent / "out", resume=True
    )
    done.put(found["id"].unique(maintain_order=True).to_list())


def started(target: Any, count: int, *given: Any) -> list[Any]:
    found = [PROCESSES.Process(target=target, args=given) for _ in range(count)]
    for each in found:
        each.start()
    return found


@pytest.mark.parametrize("broken", [False, True], ids=["locks", "no locks"])
def test_two_processes_do_every_part_once_between_them(broken, tmp_path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(TEXT)
    barrier, drawn, done = PROCESSES.Barrier(2), PROCESSES.Queue(), PROCESSES.Queue()
    both = started(together, 2, path, broken, barrier, drawn, done)
    ids = sorted(drawn.get(timeout=LATE) for _ in range(4 if broken else 2))
    tables = [done.get(timeout=LATE) for _ in both]
    for each in both:
        each.join(LATE)
    assert [each.exitcode for each in both] == [0, 0]
    if broken:  # the control: without locks both do both
        assert ids == ["two/0", "two/0", "two/1", "two/1"]
        return
    assert ids == ["two/0", "two/1"]
    assert ["two/0", "two/1"] in tables  # whoever gathers last has all
    assert pl.read_parquet(tmp_path / "out" / "table.parquet")["id"].unique().len() == 2
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        ".lock",
        "experiment.toml",
        "parts",
        "summary.csv",
        "table.parquet",
    ]


def gathers(path: Path, broken: bool, number: int, inside: Any, other: Any) -> None:
    """Process 0 stops between reading the parts and writing the table until process 1 is done, or has to wait."""
    if broken:
        files.Locks.held = nobody
    experiment, summary = read_experiment(path), read_experiment(path).shown.summary

    def slow(rows: pl.DataFrame) -> pl.DataFrame:
        if number == 0:
            inside.set()
            assert other.wait(LATE)
        return summary(rows)

    if number == 1:
        assert inside.wait(LATE)
        files.time.sleep = partial(lambda sleep, pause: (other.set(), sleep(pause)), files.time.sleep)
    shown = replace(experiment.shown, summary=slow)
    only = experiment.settings[number : number + 1]
    table.collect_results(
        replace(experiment, shown=shown), only, path.parent / "out", resume=True, note=lambda said: None
    )
    other.set()


@pytest.mark.parametrize("broken", [False, True], ids=["locks", "no locks"])
def test_a_table_that_is_gathered_late_does_not_lose_a_part(broken, tmp_path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(TEXT)
    inside, other = PROCESSES.Event(), PROCESSES.Event()
    both = [PROCESSES.Process(target=gathers, args=(path, broken, n, inside, other)) for n in (0, 1)]
    for each in both:
        each.start()
    for each in both:
        each.join(LATE)
    assert [each.exitcode for each in both] == [0, 0]
    found = pl.read_parquet(tmp_path / "out" / "table.parquet")["id"].unique().sort().to_list()
    assert found == (["two/0"] if broken else ["two/0", "two/1"])  # the control: the table of process 0 came last


def holds(path: Path, ready: Any, die: Any) -> None:
    with files.Locks(path).held("part") as mine:
        assert mine
        ready.set()
        die.wait(LATE)


def test_a_process_that_dies_frees_its_locks(tmp_path) -> None:
    ready, die = PROCESSES.Event(), PROCESSES.Event()
    (other,) = started(holds, 1, tmp_path / "lock", ready, die)
    assert ready.wait(LATE)
    with files.Locks(tmp_path / "lock") as locks:
        with locks.held("part") as mine, locks.held("another") as free:
            assert (mine, free) == (False, True)
        heard: list[str] = []
        other.kill()
        locks.in_turn({("part", files.FIRST_TRY): lambda: heard.append("done")}, heard.append)
        assert heard[-1] == "done"


def test_a_file_that_fails_is_not_there_and_the_old_one_is(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def half() -> None:
        with files.whole_file(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"
