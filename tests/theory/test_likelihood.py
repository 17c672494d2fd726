"""The likelihood of released sums, against sums written out, for every kind of noise; and its concavity."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from maskedbandit.law import COINS, GAUSSIAN, LAPLACE, NO_NOISE, RESPONSE, SKELLAM, Law
from maskedbandit.theory.likelihood import ArmReleases, likeliest_mean, log_likelihood, mean_information, of_release
from maskedbandit.theory.noise_pmf import log_pmf_of_draws, stand_in_noise
from tests.for_each import for_each
from tests.policies.mutants import mutant

LAWS = {
    "laplace": Law(LAPLACE, scale=2.0, grid=1, per_release=1),
    "narrow laplace": Law(LAPLACE, scale=0.3, grid=1, per_release=1),
    "noise shares of laplace": Law(LAPLACE, scale=2.0, grid=1, per_release=1, honest=0.7),
    "gaussian": Law(GAUSSIAN, scale=3.0, grid=1, per_release=1),
    "skellam": Law(SKELLAM, scale=3.0, grid=1, per_release=1),
    "narrow skellam": Law(SKELLAM, scale=0.2, grid=1, per_release=1),
    "skellam of which some may be lost": Law(SKELLAM, scale=3.0, grid=1, per_release=1, honest=0.7),
    "coins": Law(COINS, scale=0.5, grid=1, per_release=40),
}
MEANS = (0.0, 1e-4, 0.2, 0.5, 0.83, 0.999, 1.0)


def written_out(law: Law, n: int, r: float, mu: float) -> float:
    """ln of the sum over x of P(x of n bits are one) P(the noise is r - x), or what stands for the noise."""
    scale, count = stand_in_noise(law, n, r)
    terms = [binom.logpmf(x, n, mu) + log_pmf_of_draws(law, scale, count, r - x) for x in range(n + 1)]
    return float(np.logaddexp.reduce(terms))


def check_differences(law: Law, n: int, r: float, kernel=of_release) -> None:
    """Up to what does not depend on the mean, it is what is written out."""
    mine = np.array([kernel(law, n, r, mu)[0] for mu in MEANS])
    theirs = np.array([written_out(law, n, r, mu) for mu in MEANS])
    np.testing.assert_allclose(mine - mine[3], theirs - theirs[3], rtol=1e-11, atol=1e-10)


@pytest.mark.slow
@for_each("name", LAWS)
@for_each(("n", "r"), [(1, 1), (5, 7), (30, 12), (30, -9), (200, 150), (60, 66)])
def test_it_is_what_is_written_out(name, n, r):
    check_differences(LAWS[name], n, float(r))


def test_a_sum_that_stops_too_early_is_rejected():
    with pytest.raises(AssertionError):
        check_differences(LAWS["laplace"], 200, 150.0, mutant(of_release, NEGLIGIBLE_TERM=1e-3))


@for_each("name", LAWS)
def test_the_slope_is_that_of_the_value(name):
    for mu in (0.1, 0.45, 0.9):
        high, low = (of_release(LAWS[name], 40, 25.0, mu + step)[0] for step in (1e-6, -1e-6))
        assert of_release(LAWS[name], 40, 25.0, mu)[1] == pytest.approx((high - low) / 2e-6, rel=1e-5, abs=1e-4)


@given(
    name=st.sampled_from(sorted(LAWS)),
    n=st.integers(1, 60),
    r=st.integers(-15, 75),
    left=st.floats(0.001, 0.999),
    right=st.floats(0.001, 0.999),
)
def test_it_is_concave(name, n, r, left, right):
    check_concave(lambda mu: of_release(LAWS[name], n, float(r), mu)[0], left, right)


def check_concave(f, left: float, right: float) -> None:
    """The value half-way is at least the mean of both ends."""
    assert f((left + right) / 2) >= (f(left) + f(right)) / 2 - 1e-9


def test_noise_of_two_peaks_is_not_concave():
    """What the theorem asks of the noise is needed."""
    with pytest.raises(AssertionError):
        check_concave(lambda mu: float(np.logaddexp(binom.logpmf(2, 20, mu), binom.logpmf(18, 20, mu))), 0.1, 0.9)


def test_bits_without_noise_and_randomized_ones():
    total, n = np.array([3.0, 40.0]), np.array([10, 60])
    found = log_likelihood(Law(NO_NOISE), ArmReleases(total, n, 2), 0.4)[0]
    assert found == pytest.approx(43 * math.log(0.4) + 27 * math.log(0.6), rel=1e-14)
    law = Law(RESPONSE, grid=1, flip=0.25)
    released = (np.array([30.0]) - 50 * 0.25) / 0.5
    value, slope = log_likelihood(law, ArmReleases(released, np.array([50]), 1), 0.4)
    bit = 0.25 + 0.5 * 0.4
    assert value == pytest.approx(30 * math.log(bit) + 20 * math.log(1 - bit), rel=1e-14)
    assert slope == pytest.approx(0.5 * (30 / bit - 20 / (1 - bit)), rel=1e-12)
    assert log_likelihood(Law(NO_NOISE), ArmReleases(total, n, 2), 0.0)[0] == -math.inf


@for_each("name", LAWS)
def test_the_likeliest_mean_is_near_the_top(name):
    """Twenty values half a standard error apart: none is likelier by more than what a twentieth of one costs."""
    law, known = LAWS[name], ArmReleases(np.array([33.0, 158.0, 95.0]), np.array([50, 200, 120]), 3)
    best = likeliest_mean(law, known, 0.5)
    error = 1 / math.sqrt(mean_information(law, known, best))
    values = [log_likelihood(law, known, min(max(best + i * error / 2, 0.0), 1.0))[0] for i in range(-10, 11)]
    assert log_likelihood(law, known, best)[0] >= max(values) - 0.01


def test_the_likeliest_mean_may_be_at_an_end():
    law = LAWS["laplace"]
    assert likeliest_mean(law, ArmReleases(np.array([60.0]), np.array([50]), 1), 0.5) > 0.999
    assert likeliest_mean(law, ArmReleases(np.array([-5.0]), np.array([50]), 1), 0.5) < 0.001
    assert likeliest_mean(Law(NO_NOISE), ArmReleases(np.array([50.0]), np.array([50]), 1), 0.5) == 1.0
