"""The bound on wrong answers holds for every law of noise and for the exact probabilities, and no policy is below the
lower bound.

A correct bound fails a test by simulation under a new seed with probability at most ALPHA = 1e-9.
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.law import LAPLACE, Law
from maskedbandit.theory.wrong_answers import PhasePlan, least_wrong, log_moment, most_wrong, overtaking_bound, psi
from tests.for_each import for_each
from tests.statistics import at_most

RUNS = 20_000
CHANNELS = {
    "none": mb.channels.Raw(),
    "central": mb.channels.Central(epsilon="0.2"),
    "gaussian": mb.channels.Central(epsilon="0.2", noise=mb.noises.DiscreteGaussian()),
    "skellam": mb.channels.Distributed(epsilon="0.2", noise=mb.noises.Skellam()),
    "response": mb.channels.Response(epsilon=1),
    "shuffled": mb.channels.Shuffled(epsilon="0.5"),
}


def law_of(name: str) -> Law:
    return Law(*CHANNELS[name].law())


def pmf_of_difference(n: int, worse: float, best: float, rate: float) -> np.ndarray:
    """The distribution of the sum of one arm minus that of another, each with discrete Laplace noise of this rate."""
    found = np.ones(1)
    for mean, sign in ((worse, 1), (best, -1)):
        bits = np.ones(1)
        for _ in range(n):
            bits = np.convolve(bits, [1 - mean, mean][::sign])
        wide = np.arange(-400, 401)
        noise = np.tanh(rate / 2) * np.exp(-rate * np.abs(wide))
        found = np.convolve(np.convolve(found, bits), noise)
    return found


@for_each(("n", "worse", "best"), [(300, 0.5, 0.7), (60, 0.2, 0.5), (100, 0.0, 0.4), (60, 0.9, 1.0)])
def test_no_arm_overtakes_more_often_than_the_bound_says(n, worse, best):
    pmf = pmf_of_difference(n, worse, best, rate=0.2)
    exact = pmf[(pmf.size - 1) // 2 :].sum()  # the middle is a difference of 0
    law = Law(LAPLACE, scale=5.0, grid=1, per_release=1)
    assert exact <= overtaking_bound(worse, best, [n], law) < 60 * exact
    assert overtaking_bound(worse, best, [n], Law(0)) < exact, "without its noise the bound should be violated"


@for_each("x", [-30.0, -1.0, -1e-6, 0.0, 1e-6, 1.0, 30.0])
@for_each("mean", [0.0, 1e-9, 0.3, 1.0])
def test_psi_is_the_log_moment_of_a_bit(x, mean):
    assert psi(mean, x) == pytest.approx(math.log(1 - mean + mean * math.exp(x)), rel=1e-6, abs=1e-15)


def test_the_log_moment_of_randomized_response_is_that_of_its_bits():
    law, n, mean, x = law_of("response"), 7, 0.3, 0.9
    p = law.flip + (1 - 2 * law.flip) * mean
    values = (np.array([0, 1]) - law.flip) / (1 - 2 * law.flip)
    assert log_moment(law, n, mean, x) == pytest.approx(n * math.log(np.array([1 - p, p]) @ np.exp(x * values)))


@for_each("pooled", [False, True])
def test_a_phase_that_drops_one_arm_has_a_union_over_pairs(pooled):
    """By hand: three arms, the first phase keeps two, and the second one."""
    means, law = [0.6, 0.5, 0.4], Law(0)
    q = [overtaking_bound(mean, 0.6, [100], law) for mean in (0.5, 0.4)]
    sizes = [100, 200] if pooled else [200]
    last = [overtaking_bound(mean, 0.6, sizes, law) for mean in (0.5, 0.4)]
    first = min(sum(q) / 2, q[1])
    expected = first + (sum(last) if pooled else last[0])
    assert most_wrong(PhasePlan((100, 200), (2, 1), pooled), means, law) == pytest.approx(expected)


@for_each("people", [1, 10, 100, 1000])
def test_two_arms_without_privacy_have_the_bound_of_their_swap(people):
    cost = max(mb.theory.kl(0.6, 0.5), mb.theory.kl(0.5, 0.6))
    assert least_wrong("no_privacy", [0.5, 0.6], people) == pytest.approx(math.exp(-people * cost) / 4, rel=1e-6)


def test_the_lower_bound_knows_who_can_be_trusted():
    means = [0.75, 0.625, 0.5, 0.375, 0.25]
    found = [least_wrong(name, means, 500, 0.5) for name in ("no_privacy", "central", "local")]
    assert found == sorted(found)
    assert least_wrong("central", means, 10**6, 100.0) == pytest.approx(least_wrong("no_privacy", means, 10**6))
    assert least_wrong("central", [0.5, 0.5, 0.4], 10**9, 1.0) == 0.25
    with pytest.raises(UnknownName, match="lower bound"):
        least_wrong("sentral", means, 500)
    with pytest.raises(InvalidValue, match="epsilon"):
        least_wrong("central", means, 500, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANNELS)
def test_answers_are_wrong_no_more_often_than_proved(name):
    people = {"response": 4000, "none": 400, "central": 1500}.get(name, 600)
    means = [0.7, 0.5, 0.5, 0.4]
    found = mb.answer(mb.policies.PooledElimination(), CHANNELS[name], mb.Bernoulli(means), people, RUNS, seed=3)
    proved = mb.policies.PooledElimination().most_wrong(means, people, law_of(name))
    wrong = int((~found.correct).sum())
    assert 0 < proved < 0.9
    at_most(wrong, RUNS, proved)
    assert wrong / RUNS > least_wrong("no_privacy", means, people)


@pytest.mark.slow
def test_a_bound_without_the_noise_is_violated():
    means, people, policy = [0.7, 0.5, 0.5, 0.4], 400, mb.policies.PooledElimination()
    channel = mb.channels.Central(epsilon="0.05")
    found = mb.answer(policy, channel, mb.Bernoulli(means), people, 2000, seed=3)
    wrong = int((~found.correct).sum())
    at_most(wrong, 2000, policy.most_wrong(means, people, Law(*channel.law())))
    with pytest.raises(AssertionError):
        at_most(wrong, 2000, policy.most_wrong(means, people, Law(0)))


def test_a_bound_that_forgets_how_arms_depend_on_earlier_phases_is_lower():
    """What is proved of pooled releases must count arms that were dropped: nobody may take the smaller sum for it."""
    plan, means, law = PhasePlan((400, 400), (4, 1), pooled=True), [0.6] + [0.5] * 7, Law(0)
    best, worse = 0.6, 0.5
    too_low = 7 * overtaking_bound(worse, best, [400], law) / 4 + 3 * overtaking_bound(worse, best, [400, 400], law)
    assert most_wrong(plan, means, law) > too_low
