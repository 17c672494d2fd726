"""Successive elimination in batches. Seeds are fixed; statistical tests fail a correct policy with probability 1e-9."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.regret.successive_elimination import BATCH, SIZE, confidence, eliminate_arms
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.coverage import drops
from tests.policies.mutants import mutant
from tests.statistics import at_most, same_distribution

SE = mb.policies.SuccessiveElimination
EQUAL = mb.Bernoulli([0.5, 0.5, 0.5])
CENTRAL = mb.channels.Central(epsilon=1)


def beta(policy: SE, law: Law, k: int, batch: int, n: int) -> float:
    """The policy's confidence radius after a batch of k arms."""
    s = policy.init(k, 10**6)
    s.clock[BATCH], s.clock[SIZE] = batch, n
    return confidence(s, law)


@for_each(("epsilon", "corrected", "paper"), [(0.1, 168, 177), (0.5, 140, 141), (1, 136, 137)])
def test_confidence_radius_of_ten_arms_in_batch_16(epsilon, corrected, paper):
    law = mb.channels.Central(epsilon=epsilon).law()
    assert round(1e4 * beta(SE(failure=1e-6), law, 10, 16, 65536)) == corrected
    assert round(1e4 * beta(SE(failure=1e-6, radius="paper"), law, 10, 16, 65536)) == paper


@for_each(("k", "batch", "n", "p"), [(2, 1, 64, 0.1), (10, 16, 65536, 1e-6), (50, 3, 7, 0.5)])
def test_confidence_radius_is_the_formula(k, batch, n, p):
    epsilon = 0.25
    y = math.log(4 * k * batch * (batch + 1) / p)
    law = mb.channels.Central(epsilon=epsilon).law()
    assert beta(SE(failure=p), law, k, batch, n) == pytest.approx(math.sqrt(y / (2 * n)) + y / (epsilon * n), rel=1e-12)
    z = math.log(2 * k * batch**2 / p)
    published = math.sqrt(math.log(4 * k * batch**2 / p) / (2 * n)) + (math.sqrt(2 * z) + z) / (epsilon * n)
    assert beta(SE(failure=p, radius="paper"), law, k, batch, n) == pytest.approx(published, rel=1e-12)
    response = mb.channels.Response(epsilon=epsilon).law()
    both = math.sqrt(y / (2 * n)) + radius(response, 1, n, y) / n
    assert beta(SE(failure=p), response, k, batch, n) == pytest.approx(both, rel=1e-12)


def test_published_radii_of_other_noises():
    """[CZ23, Lem. 2 and App. C, D]: sigma = 2 / epsilon and h = sqrt(2) / g, and sigma = sqrt(2) / epsilon, h = 0."""
    k, batch, n, p, epsilon = 5, 4, 1000, 0.1, 0.5
    z = math.log(2 * k * batch**2 / p)
    hoeffding = math.sqrt(math.log(4 * k * batch**2 / p) / (2 * n))
    policy = SE(failure=p, radius="paper")
    skellam = mb.channels.Distributed(epsilon=epsilon, noise=mb.noises.Skellam(), grid=10).law()
    expected = hoeffding + (2 * math.sqrt(z) / epsilon + math.sqrt(2) / 10 * z) / n
    assert beta(policy, skellam, k, batch, n) == pytest.approx(expected, rel=1e-12)
    gaussian = mb.channels.Central(epsilon=epsilon, noise=mb.noises.DiscreteGaussian()).law()
    assert beta(policy, gaussian, k, batch, n) == pytest.approx(hoeffding + math.sqrt(2 * z) / epsilon / n, rel=1e-12)


def test_renyi_privacy_narrows_the_published_radius_most_where_epsilon_is_small():
    """[CZ23, Sec. 7]: Skellam noise with s = 10 against discrete Laplace noise, on the paper's grids."""

    def ratio(epsilon: float) -> float:
        pure, renyi = (
            mb.channels.Distributed(epsilon=epsilon, noise=noise, grid="paper").law()
            for noise in (mb.noises.DiscreteLaplace(), mb.noises.Skellam())
        )
        policy = SE(failure=0.1, radius="paper")
        return beta(policy, renyi, 10, 12, 4096) / beta(policy, pure, 10, 12, 4096)

    ratios = [ratio(epsilon) for epsilon in (0.1, 0.5, 1)]
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.75
    assert ratios[-1] < 1


@for_each(("gap", "left"), [(0.19, [1, 1]), (0.21, [1, 0])])
def test_an_arm_leaves_when_the_intervals_part(gap, left):
    s = SE().init(2, 1000)
    s.mean[:] = 0.5, 0.5 - gap
    eliminate_arms(s, 0.1)
    assert s.left.tolist() == left


@for_each(
    ("base", "least", "sizes"),
    [(2, 1, [2, 4, 8, 16, 32]), (4, 1, [4, 16, 64, 256]), (1.5, 1, [2, 3, 4, 6, 8, 12, 18]), (2, 10, [10, 10, 10, 16])],
)
def test_batches_grow(base, least, sizes):
    horizon = 3 * sum(sizes)
    found = interpreted(SE(base=base, least=least, failure=1e-9), CENTRAL, EQUAL, horizon)
    assert [n for arm, n, _ in found.released if arm == 0] == sizes
    assert found.pulls == [sum(sizes)] * 3


@pytest.mark.slow
@pytest.mark.parametrize("channel", [mb.channels.Raw(), mb.channels.Central(epsilon=0.1)], ids=["raw", "central"])
def test_an_arm_as_good_as_the_best_leaves_with_probability_p(channel):
    at_most(drops(SE(least=1, failure=0.1), channel, 3, 2000, runs=1000), 1000, 0.1)


def test_forgetting_the_noise_is_rejected():
    """Negative control: a confidence radius that knows of the rewards alone."""

    class Forgets(SE):
        ask = mutant(SE.ask, confidence=mutant(confidence, "+ radius(law, 1, n, y) / n", ""))

    with pytest.raises(AssertionError, match="more than"):
        at_most(drops(Forgets(least=1, failure=0.1), mb.channels.Central(epsilon=0.1), 3, 2000, runs=300), 300, 0.1)


@for_each("horizon", [191, 192, 193, 500, 575, 576, 577])
@for_each("unfinished", ["skip", "start"])
def test_a_batch_that_cannot_finish_is_never_released(unfinished, horizon):
    """Three arms, batches of 64: the first ends after 192 users, the third after 576."""
    policy = SE(failure=1e-9, unfinished=unfinished)
    run = mb.simulate(policy, CENTRAL, EQUAL, horizon, runs=5, seed=1)
    full, rest = divmod(horizon, 192)
    if unfinished == "skip":
        assert np.sort(run.pulls, axis=1).tolist() == [[64 * full, 64 * full, 64 * full + rest]] * 5
    else:
        assert run.pulls.sum(axis=1).tolist() == [horizon] * 5
        assert np.ptp(run.pulls) <= 4  # rounded at every mark
    assert run.releases.tolist() == [3 * full] * 5


def test_every_cohort_is_released_once_and_costs_its_users_epsilon():
    found = interpreted(SE(failure=0.1), CENTRAL, mb.Bernoulli([0.2, 0.5, 0.8]), 20_000)
    closed = [(arm, n) for arm, n, close in found.decisions if close]
    assert [(arm, n) for arm, n, _ in found.released] == closed
    assert found.releases == len(closed)
    run = mb.simulate(SE(failure=0.1), CENTRAL, mb.Bernoulli([0.2, 0.5, 0.8]), 20_000)
    assert run.releases[0] == found.releases
    assert run.loss.epsilon() == 1.0


def test_a_survivor_is_served_for_ever():
    found = interpreted(SE(failure=0.1), CENTRAL, mb.Bernoulli([0.1, 0.9]), 20_000)
    assert found.decisions[-1] == [1, 0, 0]
    assert found.pulls[0] == sum(n for arm, n, _ in found.released if arm == 0) < 500


def answers(policy: SE, runs: int) -> np.ndarray:
    """What it serves to three users, of whom no batch can be made."""
    return np.array([interpreted(policy, CENTRAL, EQUAL, 3, seed).decisions[0][0] for seed in range(runs)])


@pytest.mark.slow
def test_before_the_first_release_no_arm_is_preferred():
    same_distribution(answers(SE(), 1000), lambda v: ((v >= 0) & (v < 3)) / 3)


@pytest.mark.slow
def test_preferring_the_first_arm_is_rejected():
    """Negative control: of arms that look equal it serves the first."""

    class First(SE):
        ask = mutant(SE.ask, "return answer_best(s, rng)", "return Decision(0, 0, 0)")

    with pytest.raises(AssertionError):
        same_distribution(answers(First(), 1000), lambda v: ((v >= 0) & (v < 3)) / 3)


def test_a_stop_is_final():
    """Asked again after it stopped, it gives the same answer, though arms are tied."""
    rng = np.random.Generator(np.random.PCG64(1))
    s = SE().init(5, 10)
    first = SE.ask(s, CENTRAL.law(), rng)
    assert first.n == 0
    assert {SE.ask(s, CENTRAL.law(), rng) for _ in range(20)} == {first}


@for_each("base", [1e12, 1e40, 1e300])
def test_a_batch_beyond_all_horizons_is_skipped(base):
    run = mb.simulate(SE(base=base), CENTRAL, EQUAL, 10_000, seed=1)
    assert run.releases[0] == 0


@for_each(
    "wrong",
    [
        {"base": 1},
        {"base": 0.5},
        {"base": math.inf},
        {"base": math.nan},
        {"least": 0},
        {"least": -3},
        {"least": 2.5},
        {"least": math.nan},
        {"failure": 0},
        {"failure": 1},
        {"failure": math.nan},
        {"radius": "Paper"},
        {"unfinished": "stop"},
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(InvalidValue, match=f"^{name} is "):
        SE(**wrong)


def test_parameters_in_range_are_accepted():
    SE(base=1.01, least=1, failure=0.999, radius="paper", unfinished="start")
