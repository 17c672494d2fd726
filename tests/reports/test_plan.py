"""Plans: their numbers are those of fresh studies, what is left out is found, and what cannot be is said."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.parts.purposes import find_purpose
from maskedbandit.privacy.loss import Loss
from maskedbandit.reports.plan.fixed_test import size_fixed_test
from maskedbandit.reports.plan.forecast import find_planned
from maskedbandit.reports.plan.plan import TRUST, Plan, Question, plan
from maskedbandit.reports.plan.visits import share_budget
from maskedbandit.theory.samples import least_samples
from tests.for_each import for_each

EASY = Question(arms=3, baseline=0.3, difference=0.2, per_day=500)


def of(found: Plan, trust: str = "central") -> Any:
    (row,) = [row for row in found.rows if row.trust == trust]
    return row


@pytest.mark.slow
def test_every_trust_model_has_a_row_and_more_trust_needs_fewer_people() -> None:
    found = plan(EASY, runs=50)
    assert [row.trust for row in found.rows] == list(TRUST)
    people = {row.trust: row.expected.people for row in found.rows}
    assert people["central"] == pytest.approx(people["distributed"], rel=0.1)
    assert people["central"] < people["shuffled"] < people["local"]
    means = [0.5, 0.3, 0.3]
    for row in found.rows:
        name = "local" if row.trust == "local" else "central"
        assert row.bound == (None if row.trust == "shuffled" else least_samples(name, means, 0.05, 1.0))
        assert (row.bound or 0) < row.expected.people < row.expected.people_most
        assert row.days == row.expected.people / 500 + 1
        assert row.loss.startswith("ε = 1")


def plan_holds(row: Any, people: np.ndarray[Any, Any]) -> bool:
    """Whether 2000 fresh studies are as planned: the mean within 6.2 errors, and the quantile of nine in ten.

    If both means are normal, 6.2 errors of their difference are passed with probability 6e-10. The quantile is that of
    the plan's 200 runs: by Chernoff's bound, it has more than 30 of 100 studies above it with probability 8e-11, and
    fewer than 1.5 of 100 at or above it with 4e-10; and then more than 41 of 100 of the fresh ones are above it with
    2e-24, or none is at or above it with 7e-14.
    """
    error = math.hypot(row.expected.people_error, people.std() / len(people) ** 0.5)
    most = row.expected.people_most
    near = abs(people.mean() - row.expected.people) < 6.2 * error
    return bool(near and np.mean(people > most) < 0.41 and np.any(people >= most))


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        replace(EASY, arms=arms, baseline=baseline, difference=difference, epsilon=epsilon, window=window)
        for arms, baseline, difference, epsilon, window in [
            (2, 0.3, 0.1, 1.0, 1.0),
            (2, 0.05, 0.05, 0.5, 0.1),
            (3, 0.5, 0.1, 0.2, 2.0),
            (5, 0.3, 0.1, 1.0, 1.0),
            (5, 0.8, 0.1, 4.0, 0.5),
        ]
    ],
)
@pytest.mark.parametrize("trust", ["central", "local"])
def test_fresh_studies_are_as_planned(question: Question, trust: str) -> None:
    row = of(plan(question, trust=(trust,)), trust)
    means = [question.baseline + row.difference] + [question.baseline] * (question.arms - 1)
    channel = TRUST[trust](row.epsilon, question.privacy_delta)
    late = Constant(question.late)
    fresh = mb.identify(question.played, channel, mb.Bernoulli(means), 0.05, 2000, seed=99, max_pulls=10**9, delay=late)
    assert plan_holds(row, fresh.samples)
    # the control: studies that need a third fewer people
    assert not plan_holds(row, 0.7 * fresh.samples)


@pytest.mark.slow
def test_a_smaller_difference_and_a_smaller_epsilon_need_more_people() -> None:
    base = of(plan(EASY, trust=("central",), runs=50)).expected.people
    assert of(plan(EASY, trust=("central",), runs=50, difference=0.1)).expected.people > 2 * base
    assert of(plan(EASY, trust=("central",), runs=50, epsilon=0.05)).expected.people > 1.5 * base


@pytest.mark.slow
def test_what_is_left_out_is_found() -> None:
    least = of(plan(EASY, difference=None, people=4000, trust=("central",), runs=50))
    assert least.expected.people_most <= 4000
    smaller = of(plan(EASY, difference=least.difference * 0.9, trust=("central",), runs=50))
    assert smaller.expected.people_most > 4000
    epsilon = of(plan(EASY, epsilon=None, people=4000, trust=("central",), runs=50))
    assert epsilon.expected.people_most <= 4000
    assert of(plan(EASY, epsilon=epsilon.epsilon * 0.8, trust=("central",), runs=50)).expected.people_most > 4000


@pytest.mark.slow
def test_means_a_policy_and_a_budget_may_be_given() -> None:
    asked: dict[str, Any] = {"trust": ["central"], "per_day": 500, "runs": 50}
    first = of(mb.plan(means=[0.3, 0.5, 0.3], epsilon=1, delta=0.05, **asked))
    same = of(plan(EASY, trust=("central",), runs=50))
    assert (first.difference, first.bound, first.floor) == pytest.approx((0.2, same.bound, same.floor))
    assert first.expected.people == pytest.approx(same.expected.people, rel=0.2)
    half = of(mb.plan(means=[0.3, 0.5, 0.3], budget=2, studies=4, **asked))
    assert half.epsilon == 0.5
    assert half.expected.people > first.expected.people
    few = of(mb.plan(means=[0.3, 0.5], policy=mb.policies.UCB1(), people=20_000, window=0.5, **asked))
    assert few.expected.people == 20_000
    assert few.floor == pytest.approx(250 * 0.1)
    assert few.expected.regret > few.floor
    with pytest.raises(InvalidValue, match="whose goal is"):
        plan(EASY, policy=mb.policies.UCB1(), goal="identify")
    for wrong in ([0.5], [0.5, 0.5], [0.5, 2.0], "ab", [0.5, "x"]):
        with pytest.raises(InvalidValue, match="means is"):
            mb.plan(means=wrong, epsilon=1)


@pytest.mark.slow
@for_each(("budget", "studies"), [(0.1, 30), (3.0, 13), (0.5, 15), (0.5, 20)])
def test_a_ledger_accepts_all_studies_that_share_a_budget(budget, studies) -> None:
    """An ε that was rounded to the nearest float had a sum above the budget, which the last study did not fit into."""
    epsilon = share_budget(budget, studies)
    question = Question(difference=0.2, epsilon=epsilon, visits=studies)
    for trust in ("central", "shuffled", "concentrated"):
        ledger = mb.Ledger(Loss.pure(budget) if trust == "central" else Loss.approximate(budget, 1e-6))
        for _ in range(studies):
            ledger.charge("ann", question.channel_of(trust, epsilon).loss(1000))


@pytest.mark.slow
def test_people_who_come_back_have_noise_for_all_their_studies() -> None:
    """At twenty studies Rényi curves need less noise than shares of ε, and together they cost what was asked for."""
    found = plan(difference=0.2, budget=0.5, studies=20, runs=20)
    assert [row.trust for row in found.rows] == [*TRUST, "concentrated"]
    assert of(found, "concentrated").expected.people < of(found).expected.people
    assert of(found).loss == "ε = 0.025"
    channel = found.question.channel_of("concentrated", 0.025)
    ledger = mb.Ledger(mb.Loss.approximate(0.5, 1e-6))
    for _ in range(20):
        ledger.charge("ann", channel.loss(100))
    with pytest.raises(mb.errors.BudgetExceeded):
        ledger.charge("ann", channel.loss(100))
    shuffled = found.question.channel_of("shuffled", 0.025)
    assert isinstance(shuffled, mb.channels.Shuffled)
    assert 20 * float(shuffled.delta) == pytest.approx(1e-6)
    assert "20 such studies, which cost ε = 0.5 together" in str(found)
    assert "noise of standard deviation 40.3 in place of 56.6" in str(found)


def test_people_who_come_once_are_planned_for_as_ever() -> None:
    found = plan(EASY, runs=5, trust=("central", "concentrated"))
    assert [row.trust for row in found.rows] == ["central", "concentrated"]
    assert "such studies" not in str(found)


@pytest.mark.slow
def test_a_plan_is_compared_with_a_test_of_fixed_size() -> None:
    """By hand: z = 1.6449 twice, so n = 10.82 (.3 .7 + .35 .65) / .05^2 = 1894 of each arm."""
    none, central = Law(NO_NOISE), mb.channels.Central(epsilon=0.1).law()
    assert size_fixed_test(none, 2, 0.3, 0.35, 0.05) == 2 * math.ceil((2 * 1.6448536) ** 2 * 0.4375 / 0.0025)
    assert size_fixed_test(none, 5, 0.3, 0.35, 0.05) > 2.5 * 3788  # four comparisons share the level
    n = size_fixed_test(central, 2, 0.3, 0.35, 0.05) // 2
    error = math.sqrt(0.4375 / n + 2 * 2 * 0.1**-2 / n**2)  # discrete Laplace noise of variance just below 2 / ε²
    assert 2 * 1.6448536 * error == pytest.approx(0.05, rel=1e-3)
    local, slope = size_fixed_test(mb.channels.Response(1).law(), 2, 0.3, 0.35, 0.05), math.tanh(0.5)
    bits = [0.5 - slope * (0.5 - mean) for mean in (0.3, 0.35)]  # means of randomized bits
    spread = sum(mean * (1 - mean) for mean in bits)
    assert local == pytest.approx(2 * (2 * 1.6448536) ** 2 * spread / (0.05 * slope) ** 2, abs=2)
    said = str(plan(EASY, trust=("central",), runs=5))
    assert "A test of fixed size for a difference of 0.2, looked at once, takes: no privacy 450; central 474 " in said
    assert "fixed size" not in str(plan(EASY, goal="regret", people=500, trust=("central",), runs=5))


@pytest.mark.slow
def test_the_test_of_fixed_size_has_its_power_and_its_level() -> None:
    """Of 20 000 studies with noise; each share is within 0.01, at more than six standard errors."""
    rng, n = np.random.default_rng(5), size_fixed_test(mb.channels.Central(epsilon=0.1).law(), 2, 0.3, 0.35, 0.05) // 2
    scale, runs = 10.0, 20_000
    noise = rng.geometric(-math.expm1(-1 / scale), (4, runs))
    for mean, expected in ((0.35, 0.95), (0.3, 0.05)):
        low, high = (rng.binomial(n, m, runs) + noise[2 * i] - noise[2 * i + 1] for i, m in enumerate((0.3, mean)))
        error = math.sqrt((0.21 + mean * (1 - mean)) / n + 4 * scale**2 / n**2)
        assert np.mean((high - low) / n > 1.6448536 * error) == pytest.approx(expected, abs=0.01)


@pytest.mark.slow
def test_regret_is_planned_for_all_people() -> None:
    row = of(plan(EASY, goal="regret", people=20_000, trust=("central",), runs=50))
    assert row.expected.people == 20_000
    assert row.days == 41
    assert row.expected.regret < row.expected.equal / 4


@pytest.mark.slow
def test_no_bound_is_stated_where_none_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--difference", "0.3", "--epsilon", "0.01", "--privacy-delta", "0.2", "--per-day", "1", "--quiet"]
    fast = [*asked, "--delta", "0.1", "--runs", "20", "--trust", "shuffled", "--policy", "released_likelihood"]
    assert main([*fast, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    # what was once called the least is several times what it takes
    assert row["bound"] is None
    assert row["expected"]["people"] < least_samples("central", [0.6, 0.3], 0.1, 0.01) / 4
    assert main(fast) == 0
    assert "Under shuffled trust nothing is known to be the least" in capsys.readouterr().out


@for_each("goal", ["identify", "answer", "select", "regret"])
def test_a_bound_is_stated_of_a_pure_loss_and_never_on_regret(goal: str) -> None:
    policy = mb.policies.TopArms(m=1) if goal == "select" else Question(goal=goal, people=1000).played
    aim = 1000 if find_purpose(goal).aim == "people" else 0.05
    noises: dict[str, mb.Channel] = {
        "gaussian": mb.channels.Central(epsilon=1, noise=mb.noises.DiscreteGaussian()),
        "skellam": mb.channels.Distributed(epsilon=1, noise=mb.noises.Skellam()),
    }
    for trust, channel in {**{each: made(1.0, 1e-6) for each, made in TRUST.items()}, **noises}.items():
        bound = find_planned(goal).prove_least(policy, "central", [0.5, 0.3], aim, channel.loss(100))
        assert (bound is not None) == (goal != "regret" and trust not in ("shuffled", *noises)), trust
    later = 2 * mb.channels.Central(epsilon=0.5).loss(100)  # the same person twice
    if goal == "identify":
        assert find_planned(goal).prove_least(policy, "central", [0.5, 0.3], aim, later) == least_samples(
            "central", [0.5, 0.3], aim, 1.0
        )


@for_each(
    ("changes", "said"),
    [
        ({"arms": 1}, "arms is 1"),
        ({"baseline": 1.5}, "baseline is 1.5"),
        ({"difference": 0.8}, "difference is 0.8: it must be a number from 0 to 0.7"),
        ({"difference": 0}, "difference is 0: it must be above 0"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"delta": 0.7}, "delta is 0.7"),
        ({"difference": None}, "what is left out is 'difference'"),
        ({"difference": None, "epsilon": None, "people": 100}, "what is left out is 'difference, epsilon'"),
        ({"goal": "regret"}, "people is None"),
    ],
)
def test_what_cannot_be_planned_is_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=r"must be|given") as why:
        plan(EASY, **changes)
    assert said in str(why.value)


def test_unknown_names_and_too_few_people_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"did you mean .central."):
        plan(EASY, trust=("centrl",))
    with pytest.raises(InvalidValue, match="under central trust not even"):
        plan(EASY, difference=None, people=10, trust=("central",), runs=10)


@pytest.mark.slow
def test_an_answer_is_planned_as_a_live_study_waits() -> None:
    asked: dict[str, Any] = {"goal": "answer", "arms": 5, "trust": ("central",), "window": 2.0, "runs": 300}
    row = of(plan(EASY, difference=0.1, people=1000, **asked))
    instance = mb.Bernoulli([0.4, 0.3, 0.3, 0.3, 0.3])
    found = mb.answer(mb.policies.PooledElimination(), TRUST["central"](1.0, 0), instance, 1000, 300, seed=1)
    assert row.expected.wrong == 1 - found.correct.mean()
    assert row.bound < row.expected.wrong < row.expected.at_most
    phases = mb.policies.PooledElimination().plan(5, 1000, TRUST["central"](1.0, 0).law()).sizes
    assert len(phases) > 1
    assert row.days == found.pulls.sum(axis=1).mean() / 500 + len(phases) * 2
    assert row.floor == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "less"), [("people", 0.7), ("difference", 0.8), ("epsilon", 0.6)])
def test_of_an_answer_what_is_left_out_is_found(name: str, less: float) -> None:
    asked: dict[str, Any] = {"goal": "answer", "trust": ("central",), "runs": 500}
    given = {"people": 300, "difference": 0.15, "epsilon": 0.3}
    row = of(plan(EASY, **asked, **given | {name: None}))
    found = {"people": row.expected.people, "difference": row.difference, "epsilon": row.epsilon}[name]
    assert 0.02 < row.expected.wrong <= 0.05
    fewer = round(found * less) if name == "people" else found * less
    assert of(plan(EASY, **asked, **given | {name: fewer})).expected.wrong > 0.05


@pytest.mark.slow
def test_a_selection_is_planned_for_the_arms_that_its_policy_asks_for() -> None:
    asked: dict[str, Any] = {"trust": ("central",), "runs": 20, "per_day": 500}
    row = of(mb.plan(arms=4, difference=0.3, epsilon=1, policy=mb.policies.UniformTopArms(m=2), **asked))
    means = [0.6, 0.6, 0.3, 0.3]
    assert row.bound == mb.theory.least_samples_top("central", means, 2, 0.05, 1.0) < row.expected.people
    assert row.days == row.expected.people / 500 + 1
    above = mb.policies.UniformArmsAbove(theta=0.5, tolerance=0.1)
    row = of(mb.plan(means=[0.9, 0.9, 0.2], epsilon=1, policy=above, **asked))
    assert row.difference == pytest.approx(0.4)
    for changes, said in (
        ({"policy": above}, "means is None: it must be given"),
        ({"goal": "select"}, "policy is None: it must be given"),
        ({"policy": mb.policies.TopArms(m=2), "arms": 2}, "arms is 2"),
        ({"policy": mb.policies.TopArms(m=2), "means": [0.5, 0.4, 0.4]}, "the 2 best are better"),
    ):
        with pytest.raises(InvalidValue, match=said):
            mb.plan(**changes)


def test_the_command_plans_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--difference", "0.2", "--epsilon", "1", "--people", "200", "--policy", "equal_split"]
    assert main([*asked, "--trust", "central", "--runs", "50", "--quiet"]) == 0
    assert "99% interval" in capsys.readouterr().out
    assert main([*asked, "--trust", "central", "--runs", "50", "--quiet", "--json"]) == 0
    assert "at_most" in json.loads(capsys.readouterr().out)["rows"][0]["expected"]
    assert main([*asked, "--regret"]) == 2
    assert "--regret" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--arms", "3", "--difference", "0.2", "--epsilon", "1", "--per-day", "500", "--trust", "central"]
    assert main([*asked, "--runs", "50", "--quiet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["expected"]["people"] == of(plan(EASY, trust=("central",), runs=50)).expected.people
    assert main([*asked, "--runs", "50", "--quiet"]) == 0
    assert "central" in capsys.readouterr().out
    means = [
        "plan",
        "--means",
        "0.5,0.3,0.3",
        "--budget",
        "2",
        "--studies",
        "2",
        "--per-day",
        "500",
        "--trust",
        "central",
    ]
    assert main([*means, "--runs", "50", "--quiet", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["rows"][0]
    assert (again["epsilon"], again["difference"]) == (1.0, pytest.approx(0.2))
    how = ["--means", "0.5,0.3", "--epsilon", "1", "--people", "200", "--policy", "ucb1", "--trust", "central"]
    assert main(["plan", *how, "--runs", "20", "--quiet"]) == 0
    assert "theirs: no policy knows anything" in capsys.readouterr().out
    assert main(["plan", "--means", "a,b", "--epsilon", "1"]) == 2
    assert main(["plan"]) == 2
    assert "a --difference (or --means) and an --epsilon" in capsys.readouterr().err


@pytest.mark.slow
def test_the_figure(tmp_path: Any) -> None:
    file = tmp_path / "plan.svg"
    asked = ["plan", "--difference", "0.2", "--epsilon", "1", "--trust", "central", "--trust", "local", "--runs", "20"]
    assert main([*asked, "--quiet", "--figure", str(file)]) == 0
    assert "ε of each person" in file.read_text()
