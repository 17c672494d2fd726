"""The goal of an answer: its results, their table and figure, and experiments that ask for it."""

import tomllib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.lab.experiments.table import collect_results
from maskedbandit.policies.policy import Policy
from tests.for_each import for_each
from tests.statistics import at_most

RAW, POLICY = mb.channels.Raw(), mb.policies.PooledElimination()
TWO, FOUR = mb.Bernoulli([0.6, 0.5]), mb.Bernoulli([0.9, 0.3, 0.2, 0.1])
TEXT = """
about = "Who is best?"
goal = "answer"
caption = "What there is to say of it."
runs = 30
seed = 1
instance = { name = "bernoulli", means = [0.8, 0.5, 0.4] }
policy = "equal_split"

[[curves]]
label = "central"
channel = "central"

[[curves]]
label = "lower bound"
theory = "central"
channel = "central"

[vary]
"channel.epsilon" = [0.5, 1.0]
horizon = [30, 300]
"""


@pytest.fixture(autouse=True)
def as_python(monkeypatch) -> None:
    """Short runs; the compiled loop is that of tests/contracts."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


@pytest.mark.slow
def test_wrong_answers_are_as_frequent_as_two_binomials_say():
    """Two arms without noise: the exact probability, with ties broken by a coin."""
    runs, n = 4000, 20
    found = mb.answer(mb.policies.EqualSplit(), RAW, TWO, 2 * n, runs, seed=5)
    pmf = [np.ones(1), np.ones(1)]
    for _ in range(n):
        pmf = [np.convolve(one, [1 - mean, mean]) for one, mean in zip(pmf, TWO.means, strict=True)]
    both = np.outer(pmf[0], pmf[1])
    exact = float(np.triu(both, 1).sum() + np.trace(both) / 2)
    wrong = int((~found.correct).sum())
    at_most(wrong, runs, exact)
    at_most(runs - wrong, runs, 1 - exact)
    assert (found.pulls == n).all()
    assert (found.releases == 2).all()
    assert found.stopped.all()


def test_the_loss_of_a_user_is_that_of_one_release():
    channel = mb.channels.Central(epsilon="0.25")
    found = mb.answer(POLICY, channel, FOUR, 2000, runs=3)
    assert (found.releases > 4).all()
    assert found.loss == channel.loss(1000)


def test_the_table_of_a_result():
    found = mb.answer(POLICY, mb.channels.Central(epsilon=1), FOUR, 1000, runs=4, seed=2)
    table = found.to_frame()
    assert table["horizon"].to_list() == [1000] * 4
    assert table["correct"].to_list() == found.correct.tolist()
    assert 0 < table["bound"][0] < 1
    assert "4 runs, mean wrong" in repr(found)
    late = mb.answer(POLICY, RAW, FOUR, 1000, runs=4, seed=2, delay=mb.delays.Constant(1))
    assert late.to_frame()["bound"][0] is None, "nothing is proved of late rewards"


class Mute(NamedTuple):
    """Releases, and whether the only cohort was asked for."""

    total: np.ndarray
    n: np.ndarray
    asked: np.ndarray


@dataclass(frozen=True)
class NeverAnswers(Policy):
    """Waits for a release of each arm, and goes on asking."""

    goal = "answer"

    def init(self, k: int, horizon: int) -> Mute:
        return Mute(np.zeros(k), np.zeros(k), np.zeros(1))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        s.asked[0] += 1
        return Decision(int(s.asked[0]) % s.n.size, 10, 1) if s.asked[0] < 1000 else WAIT

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[arm] += total
        s.n[arm] += n


def test_a_study_that_is_over_is_answered_by_the_highest_mean():
    found = mb.answer(NeverAnswers(), RAW, FOUR, 400, runs=5)
    assert not found.stopped.any()
    assert found.correct.all()
    found = mb.answer(NeverAnswers(), RAW, FOUR, 4, runs=5)
    assert (found.answer == -1).all(), "nothing was released"
    assert not found.correct.any()


@for_each(
    ("change", "said"),
    [
        ({"policy": mb.policies.UCB1()}, "a policy whose goal is 'answer', not 'regret'"),
        ({"instance": mb.Bernoulli([0.5, 0.5])}, "a single best arm"),
        ({"horizon": 3}, "horizon is 3"),
        ({"horizon": 10.5}, "horizon is 10.5"),
        ({"channel": mb.channels.Tree(epsilon=1, length=100)}, "independent"),
    ],
)
def test_what_cannot_be_answered_is_said(change, said):
    with pytest.raises(InvalidValue, match=said):
        mb.answer(**{"policy": POLICY, "channel": RAW, "instance": FOUR, "horizon": 100} | change)


def test_policies_are_compared():
    policies = [POLICY, mb.policies.EqualSplit(), mb.policies.SequentialHalving()]
    found = mb.compare(policies, RAW, FOUR, horizon=200, runs=20)
    assert found.goal == "answer"
    assert "mean wrong" in repr(found)
    with pytest.raises(InvalidValue, match="whose goal is 'answer', not 'regret'"):
        mb.compare([POLICY, mb.policies.UCB1()], RAW, FOUR, horizon=200)
    with pytest.raises(InvalidValue, match="whose goal is 'identify' or 'select', as they are given a delta"):
        mb.compare(POLICY, RAW, FOUR, delta=0.1)


@pytest.mark.slow
def test_an_experiment_from_file_to_figure(tmp_path):
    experiment = expand_settings("who", TEXT, tomllib.loads(TEXT))
    assert len(experiment.settings) == 8
    table = collect_results(experiment, experiment.settings, tmp_path / "out")
    rows = experiment.shown.summary(table)
    assert rows.height == 8
    runs = rows.filter(pl.col("runs") > 0)
    assert runs["runs"].to_list() == [30] * 4
    assert (runs["low"] <= runs["share"]).all()
    assert (runs["share"] <= runs["high"]).all()
    theory = rows.filter(pl.col("runs") == 0)
    assert theory["share"][0] == mb.theory.least_wrong("central", [0.8, 0.5, 0.4], 30, 0.5)
    cells = experiment.shown.cells(next(runs.iter_rows(named=True)))
    assert set(cells) >= {"wrong", "99 %", "at most", "runs"}
    drawn = experiment.draw(table)
    titles = [axes.get_title() for axes in drawn.axes]
    assert titles == ["ε = 0.5", "ε = 1.0"]
    assert "What there is to say of it." in drawn.get_supxlabel()


@for_each(
    ("old", "new", "said"),
    [
        ('goal = "answer"', 'goal = "answer"\ndelta = 0.1', "goes with goal = 'identify' or 'select', and this"),
        ("horizon = [30, 300]", "horizon = [2]", "horizon is 2"),
        ("[0.8, 0.5, 0.4]", "[0.8, 0.8]", "a single best arm"),
        ('"equal_split"', '"ucb1"', "whose goal is 'answer'"),
        ('theory = "central"', 'theory = "ucb1"', "theory is 'ucb1'"),
    ],
)
def test_an_experiment_that_does_not_fit_is_refused(old, new, said):
    text = TEXT.replace(old, new)
    with pytest.raises(InvalidValue, match=said):
        expand_settings("who", text, tomllib.loads(text))


@pytest.mark.slow
def test_a_figure_of_a_result(tmp_path):
    found = mb.compare([POLICY, mb.policies.EqualSplit()], RAW, FOUR, horizon=200, runs=20)
    axes = found.plot(file=tmp_path / "wrong.svg")
    assert axes.get_ylabel() == "wrong answers"
    assert (tmp_path / "wrong.svg").exists()


def test_delays_that_differ_are_refused():
    with pytest.raises(InvalidValue, match="a constant one"):
        mb.answer(POLICY, RAW, FOUR, 1000, delay=mb.delays.Geometric(100))


@pytest.mark.slow
def test_a_bound_counts_sums_that_wrap_around_and_is_none_where_users_drop_out():
    wrapping = mb.channels.Distributed(epsilon=1, failure=0.01)
    found = mb.answer(POLICY, wrapping, FOUR, 4000, runs=4, seed=2)
    sure = mb.answer(POLICY, mb.channels.Distributed(epsilon=1), FOUR, 4000, runs=4, seed=2)
    assert found.to_frame()["bound"][0] >= sure.to_frame()["bound"][0] + 0.01 * found.releases.max() * 0.999
    lossy = mb.channels.Shuffled(epsilon=5, delta=1e-6, honest=0.5, backend=mb.backends.Shuffler(dropout=0.1))
    assert mb.answer(mb.policies.EqualSplit(), lossy, FOUR, 400, runs=1).to_frame()["bound"][0] is None
