"""Jobs of an array share the runs of an experiment, in one folder or in one each: every run is there exactly once."""

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from maskedbandit.cli import main, parser
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments import table
from maskedbandit.lab.experiments.examples import find_experiment
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.lab.experiments.parts import FOLDER, Parts
from maskedbandit.lab.experiments.table import merge_results
from maskedbandit.lab.goals.columns import join_parts
from maskedbandit.lab.goals.result import LOSSES
from tests.lab.processes import PROCESSES

ROOT = Path(__file__).parents[3]
JOBS = 18
TEXT = """
about = "two curves"
horizon = 30
runs = 18
seed = 5
instance = { name = "bernoulli", means = [0.2, 0.8] }
policy = "ucb1"
[[curves]]
channel = "raw"
[[curves]]
theory = "no_privacy"
[[curves]]
label = "late"
channel = "raw"
delay = 3
runs = 7
"""
LATE = 600  # seconds after which a test has failed; what works waits for processes to start, no longer


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here, and a loop would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TEXT)
    return path


def job(path: Path, out: Path, runs: range, start: Any) -> None:
    os.environ["MASKEDBANDIT_KERNELS"] = "python"
    experiment = read_experiment(path)
    start.wait(LATE)
    table.collect_results(experiment, experiment.settings, out, resume=True, runs=runs, note=lambda said: None)


def array(path: Path, out: Callable[[int], Path], ranges: list[range]) -> None:
    """All jobs at once."""
    start = PROCESSES.Barrier(len(ranges))
    found = [PROCESSES.Process(target=job, args=(path, out(i), each, start)) for i, each in enumerate(ranges)]
    for each in found:
        each.start()
    for each in found:
        each.join(LATE)
    assert [each.exitcode for each in found] == [0] * len(ranges)


def whole(path: Path) -> pl.DataFrame:
    """The table that one process makes."""
    experiment = read_experiment(path)
    return table.collect_results(experiment, experiment.settings, path.parent / "whole")


def numbers(out: Path) -> dict[str, list[int]]:
    """The runs in all parts of a folder, of each setting of TEXT that has some."""
    found: dict[str, list[int]] = {}
    for each in (out / FOLDER).glob("*.parquet"):
        rows = pl.read_parquet(each).drop_nulls("run")
        for name, runs in rows.group_by("id").agg(pl.col("run").unique()).iter_rows():
            found.setdefault(name, []).extend(runs)
    return {name: sorted(runs) for name, runs in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("width", [4, 1], ids=["overlapping", "apart"])
def test_eighteen_jobs_in_one_folder_leave_every_run_exactly_once(path, tmp_path, width) -> None:
    out = tmp_path / "out"
    array(path, lambda i: out, [range(i, i + width) for i in range(JOBS)])
    assert numbers(out) == {"two/0": list(range(18)), "two/2": list(range(7))}
    assert pl.read_parquet(out / "table.parquet").equals(whole(path))
    assert not list(out.rglob("*.draft"))


@pytest.mark.slow
def test_jobs_in_folders_of_their_own_merge_to_what_one_process_makes(path, tmp_path) -> None:
    whole(path)
    for i, runs in enumerate((range(7), range(12, 30), range(5, 12))):
        table.collect_results(
            experiment := read_experiment(path), experiment.settings, tmp_path / f"job-{i}", runs=runs
        )
    first, *others = (tmp_path / f"job-{i}" for i in range(3))
    notes: list[str] = []
    merge_results([first, others[0]], tmp_path / "two of them", notes.append)
    assert notes == ["runs 7 to 11 of two/0 are missing: `run --resume` does them"]
    again = table.collect_results(experiment, experiment.settings, tmp_path / "two of them", resume=True)
    assert again.equals(pl.read_parquet(tmp_path / "whole" / "table.parquet"))
    assert merge_results([first, *others], first, notes.append).equals(again)
    assert len(notes) == 1
    for name in ("summary.csv", "experiment.toml"):
        assert (first / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.slow
def test_more_runs_in_the_file_add_to_what_is_there_and_fewer_take_the_first(path, tmp_path) -> None:
    before, ran = whole(path), list[int]()
    path.write_text(TEXT.replace("runs = 18", "runs = 20"))
    more = read_experiment(path)
    found = table.collect_results(
        more, more.settings, tmp_path / "whole", resume=True, advance=lambda each, runs: ran.append(runs)
    )
    assert found.filter(pl.col("run").is_null() | (pl.col("run") < 18)).equals(before)
    assert found.filter(pl.col("id") == "two/0")["run"].unique().len() == 20
    path.write_text(TEXT)
    less = read_experiment(path)
    assert table.collect_results(less, less.settings, tmp_path / "whole", resume=True).equals(before)


def test_the_loss_of_a_user_is_the_worst_in_all_parts_and_bounds_go_by_it() -> None:
    """Runs may close cohorts of different sizes, which cost different losses; more privacy costs more samples."""
    parts = [
        pl.DataFrame({**dict.fromkeys(LOSSES, epsilon), "bound": bound, "run": [run]})
        for run, epsilon, bound in ((0, 0.5, 100.0), (1, 0.75, 70.0))
    ]
    found = join_parts(parts)
    assert [found[name].to_list() for name in (*LOSSES, "bound")] == [[0.75] * 2, [0.75] * 2, [70.0] * 2]


def test_folders_of_other_experiments_do_not_merge(path, tmp_path) -> None:
    whole(path)
    other = tmp_path / "other.toml"
    other.write_text(TEXT.replace("seed = 5", "seed = 6"))
    table.collect_results(read_experiment(other), read_experiment(other).settings, tmp_path / "other")
    with pytest.raises(InvalidValue, match="the same experiment"):
        merge_results([tmp_path / "whole", tmp_path / "other"], tmp_path / "both")
    with pytest.raises(InvalidValue, match=r"table\.parquet"):
        merge_results([tmp_path], tmp_path / "both")


def interrupted(path: Path, out: Path, waiting: Any) -> None:
    """A job that makes the folder, and ends before it has written anything."""
    os.environ["MASKEDBANDIT_KERNELS"] = "python"
    signal.signal(signal.SIGINT, signal.default_int_handler)
    experiment = read_experiment(path)

    def advance(setting: Any, runs: int) -> None:
        waiting.wait(LATE)
        waiting.wait(LATE)
        raise KeyboardInterrupt

    try:
        table.collect_results(experiment, experiment.settings, out, runs=range(2), advance=advance)
    except KeyboardInterrupt:
        os._exit(3)


def test_a_job_that_is_cancelled_does_not_remove_the_folder_in_which_others_work(path, tmp_path) -> None:
    out, waiting = tmp_path / "out", PROCESSES.Barrier(2)
    first = PROCESSES.Process(target=interrupted, args=(path, out, waiting))
    first.start()
    waiting.wait(LATE)  # it has made the folder
    experiment = read_experiment(path)

    def advance(setting: Any, runs: int) -> None:
        if first.is_alive() and setting is experiment.settings[0]:
            waiting.wait(LATE)  # it ends while this one works, and has written nothing
            first.join(LATE)

    found = table.collect_results(experiment, experiment.settings[:1], out, runs=range(2, 4), advance=advance)
    assert first.exitcode == 3
    assert found["run"].unique().to_list() == [2, 3]


@pytest.mark.slow
def test_the_command_does_a_range_and_merges(path, tmp_path, capsys) -> None:
    run = ["run", str(path), "--quiet", "--out"]
    assert main([*run, str(tmp_path / "a"), "--runs", "10"]) == 0
    assert main([*run, str(tmp_path / "b"), "--runs-from", "10", "--runs", "10"]) == 0
    assert main(["merge", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "c")]) == 0
    assert (tmp_path / "c" / "figure.svg").exists()
    assert pl.read_parquet(tmp_path / "c" / "table.parquet").equals(whole(path))
    capsys.readouterr()
    for wrong, said in (
        (["--runs-from", "18"], "--runs-from is 18: it must be a whole number from 0 to 17"),
        (["--runs-from", "-1"], "--runs-from is -1"),
        (["--runs", "0"], "--runs is 0: it must be a whole number of at least 1"),
    ):
        assert main([*run, str(tmp_path / "d"), *wrong]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_where_no_part_is_all_runs_are_missing(tmp_path) -> None:
    parts = Parts(tmp_path, "x", range(9), print)
    assert parts.missing(range(2, 9)) == [range(2, 9)]


def script() -> str:
    """The script for Slurm in the documents."""
    (found,) = re.findall(
        r"^```bash\n(.*?)^```$", (ROOT / "docs" / "clusters.md").read_text(), re.MULTILINE | re.DOTALL
    )
    return found


def test_the_script_for_slurm_does_every_run_of_its_experiment_once(tmp_path) -> None:
    """What each of its jobs asks for is what the command takes, and together they ask for all runs."""
    options = dict(re.findall(r"^#SBATCH --([\w-]+)=(.+)$", script(), re.MULTILINE))
    first, last = map(int, options["array"].split("-"))
    asked = list[int]()
    (tmp_path / "array.sh").write_text(f'maskedbandit() {{ printf "%s\\n" "$@"; }}\n{script()}')
    for number in range(first, last + 1):
        job = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_CPUS_PER_TASK": options["cpus-per-task"]}
        bash = ["bash", "-eu", str(tmp_path / "array.sh")]
        words = subprocess.run(bash, env=job, check=True, capture_output=True, text=True).stdout.splitlines()
        found = parser().parse_args(words)
        assert found.resume
        assert found.jobs == 4
        asked += range(found.runs_from, found.runs_from + found.runs)
    runs = max(each.runs for each in read_experiment(find_experiment(found.experiment)).settings)
    assert asked == list(range(runs))
