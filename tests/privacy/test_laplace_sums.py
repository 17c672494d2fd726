"""Sums of more than one discrete Laplace draw, or of less than one: from the noise's own probabilities."""

from fractions import Fraction

import numpy as np
import pytest

import maskedbandit.privacy.laplace_sums as laplace_sums
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.laplace_sums import find_end, laplace_sum_curve, shortfall_loss
from maskedbandit.privacy.renyi_divergences import ORDERS, discrete_laplace_curve
from maskedbandit.theory.noise_pmf import epsilon_left
from tests.for_each import for_each

Z = np.arange(-4000, 4001)


def renyi(scale, draws, shift, order):
    with np.errstate(divide="ignore"):
        p, q = (np.log(DiscreteLaplace(scale).pmf(z, float(draws))) for z in (Z, Z - shift))
    seen = (p > -650) & (q > -650)
    return np.logaddexp.reduce(order * p[seen] + (1 - order) * q[seen]) / (order - 1)


CASES = [(1, 3, 1), (3, 10, 2), (10, 50, 1), ("1/2", 7, 1), (5, 300, 5), (10, "5/4", 1), (2, 2, 8)]


@pytest.mark.slow
@for_each(("scale", "draws", "shift"), CASES)
def test_the_curve_is_that_of_the_probabilities(scale, draws, shift):
    scale, draws = Fraction(scale), Fraction(draws)
    curve = laplace_sum_curve(scale, draws, shift)
    for order, bound in zip(ORDERS, curve, strict=True):
        if order <= 9:
            exact = renyi(scale, draws, shift, float(order))
            assert float(bound) == pytest.approx(exact, rel=1e-6, abs=1e-11)
            assert float(bound) >= exact * (1 - 1e-7) - 1e-12
    assert all(a <= b for a, b in zip(curve, discrete_laplace_curve(scale, shift), strict=True))
    assert sorted(curve) == list(curve)


def test_more_draws_cost_less_and_one_is_a_draw():
    one, two, many = (laplace_sum_curve(Fraction(5), Fraction(draws), 1) for draws in (1, 2, 40))
    assert one == discrete_laplace_curve(Fraction(5), 1)
    assert all(c < b < a for a, b, c in zip(one, two, many, strict=True))


def test_where_summing_takes_too_long_fewer_draws_stand_for_all(monkeypatch):
    exact = laplace_sum_curve(Fraction(6), Fraction(90), 3)
    monkeypatch.setattr(laplace_sums, "LONGEST_SUM", 2000)
    coarse = laplace_sum_curve.__wrapped__(Fraction(6), Fraction(90), 3)
    assert all(a <= b for a, b in zip(exact, coarse, strict=True))
    assert coarse[0] == exact[0]
    assert coarse[-1] > exact[-1]


@for_each(("scale", "draws"), [(1, 1), (10, 4), (3, 100)])
def test_hardly_any_sum_is_beyond_the_end(scale, draws):
    for rare in (3.0, 10.0, 30.0):
        end, _ = find_end(Fraction(scale), draws, rare)
        assert 2 * DiscreteLaplace(scale).pmf(np.arange(end + 1, 6 * end), float(draws)).sum() <= np.exp(-rare)


@for_each(("epsilon", "steps"), [(0.1, 1), (0.1, 10), (1, 32), (4, 128), (3, 1)])
@for_each("fraction", [0.95, 0.5, 0.25, 0.01])
def test_less_than_one_draw_costs_what_the_theory_says(epsilon, steps, fraction):
    found = float(shortfall_loss(steps / Fraction(str(epsilon)), Fraction(str(fraction)), steps))
    exact = epsilon_left(epsilon, steps, fraction)
    assert exact <= found * (1 + 1e-12)
    assert found == pytest.approx(exact, rel=2e-8)


def test_vectors_under_less_than_one_draw():
    """The loss is concave in the move, so equal moves of all numbers are the worst, and one that is alone is better."""
    f = [0.0, *(float(shortfall_loss(Fraction(6), Fraction(1, 2), move)) for move in range(1, 9))]
    assert np.all(np.diff(f, 2) < 1e-9)
    assert f[8] < 2 * f[4] < 4 * f[2]
