"""Bounds and the divergences that they are made of, against brute force, published numbers and simulations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import maskedbandit as mb
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.worlds.named_means import named_means
from maskedbandit.policies.regret.dpucb import bound_noise
from maskedbandit.theory.bounds import INFORMATION, response_divergence
from maskedbandit.theory.divergences import kl, kl_upper, private_divergence, private_upper
from tests.for_each import for_each
from tests.thrift import thrifty

means = st.floats(0.01, 0.99)
losses = st.floats(0.01, 20)


def infimum(x: float, y: float, epsilon: float) -> float:
    """d_eps by its definition."""
    found = minimize_scalar(
        lambda z: epsilon * abs(z - x) + kl(z, y), bounds=sorted((x, y)), method="bounded", options={"xatol": 1e-12}
    )
    return min(found.fun, kl(x, y), epsilon * abs(x - y))


@for_each(
    ("x", "y", "numbers"),
    [
        (0.3, 0.6, (0.014699, 0.028792, 0.119294, 0.176863, 0.183787)),
        (0, 0.5, (0.024688, 0.048751, 0.219070, 0.379885, 0.644560)),
        (0.6, 0.3, (0.014736, 0.028936, 0.122175, 0.184265, 0.192042)),
        (0.7, 0.75, (0.002264, 0.004047, 0.006401, 0.006401, 0.006401)),
        (1, 0.5, (0.024688, 0.048751, 0.219070, 0.379885, 0.644560)),
    ],
)
def test_private_divergence_has_the_numbers_of_an_independent_program(x, y, numbers) -> None:
    found = [private_divergence(x, y, epsilon) for epsilon in (0.05, 0.1, 0.5, 1, 3)]
    assert found == pytest.approx(numbers, abs=6e-7)


@given(means, means, losses)
def test_private_divergence_is_the_infimum(x, y, epsilon) -> None:
    assert private_divergence(x, y, epsilon) == pytest.approx(infimum(x, y, epsilon), rel=1e-6, abs=1e-9)


@given(means, means, losses)
def test_privacy_hides_what_it_hides(x, y, epsilon) -> None:
    """0 <= d_eps <= min{kl, eps |x - y|}, more with more epsilon, and a local channel tells less than a central one."""
    central, local = private_divergence(x, y, epsilon), response_divergence(x, y, epsilon)
    slack = 1e-12
    assert -slack <= central <= min(kl(x, y), epsilon * abs(x - y)) + slack
    assert central <= private_divergence(x, y, 1.5 * epsilon) + slack
    assert local <= response_divergence(x, y, 1.5 * epsilon) + slack
    assert local <= central + slack
    contraction = min(4, math.exp(2 * epsilon)) * math.expm1(epsilon) ** 2 * (x - y) ** 2
    assert local <= contraction + slack


@given(means, means)
def test_limits_of_much_and_of_little_privacy(x, y) -> None:
    assert private_divergence(x, y, 1e6) == pytest.approx(kl(x, y), abs=1e-12)
    assert response_divergence(x, y, 1e6) == pytest.approx(kl(x, y), abs=1e-12)
    if abs(x - y) > 0.01:
        assert private_divergence(x, y, 1e-7) == pytest.approx(1e-7 * abs(x - y), rel=1e-3)
        assert response_divergence(x, y, 1e-4) == pytest.approx(0.5 * (1e-4 * (x - y)) ** 2, rel=1e-3)


@given(means, st.floats(1e-6, 3), losses)
def test_upper_ends_are_inverses(x, level, epsilon) -> None:
    """What is distinguished at the level lies above; what lies below the end is not distinguished."""
    for upper, divergence in (
        (kl_upper(x, level), kl),
        (private_upper(x, level, epsilon), lambda p, q: private_divergence(p, q, epsilon)),
    ):
        assert x <= upper <= 1
        if upper < 1 - 1e-9:
            assert divergence(x, upper) == pytest.approx(level, rel=1e-6, abs=1e-12)
        else:
            assert divergence(x, 1 - 1e-9) <= level * (1 + 1e-6)
    assert private_upper(x, level, epsilon) >= kl_upper(x, level) - 1e-9


def test_upper_ends_have_the_numbers_of_an_independent_program() -> None:
    assert private_upper(0.2, 1.5 * math.log(1e5) / 1024, 0.5) == pytest.approx(0.279674, abs=6e-7)
    assert private_upper(0.0, math.log(1000) / 64, 1) == pytest.approx(0.161857, abs=6e-7)


# --- bounds -------------------------------------------------------------------------------------------------


@for_each("name", ["C1", "C2", "C3", "C4"])
def test_a_lower_bound_is_the_sum_over_arms(name) -> None:
    arms = named_means(name)
    rate = sum((0.75 - mean) / infimum(mean, 0.75, 0.1) for mean in arms[1:])
    assert mb.theory.lower_bound("central", arms, 10**6, 0.1) == pytest.approx(rate * math.log(10**6), rel=1e-6)
    free, central, local = (mb.theory.lower_bound(each, arms, 10**6, 0.5) for each in INFORMATION)
    assert free <= central <= local
    assert mb.theory.lower_bound("local", arms, 10**6, 50) == pytest.approx(free)
    assert mb.theory.lower_bound("local", arms, 1000, 0.01) == pytest.approx(1000 * (0.75 - min(arms)))


def test_equal_arms_cost_nothing() -> None:
    assert mb.theory.lower_bound("central", [0.5, 0.5], [10, 100], 1).tolist() == [0, 0]
    for name in mb.theory.UPPER:
        assert mb.theory.upper_bound(name, [0.5, 0.5], 100, 1) == 0


POLICIES = mb.policies
CASES = [
    ("no_privacy", POLICIES.UCB1(), mb.channels.Raw(), math.inf, 20),
    ("central", POLICIES.DPSE(), mb.channels.Central(0.1), 0.1, 40),
    ("central", POLICIES.SuccessiveElimination(), mb.channels.Distributed(0.5), 0.5, 40),
    ("local", POLICIES.SuccessiveElimination(), mb.channels.Response(1), 1, 20),
]


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    ("name", "policy", "channel", "epsilon", "runs"),
    thrifty(CASES, lambda case: case[0] == "no_privacy"),
    ids=lambda v: str(v)[:20],
)
def test_policies_do_not_beat_the_lower_bound(name, policy, channel, epsilon, runs, monkeypatch) -> None:
    """Asymptotic as it is, it holds for these at a fifth of a million users, by far more than their spread."""
    if not isinstance(policy, POLICIES.UCB1):  # whole cohorts are few steps
        monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    run = mb.simulate(policy, channel, mb.Bernoulli(named_means("C2")), 200_000, runs=runs, seed=1)
    bound = mb.theory.lower_bound(name, named_means("C2"), run.t, epsilon)
    mean, error = run.regret.mean(axis=0), run.regret.std(axis=0) / math.sqrt(runs)
    assert (mean + 3 * error)[-1] > bound[-1]


@pytest.mark.slow
def test_the_lower_bound_is_asymptotic() -> None:
    """At a fifth of a million users Thompson sampling is far below it: no bound for a t is claimed."""
    run = mb.simulate(POLICIES.ThompsonSampling(), mb.channels.Raw(), mb.Bernoulli(named_means("C2")), 200_000, 20, 1)
    assert run.regret[:, -1].mean() < 0.8 * mb.theory.lower_bound("no_privacy", named_means("C2"), 200_000)


@pytest.mark.slow
@for_each("epsilon", [math.inf, 0.02])
def test_no_policy_is_below_the_minimax_bound_on_both_of_two_instances(epsilon) -> None:
    """For every t; the worst of many gaps is at least as bad as the two instances of the bound."""
    channel = mb.channels.Raw() if epsilon == math.inf else mb.channels.Central(epsilon)
    worst = np.zeros(1)
    for gap in (0.01, 0.03, 0.1, 0.25):
        for arms in ([0.5 + gap, 0.5], [0.5 + gap, 0.5 + 2 * gap]):
            policy = POLICIES.SuccessiveElimination(least=1)
            run = mb.simulate(policy, channel, mb.Bernoulli(arms), 2000, runs=50, seed=2)
            worst = np.maximum(worst, run.regret.mean(axis=0))
    assert (worst >= mb.theory.minimax(2, run.t, epsilon)).all()


def test_minimax_scales_as_it_should() -> None:
    assert mb.theory.minimax(2, 40_000) == pytest.approx(2 * mb.theory.minimax(2, 10_000), rel=1e-3)
    assert mb.theory.minimax(21, 10**6) == pytest.approx(math.sqrt(20) * mb.theory.minimax(2, 10**6), rel=1e-3)
    # the privacy of many users costs no more than a number: (k-1) / (16 e eps)
    assert mb.theory.minimax(11, 10**5, 1e-3) == pytest.approx(10 / (16 * math.e * 1e-3), rel=0.01)


@for_each("epsilon", [0.5, 2])
def test_a_guarantee_on_bits_is_the_one_without_privacy_for_other_gaps(epsilon) -> None:
    arms, slope = np.array([0.9, 0.5, 0.3]), math.tanh(epsilon / 2)
    flip = (1 - slope) / 2
    bits = flip + slope * arms
    pulls = 8 * math.log(10**6) / (bits[0] - bits[1:]) ** 2 + 1 + math.pi**2 / 3
    found = mb.theory.upper_bound("ldp_ucb", arms.tolist(), 10**6, epsilon)
    assert found == pytest.approx(float((pulls * (arms[0] - arms[1:])).sum()))
    assert found > mb.theory.upper_bound("ucb1", arms.tolist(), 10**6)


def test_the_guarantee_on_trees_covers_the_noise_of_every_sum() -> None:
    """G is above the radius that the policy uses, for as many nodes as a sum of up to T cohorts may have."""
    for horizon in (2, 100, 10**4, 10**7):
        arms, gap = [0.9, 0.5, 0.5], 0.4
        law = mb.channels.Tree(epsilon=0.5, counter="binary", length=horizon).law()
        worst = 2 ** (horizon.bit_length() - 1) - 1 or 1  # all binary digits are 1
        radius = bound_noise(law, worst, worst, math.log(2 * 3 * horizon**2))
        found = mb.theory.upper_bound("dpucb", arms, horizon, 0.5)
        assert found >= min(gap * horizon, 2 * 4 * radius)
        assert found <= gap * horizon
    early, late = mb.theory.upper_bound("dpucb", arms, [10**6, 10**9], 5.0)
    assert early > mb.theory.upper_bound("dpucb", arms, 10**6, 5.0)  # a longer study has higher trees from the start
    assert late >= early


@for_each("epsilon", [0.05, 0.5, 5])
def test_the_leading_term_of_the_noise_aware_index_is_its_ratio_above_the_lower_bound(epsilon) -> None:
    for name in ("C1", "C2", "C3", "C4"):
        arms = named_means(name)
        lower = mb.theory.lower_bound("central", arms, 10**9, epsilon)
        for ratio in (1.5, 2):
            found = mb.theory.upper_bound("noise_aware_klucb", arms, 10**9, epsilon, ratio=ratio)
            assert found == pytest.approx(ratio * lower)
    large = mb.theory.upper_bound("noise_aware_klucb", [1, 0], 10**9, epsilon)  # where the first batch is all
    assert large == pytest.approx(2 / epsilon * math.log(10**9))


def test_the_leading_term_of_thompson_sampling_is_its_slack_above_the_lower_bound() -> None:
    """[LN11, Thm. 11.1], without the constant of which nothing is said; epsilon, a matter of privacy, plays no part."""
    for name in ("C1", "C2", "C3", "C4"):
        arms = named_means(name)
        lower = mb.theory.lower_bound("no_privacy", arms, 10**9)
        for slack in (0.01, 0.5, 3):
            found = mb.theory.upper_bound("thompson_sampling", arms, 10**9, 0.1, slack=slack)
            assert found == pytest.approx((1 + slack) * lower)
    found = mb.theory.curve("thompson_sampling", [0.9, 0.5], 10**6)
    assert found == pytest.approx(0.6 * math.log(10**6) / kl(0.5, 0.9))


@pytest.mark.slow
def test_thompson_sampling_stays_below_its_leading_term() -> None:
    """The constant is on the side of the policy on these arms: by far more than the spread of 40 runs."""
    run = mb.simulate(POLICIES.ThompsonSampling(), mb.channels.Raw(), mb.Bernoulli([0.9, 0.5, 0.3]), 100_000, 40, 1)
    mean, error = run.regret.mean(axis=0), run.regret.std(axis=0) / math.sqrt(40)
    bound = mb.theory.upper_bound("thompson_sampling", [0.9, 0.5, 0.3], run.t)
    assert (mean + 5 * error < bound)[run.t >= 1000].all()


GUARANTEES = [
    ("dpucb", "DPUCB", {}, mb.channels.Tree(2, counter="binary", length=100_000), 2),
    ("ucb1", "UCB1", {}, mb.channels.Raw(), math.inf),
    ("ldp_ucb", "LDPUCB", {}, mb.channels.Response(2), 2),
    ("ada_p_ucb", "AdaPUCB", {"beta": 3.1}, mb.channels.Central(0.5), 0.5),
    ("ada_cucb", "AdaCUCB", {"beta": 3.1}, mb.channels.Central(0.5, noise=mb.noises.DiscreteGaussian()), 0.5),
]


@pytest.mark.parametrize(
    ("name", "policy", "parameters", "channel", "epsilon"),
    thrifty(GUARANTEES, lambda case: not case[0].startswith("ada")),  # these decide for whole cohorts
    ids=lambda v: str(v)[:9],
)
def test_policies_keep_their_guarantees(name, policy, parameters, channel, epsilon) -> None:
    """By far: the constants of proofs are large."""
    arms = [0.9, 0.5, 0.3]
    policy = POLICIES.room[policy](**parameters)
    run = mb.simulate(policy, channel, mb.Bernoulli(arms), 100_000, runs=20, seed=1)
    assert (run.regret.mean(axis=0) <= mb.theory.upper_bound(name, arms, run.t, epsilon, **parameters)).all()
    lower = "local" if name == "ldp_ucb" else "no_privacy"
    assert (mb.theory.upper_bound(name, arms, run.t, epsilon) >= mb.theory.lower_bound(lower, arms, run.t, epsilon))[-1]


def test_all_names_are_curves() -> None:
    assert set(mb.theory.CURVES) == {*mb.theory.LOWER, *mb.theory.UPPER, "minimax"}
    for name in mb.theory.CURVES:
        assert mb.theory.curve(name, [0.9, 0.5], [10, 1000], 1.0).shape == (2,)
    assert mb.theory.curve("minimax", [0.9, 0.5, 0.1], 1000, 1) == mb.theory.minimax(3, 1000, 1)


@for_each(
    ("make", "error", "said"),
    [
        (lambda: mb.theory.lower_bound("centrall", [0.1, 0.2], 10, 1), UnknownName, "did you mean 'central'"),
        (lambda: mb.theory.upper_bound("ucb", [0.1, 0.2], 10), UnknownName, "did you mean 'ucb1'"),
        (lambda: mb.theory.curve("nothing", [0.1, 0.2], 10), UnknownName, "known: ada_cucb"),
        (lambda: mb.theory.lower_bound("central", [0.1, 0.2], 10, 0), InvalidValue, "epsilon is 0"),
        (lambda: mb.theory.lower_bound("central", [0.1, 1.2], 10, 1), InvalidValue, "means"),
        (lambda: mb.theory.lower_bound("central", [0.1], 10, 1), InvalidValue, "means"),
        (lambda: mb.theory.lower_bound("central", [0.1, 0.2], [0, 10], 1), InvalidValue, "t is"),
        (lambda: mb.theory.upper_bound("ada_p_ucb", [0.1, 0.2], 10, 1, beta=3), InvalidValue, "beta is 3"),
        (lambda: mb.theory.upper_bound("ada_cucb", [0.1, 0.2], 10, 1, beta=1), InvalidValue, "beta is 1"),
        (lambda: mb.theory.upper_bound("ldp_ucb", [0.1, 0.2], 10, -1), InvalidValue, "epsilon is -1"),
        (lambda: mb.theory.upper_bound("dpucb", [0.1, 0.2], 10, 0), InvalidValue, "epsilon is 0"),
        (lambda: mb.theory.upper_bound("noise_aware_klucb", [0.1, 0.2], 10, 0), InvalidValue, "epsilon is 0"),
        (lambda: mb.theory.upper_bound("thompson_sampling", [0.1, 0.2], 10, slack=0), InvalidValue, "slack is 0"),
        (lambda: mb.theory.upper_bound("thompson_sampling", [0.1, 0.2], 10, slack=3.1), InvalidValue, "slack is 3.1"),
        (lambda: mb.theory.minimax(1, 10), InvalidValue, "k is 1"),
        (lambda: mb.theory.minimax(2, 10, float("nan")), InvalidValue, "epsilon is nan"),
    ],
)
def test_what_is_wrong_is_named(make, error, said) -> None:
    with pytest.raises(error, match=said):
        make()
