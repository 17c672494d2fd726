"""What is stated of an experiment is what its channels and policies guarantee."""

from pathlib import Path

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.examples import find_packaged_folder
from maskedbandit.lab.experiments.experiment import expand_settings, read_experiment
from maskedbandit.lab.goals.regret.simulate import simulate
from maskedbandit.lab.goals.setting import Setting
from maskedbandit.reports.statement import lost, statement_of_experiment
from maskedbandit.statement.content import decode_statement, encode_statement
from maskedbandit.statement.promises import state_amount
from tests.for_each import for_each

EXPERIMENTS = sorted(find_packaged_folder().glob("*.toml"))
SMALL = {
    "horizon": 200,
    "instance": {"name": "bernoulli", "means": [0.9, 0.1]},
    "policy": {"name": "successive_elimination", "least": 4},
    "curves": [
        {"label": "raw", "channel": "raw"},
        {"label": "pure", "channel": {"name": "central", "epsilon": 0.5}},
        {"label": "fine", "channel": {"name": "central", "noise": "skellam", "grid": "paper"}},
        {"label": "own", "channel": "raw", "policy": {"name": "gaussian_thompson", "inflation": 50, "initial": 99}},
    ],
}


@pytest.mark.slow
@for_each("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_has_a_statement(path: Path) -> None:
    experiment = read_experiment(path)
    settings = [each for each in experiment.settings if isinstance(each, Setting)]
    if not settings:
        with pytest.raises(InvalidValue, match="curves of theory alone"):
            statement_of_experiment(experiment)
        return
    said = decode_statement(encode_statement(statement_of_experiment(experiment)))
    assert {each.label for each in said.promises} == {each.label for each in settings}
    assert said.ledger is None
    for each in said.promises:
        assert (each.loss.epsilon is None) == (each.variant == "none")


@pytest.mark.slow
def test_promises_bound_what_runs_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss of a run is that of the cohorts that occurred, and the promise is for cohorts of every size."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    experiment = expand_settings("small", "", SMALL)
    said = {each.label: each.loss for each in statement_of_experiment(experiment).promises}
    for each in experiment.settings:
        assert isinstance(each, Setting)
        promised = lost(each)
        assert said[each.label] == state_amount("by one place", promised)
        run = simulate(each.policy, each.channel, each.instance, 200, runs=1, seed=1)
        for delta in (1e-6, 1e-3):
            assert run.loss.epsilon(delta) <= promised.epsilon(delta), each.label
    assert said["raw"].epsilon is None
    assert said["pure"].epsilon == 0.5
    assert said["own"].epsilon is not None
    assert said["own"].right < 1


@pytest.mark.slow
def test_a_promise_of_less_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the loss of one size alone is below that of others."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    (fine,) = [each for each in expand_settings("small", "", SMALL).settings if each.label == "fine"]
    assert isinstance(fine, Setting)
    run = simulate(fine.policy, fine.channel, fine.instance, 200, runs=1, seed=1)
    assert fine.channel.loss(1).epsilon(1e-6) < run.loss.epsilon(1e-6) <= lost(fine).epsilon(1e-6)


def test_people_with_several_outcomes_are_the_unit() -> None:
    world = {"name": "visits", "means": [0.9, 0.1], "visits": 4}
    for vary, said in (
        ({}, "at most 3 count."),
        ({"vary": {"instance.cap": [1, 2, 5]}}, "at most 2, 5 count, by setting."),
    ):
        experiment = expand_settings("x", "", {**SMALL, "instance": {**world, "cap": 3}, **vary})
        assert said in statement_of_experiment(experiment).points.unit
    assert "several outcomes" not in statement_of_experiment(expand_settings("x", "", SMALL)).points.unit
