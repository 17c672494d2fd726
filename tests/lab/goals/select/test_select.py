"""The goal of a selection: its results, their table and figure, and experiments that ask for it."""

import tomllib

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.lab.experiments.table import collect_results
from maskedbandit.policies.parts.selection import Above, Top
from maskedbandit.theory.selection import least_samples_above, least_samples_top
from tests.for_each import for_each

P, RAW = mb.policies, mb.channels.Raw()
MEANS = [0.9, 0.8, 0.3, 0.2]
FOUR = mb.Bernoulli(MEANS)
TOP, ABOVE = P.TopArms(m=2), P.ArmsAbove(theta=0.5)
LOST = mb.delays.Lost(mb.delays.Constant(3), share=0.3, deadline=10)
TEXT = """
about = "Which two?"
goal = "select"
figure = "cost"
caption = "What there is to say of it."
delta = 0.1
max_pulls = 100_000
runs = 5
seed = 1
instance = { name = "bernoulli", means = [0.9, 0.8, 0.3, 0.2] }
policy = { name = "top_arms", m = 2 }

[[curves]]
label = "central"
channel = "central"

[[curves]]
label = "uniform"
policy = { name = "uniform_top_arms", m = 2 }
channel = "central"

[vary]
"channel.epsilon" = [0.5, 1.0]
"""


@pytest.fixture(autouse=True)
def as_python(monkeypatch) -> None:
    """Short runs; the compiled loop is that of tests/contracts."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def test_the_two_best_are_the_set_of_the_highest_means():
    means, answers = np.array([0.3, 0.9, 0.5]), np.array([[0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1]], bool)
    assert Top(2).right(means, answers).tolist() == [True, False, False, False]


def test_within_the_tolerance_either_class_is_right():
    means = np.array([0.39, 0.4, 0.45, 0.5, 0.6, 0.61])  # theta 0.5, tolerance 0.1
    free = means[None, :] == np.array([[0.45], [0.5]])
    surely = np.array([0, 0, 0, 0, 1, 1], bool)
    assert Above(0.5, 0.1).right(means, surely | free).all()
    for arm in (0, 1, 4, 5):
        wrong = surely ^ (np.arange(6) == arm)
        assert not Above(0.5, 0.1).right(means, wrong[None])[0], f"arm {arm} has one class"


def test_without_a_tolerance_a_mean_at_the_threshold_has_no_search():
    assert Above(0.5, 0.0).lacks(np.array([0.4, 0.5]))
    assert not Above(0.5, 0.01).lacks(np.array([0.4, 0.5]))
    assert not Above(0.5, 0.0).lacks(np.array([0.4, 0.6]))


@pytest.mark.slow
def test_the_loss_of_a_user_is_that_of_one_release():
    channel = mb.channels.Central(epsilon="0.25")
    for policy in (TOP, ABOVE):
        found = mb.select(policy, channel, FOUR, delta=0.1, runs=2)
        assert (found.releases >= 4).all()
        assert found.loss == channel.loss(1000)


@pytest.mark.slow
def test_the_table_of_a_result():
    found = mb.select(TOP, mb.channels.Central(epsilon=1), FOUR, delta=0.1, runs=3, seed=2)
    table = found.to_frame()
    assert table["answer"].to_list() == ["0 1"] * 3
    assert table["correct"].all()
    assert table["samples"].to_list() == found.pulls.sum(axis=1).tolist()
    assert table["bound"][0] == least_samples_top("central", MEANS, 2, 0.1, 1.0)
    assert "3 runs, mean samples" in repr(found)
    found = mb.select(ABOVE, mb.channels.Response(epsilon=1), FOUR, delta=0.1, runs=1, seed=2)
    assert found.to_frame()["bound"][0] == least_samples_above("local", MEANS, 0.5, 0.0, 0.1, 1.0)
    beta = mb.Beta([2.0, 7.0, 8.0], [8.0, 3.0, 2.0])
    assert mb.select(TOP, RAW, beta, delta=0.1).to_frame()["bound"][0] is None, "a bound for bits"


def test_a_search_that_is_cut_off_names_nobody():
    found = mb.select(TOP, mb.channels.Central(epsilon=0.1), FOUR, delta=0.1, runs=2, max_pulls=300)
    assert not found.stopped.any()
    assert not found.correct.any()
    assert not found.answer.any()
    assert found.to_frame()["answer"].to_list() == ["", ""]


@for_each(
    ("change", "said"),
    [
        ({"policy": P.ReleasedLikelihood()}, "a policy whose goal is 'select', not 'identify'"),
        ({"instance": mb.Bernoulli([0.5, 0.4])}, "more than 2 arms, as m is 2$"),
        ({"policy": ABOVE, "delay": LOST}, "delay is .*all rewards come in time"),
        ({"instance": mb.Bernoulli([0.5, 0.4, 0.4])}, "the 2 best are better than all others"),
        ({"policy": ABOVE, "instance": mb.Bernoulli([0.5, 0.4])}, "without an arm of mean 0.5 itself"),
        ({"delta": 1.0}, "delta is 1"),
        ({"max_pulls": 3}, "max_pulls is 3"),
        ({"channel": mb.channels.Tree(epsilon=1, length=100)}, "independent"),
    ],
)
def test_what_cannot_be_asked_is_said(change, said):
    with pytest.raises(InvalidValue, match=said):
        mb.select(**{"policy": TOP, "channel": RAW, "instance": FOUR} | change)


@for_each(
    ("make", "said"),
    [
        (lambda: P.TopArms(m=0), "m is 0"),
        (lambda: P.KLLUCB(m=1.5), "m is 1.5"),
        (lambda: P.TopArms(forced=0.5), "forced is 0.5"),
        (lambda: P.ArmsAbove(theta=1), "theta is 1"),
        (lambda: P.ArmsAbove(theta=0.2, tolerance=0.2), "tolerance is 0.2.*below 0.2"),
        (lambda: P.ArmsAbove(growth=0), "growth is 0"),
        (lambda: P.ArmsAbove(growth="x"), "growth is 'x'"),
        (lambda: P.TopArms(growth="x"), "growth is 'x'"),
        (lambda: P.TopArms(forced=None), "forced is None"),
        (lambda: P.UniformTopArms(ratio="x"), "ratio is 'x'"),
        (lambda: P.UniformArmsAbove(ratio=1), "ratio is 1"),
        (lambda: P.UniformTopArms(least=0), "least is 0"),
    ],
)
def test_a_question_that_is_none_is_refused(make, said):
    with pytest.raises(InvalidValue, match=said):
        make()


def test_arms_keep_their_order_where_rewards_are_lost_so_the_best_are_found():
    assert mb.select(TOP, RAW, FOUR, delta=0.1, runs=5, delay=LOST).correct.all()


def test_if_all_arms_are_asked_for_all_are_named():
    for policy in (P.TopArms(m=2), P.UniformTopArms(m=3), P.KLLUCB(m=2)):
        s, rng, law = policy.init(2, 0.1), np.random.default_rng(1), RAW.law()
        for _ in range(10):
            arm, n, _ = policy.ask(s, law, rng)
            if n == 0:
                break
            policy.tell(s, arm, n, n / 2)
        assert n == 0
        assert policy.selected(s).all()


def test_policies_are_compared():
    found = mb.compare([TOP, P.UniformTopArms(m=2)], RAW, FOUR, delta=0.1, runs=3)
    assert found.goal == "select"
    assert "mean samples" in repr(found)
    with pytest.raises(InvalidValue, match="whose goal is 'select', not 'identify'"):
        mb.compare([TOP, P.ReleasedLikelihood()], RAW, FOUR, delta=0.1)
    with pytest.raises(InvalidValue, match=r"whose goal is 'answer' or .*, as they are given a horizon"):
        mb.compare(TOP, RAW, FOUR, horizon=100)


@pytest.mark.slow
def test_an_experiment_from_file_to_figure(tmp_path):
    experiment = expand_settings("which", TEXT, tomllib.loads(TEXT))
    assert len(experiment.settings) == 4
    table = collect_results(experiment, experiment.settings, tmp_path / "out")
    rows = experiment.shown.summary(table)
    assert rows["runs"].to_list() == [5] * 4
    assert (rows["ratio"] > 1).all()
    assert "over bound" in experiment.shown.cells(next(rows.iter_rows(named=True)))
    assert "What there is to say of it." in experiment.draw(table).get_supxlabel()


@for_each(
    ("old", "new", "said"),
    [
        ("delta = 0.1", "horizon = 10", "goes with goal = 'answer' or 'regret', and this is 'select'"),
        ("m = 2 }\nchannel", "m = 4 }\nchannel", "more than 4 arms"),
        ('{ name = "top_arms", m = 2 }', '"released_likelihood"', "whose goal is 'select', not 'identify'"),
        ('label = "central"\n', 'label = "central"\ntheory = "central"\n', "there is none for goal = 'select'"),
    ],
)
def test_an_experiment_that_does_not_fit_is_refused(old, new, said):
    assert old in TEXT
    text = TEXT.replace(old, new)
    with pytest.raises(InvalidValue, match=said):
        expand_settings("which", text, tomllib.loads(text))


@pytest.mark.slow
def test_a_figure_of_a_result(tmp_path):
    found = mb.select(ABOVE, RAW, FOUR, delta=0.1, runs=5)
    assert "samples until it stops" in found.plot(file=tmp_path / "samples.svg").get_xlabel()


def test_answers_about_people_with_several_rewards_are_in_units_of_the_cap() -> None:
    """0.8 rewards of a person are 0.4 of a cap of 2, so below a threshold of 0.5."""
    world = mb.Visits([0.5, 0.2], visits=4, cap=2)
    found = mb.select(ABOVE, mb.channels.Central(epsilon=10), world, delta=0.1, runs=3, seed=1)
    assert found.answer.tolist() == [[True, False]] * 3
    assert found.correct.all()
    assert dict(found.channel.offer(10).terms)["cap"] == 2
