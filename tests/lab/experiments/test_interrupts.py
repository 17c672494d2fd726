"""An interrupt keeps the runs that had come back, whatever they are for, and the others are done later."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.lab.engine.each_run import Ended, Interrupted, each_run
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.experiments import table
from maskedbandit.lab.experiments.experiment import Experiment, read_experiment
from tests.lab.engine.test_each_run import task

RUNS = 70  # more than there are pieces, so that one has several runs
BANDIT = """
horizon = 40
runs = 70
instance = { name = "bernoulli", means = [0.1, 0.9] }
"""
CURVES = """
[[curves]]
channel = "raw"
[[curves]]
channel = { name = "central", epsilon = 2 }
"""
TEXTS = {
    "regret": BANDIT + 'policy = "successive_elimination"' + CURVES,
    "answer": 'goal = "answer"' + BANDIT + 'policy = "equal_split"' + CURVES,
    "identify": 'goal = "identify"\ndelta = 0.1\nmax_pulls = 10000\n'
    + BANDIT.replace("horizon = 40\n", "")
    + 'policy = "best_arm_dp_se"'
    + CURVES,
    "select": 'goal = "select"\ndelta = 0.1\nmax_pulls = 10000\n'
    + BANDIT.replace("horizon = 40\n", "")
    + 'policy = { name = "uniform_top_arms", m = 1 }'
    + CURVES,
    "contextual": 'horizon = 5\nruns = 70\ninstance = "linear_contexts"\npolicy = "lin_ucb"' + CURVES,
    "replay": 'goal = "replay"\nruns = 70\ninstance = { name = "newsroom", events = 100 }\npolicy = "lin_ucb"' + CURVES,
}


@pytest.fixture(autouse=True)
def as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def experiment(folder: Path, text: str) -> Experiment:
    path = folder / "small.toml"
    path.write_text('about = "cut short"\nseed = 3\n' + text)
    return read_experiment(path)


def cut(after: int, heard: list[int]) -> Callable[[Any, int], None]:
    """An interrupt, which comes once so many runs have come back."""

    def advance(setting: Any, runs: int) -> None:
        heard.append(runs)
        if sum(heard) == after:
            raise KeyboardInterrupt

    return advance


@pytest.mark.slow
@pytest.mark.parametrize("goal", TEXTS)
def test_what_had_come_back_is_kept_and_the_rest_is_done_later(tmp_path: Path, goal: str) -> None:
    asked, said, heard = experiment(tmp_path, TEXTS[goal]), list[str](), list[int]()
    curves = len(asked.settings)
    collect = partial(table.collect_results, asked, asked.settings, executor=partial(Threads, 2), note=said.append)
    out, after = tmp_path / "out", (curves - 1) * RUNS + 9
    with pytest.raises(KeyboardInterrupt):
        collect(out, advance=cut(after, heard))
    kept = sum(each.count(range(RUNS)) for each in parts_of(asked, out))
    assert after <= kept < curves * RUNS  # a piece has several runs
    assert said == [f"{kept} of {curves * RUNS} runs are kept in {out}: --resume goes on from there"]
    redone = list[int]()

    def advance(setting: Any, runs: int) -> None:
        redone.append(runs)

    found = collect(out, advance=advance, resume=True)
    counted = kept if kept % RUNS else kept - RUNS
    assert sum(redone) == curves * RUNS
    assert redone.count(1) == curves * RUNS - counted
    assert found.equals(collect(tmp_path / "whole"))


def parts_of(asked: Experiment, out: Path) -> list[Any]:
    return list(table.Results(asked, out, print, lambda found: None).parts.values())


def test_before_any_run_has_ended_nothing_is_kept_and_nothing_else_is_said(tmp_path: Path) -> None:
    asked, said = experiment(tmp_path, TEXTS["regret"]), list[str]()
    with pytest.raises(KeyboardInterrupt):
        table.collect_results(asked, asked.settings, tmp_path / "out", advance=cut(0, []), note=said.append)
    assert said == ["no run is kept"]
    assert not (tmp_path / "out").exists()


def test_an_interrupt_has_what_had_come_back() -> None:
    heard = list[int]()
    with pytest.raises(Interrupted) as found:
        each_run(task(lambda run, streams: 2 * run), range(100), partial(Threads, 1), partial(cut(7, heard), None, 1))
    assert {run: 2 * run for run in found.value.found} == found.value.found
    assert len(found.value.found) >= 7


def test_after_an_interrupt_no_run_begins() -> None:
    """What is known is given, to whoever wants it as a part; of a log that is recorded a part also asks for run 0."""
    begun = task(lambda run, streams: pytest.fail("it began"))
    assert each_run(begun, range(3, 5), Ended({1: 10, 3: 30, 4: 40}), lambda: None) == [30, 40]
    with pytest.raises(Interrupted):
        each_run(begun, range(1), Ended({1: 10}), lambda: None)
