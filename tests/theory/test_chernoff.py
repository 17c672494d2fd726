"""The Chernoff bound of a mean, for rewards and noise together, is what defines it."""

import math

import pytest
from scipy.optimize import brentq, minimize_scalar

import maskedbandit as mb
from maskedbandit.law import LAPLACE, NO_NOISE, Law
from maskedbandit.noise_bounds import log_mgf_of_sum
from maskedbandit.theory.chernoff import chernoff_bound, chernoff_exponent
from maskedbandit.theory.divergences import kl_upper, private_upper
from tests.for_each import for_each

CONTINUOUS = 10**6  # steps: discrete Laplace noise is Laplace noise to within 1e-12 of its cumulant


def laplace(epsilon):
    return Law(LAPLACE, scale=1 / epsilon, grid=CONTINUOUS, per_release=1)


def evidence(law, x, m, n, q, most):
    """I(q), by maximizing the bracket itself."""

    def bracket(lam):
        return lam * x + n * math.log1p(q * math.expm1(-lam)) + log_mgf_of_sum(law, m, n, lam)

    return max(0.0, -minimize_scalar(bracket, bounds=(0, most), method="bounded", options={"xatol": 1e-12}).fun)


def by_definition(law, x, m, n, f, most):
    """max{q : I(q) <= f}, by bisection; None if there is none."""
    if evidence(law, x, m, n, 1e-12, most) > f:
        return None
    if evidence(law, x, m, n, 1 - 1e-12, most) <= f:
        return 1.0
    return brentq(lambda q: evidence(law, x, m, n, q, most) - f, 1e-12, 1 - 1e-12, xtol=1e-12)


class TestChernoffBound:
    def test_numbers_known_beforehand(self):
        batches = [1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
        luck = [0.5, -1, 2, 0, 0.3, -0.7, 1.1, -2, 0.4, 0.6, -0.2]
        x, n = 0.3 * sum(batches) + sum(luck), sum(batches)
        assert chernoff_bound(laplace(0.5), x, 11, n, math.log(1e5)) == pytest.approx(0.387355, abs=1e-6)
        assert chernoff_bound(laplace(1.0), 5.5, 4, 8, 0.04335359) == pytest.approx(0.8, abs=1e-6)

    @pytest.mark.slow
    @for_each(
        ("channel", "most"),
        [
            (mb.channels.Central(epsilon=0.5), 0.5),
            (mb.channels.Central(epsilon=0.5, noise=mb.noises.Skellam()), 30),
            (mb.channels.Central(epsilon=0.2, noise=mb.noises.DiscreteGaussian()), 30),
            (mb.channels.Local(epsilon=2), 2),
            (mb.channels.Distributed(epsilon=0.5, honest=0.5), 0.5),
        ],
        ids=lambda value: type(value).__name__,
    )
    @for_each(("fraction", "n", "m"), [(0.0, 64, 1), (0.3, 200, 3), (0.9, 5000, 9), (-0.2, 100, 2)])
    def test_is_the_bound_that_defines_it(self, channel, most, fraction, n, m):
        law = channel.law()
        for f in (0.5, 5.0, 12.0):
            expected = by_definition(law, fraction * n, m, n, f, most * (1 - 1e-12))
            value = chernoff_bound(law, fraction * n, m, n, f)
            assert value < 1e-9 if expected is None else value == pytest.approx(expected, abs=2e-6)

    @for_each("epsilon", [0.05, 0.5, 5])
    @for_each(("x", "m", "n", "q"), [(30.0, 1, 100, 0.5), (-20.0, 3, 100, 0.2), (0.0, 2, 50, 1.0)])
    def test_its_exponent_is_the_supremum_and_never_more(self, epsilon, x, m, n, q):
        law = laplace(epsilon)
        expected = evidence(law, x, m, n, q, min(40.0, epsilon * (1 - 1e-12)))
        assert chernoff_exponent(law, x, m, n, q) <= expected * (1 + 1e-9)
        assert chernoff_exponent(law, x, m, n, q) == pytest.approx(expected, rel=1e-3, abs=1e-6)
        assert chernoff_exponent(law, n * 1.0, m, n, q * 0.9) < 1e-6

    @for_each(
        ("channel", "n", "fraction", "f", "value"),
        [
            (
                mb.channels.Central(epsilon=0.1, noise=mb.noises.DiscreteGaussian()),
                81,
                0.25,
                math.log1p(1e5 / 81),
                0.7517,
            ),
            (mb.channels.Shuffled(epsilon=1), 15, 0.0, math.log1p(100 / 15), 0.8687),
        ],
    )
    def test_search_comes_down_from_bounds_above_one(self, channel, n, fraction, f, value):
        """Where noise is wide, most lam bound the mean by more than 1, and less so the larger they are."""
        found = chernoff_bound(channel.law(), fraction * n, 1 if fraction else 2, n, f)
        assert found == pytest.approx(value, abs=1e-4)

    @for_each(("x", "n", "f"), [(0.0, 10, 3.0), (3.0, 10, 1.0), (900.0, 1000, 10.0), (1e7, 10**8, 20.0)])
    def test_without_noise_it_is_that_of_kl_ucb(self, x, n, f):
        assert chernoff_bound(Law(NO_NOISE), x, 1, n, f) == pytest.approx(kl_upper(x / n, f / n), abs=2e-6)

    def test_on_randomized_response_it_is_that_of_kl_ucb_on_bits(self):
        law = mb.channels.Response(epsilon=1).law()
        bits, n, f = 420, 1000, 7.0
        released = (bits - n * law.flip) / (1 - 2 * law.flip)
        expected = (kl_upper(bits / n, f / n) - law.flip) / (1 - 2 * law.flip)
        assert chernoff_bound(law, released, 3, n, f) == pytest.approx(expected, abs=2e-6)

    def test_lies_above_the_index_that_forgets_the_number_of_releases(self):
        """d_epsilon is the same bound with one release, whose noise counts for nothing."""
        for x, n in ((10.0, 64), (100.0, 512), (3000.0, 4096)):
            assert chernoff_bound(laplace(0.5), x, 6, n, 9.0) > private_upper(x / n, 9.0 / n, 0.5)

    @for_each("x", [-1e6, -50.0, 0.0, 150.0, 1e6])
    def test_is_finite_whatever_was_released(self, x):
        value = chernoff_bound(laplace(0.1), x, 3, 100, 10.0)
        assert math.isfinite(value)
        assert value <= 1.0
        if x >= 100:
            assert value == 1.0

    def test_rises_with_the_sum_and_the_exploration_rate_and_the_noise(self):
        values = [chernoff_bound(laplace(0.5), x, 3, 400, 8.0) for x in (-50.0, 0.0, 100.0, 200.0)]
        assert values == sorted(values)
        values = [chernoff_bound(laplace(0.5), 100.0, 3, 400, f) for f in (0.1, 1.0, 5.0, 10.0)]
        assert values == sorted(values)
        values = [chernoff_bound(laplace(0.5), 100.0, m, 400, 8.0) for m in (1, 2, 5, 9)]
        assert values == sorted(values)
