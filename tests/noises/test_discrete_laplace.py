"""Discrete Laplace noise: known losses, Pólya noise shares, and the loss of a cohort that lost some of its noise
shares.

Exact: distributions come from `pmf`, and one reference from mpmath.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from tests.for_each import for_each
from tests.statistics import seeded


def loss_of(scale, count, sensitivity):
    """The largest log-ratio of the sum of `count` draws and the same, shifted."""
    z = np.arange(-int(30 * scale), int(30 * scale) + 1)
    noise = DiscreteLaplace(scale)
    return float(np.max(np.abs(np.log(noise.pmf(z, count)) - np.log(noise.pmf(z - sensitivity, count)))))


def test_pmf_by_hand():
    b = np.exp(-0.1)
    z = np.array([-7, 0, 1, 30])
    np.testing.assert_allclose(DiscreteLaplace(10).pmf(z), (1 - b) / (1 + b) * b ** abs(z), rtol=1e-12)


@for_each("scale", ["0.2", 1, 10, 100])
@for_each("count", [0.25, 0.9, 1, 1.25, 50])
def test_pmf_of_several_draws_agrees_with_mpmath(scale, count):
    """P(x) = (1-b)^2c b^x (c)_x/x! 2F1(c, c+x; x+1; b^2); SciPy's 2F1 is wrong by half for x near 2c."""
    x = [0, 1, 5, 52, 97, 100, 400]
    with mpmath.workdps(40):
        b, c = mpmath.e ** (-1 / mpmath.mpf(str(scale))), mpmath.mpf(count)
        mass = [
            (1 - b) ** (2 * c) * b**i * mpmath.rf(c, i) / mpmath.factorial(i) * mpmath.hyp2f1(c, c + i, i + 1, b * b)
            for i in x
        ]
    np.testing.assert_allclose(DiscreteLaplace(scale).pmf(np.array(x), count), np.array(mass, float), rtol=1e-9)


@for_each("sensitivity", [1, 3, 10])
def test_pure_loss_is_sensitivity_over_scale(sensitivity):
    noise = DiscreteLaplace(10)
    assert noise.loss(sensitivity).pure_epsilon == noise.loss(sensitivity, noise_shares=5).pure_epsilon
    assert loss_of(Fraction(10), 1.0, sensitivity) == pytest.approx(float(noise.loss(sensitivity).pure_epsilon))


@for_each(  # the loss if only a part R of the noise shares that make one draw survive
    ("epsilon", "steps", "table"),
    [
        ("0.1", 10, {0.95: 0.126, 0.9: 0.159, 0.8: 0.255, 0.7: 0.410, 0.5: 1.01, 0.25: 2.56}),
        ("0.5", 16, {0.95: 0.562, 0.9: 0.633, 0.8: 0.812, 0.7: 1.05, 0.5: 1.79, 0.25: 3.39}),
        ("1", 32, {0.95: 1.085, 0.9: 1.181, 0.8: 1.412, 0.7: 1.710, 0.5: 2.58, 0.25: 4.37}),
        ("1", 1000, {0.95: 1.087, 0.9: 1.187, 0.8: 1.439, 0.7: 1.793, 0.5: 3.06, 0.25: 6.14}),
        ("4", 128, {0.95: 4.14, 0.9: 4.30, 0.8: 4.65, 0.7: 5.07, 0.5: 6.21, 0.25: 8.36}),
    ],
)
def test_missing_noise_shares_cost_privacy(epsilon, steps, table):
    scale = steps / Fraction(epsilon)
    for survivors, known in table.items():
        at_zero, at_shift = DiscreteLaplace(scale).pmf(np.array([0, steps]), survivors)
        assert np.log(at_zero / at_shift) == pytest.approx(known, abs=0.005 if known > 1 else 0.0006)


@for_each("survivors", [0.25, 0.7, 0.95])
def test_the_worst_case_of_missing_noise_shares_is_at_zero(survivors):
    at_zero, at_shift = DiscreteLaplace(10).pmf(np.array([0, 1]), survivors)
    assert loss_of(Fraction(10), survivors, 1) == pytest.approx(np.log(at_zero / at_shift))


@for_each("count", [1.0, 1.05, 1.25, 2.0, 3.0])
def test_more_noise_shares_than_one_draw_cost_no_privacy(count):
    assert loss_of(Fraction(10), count, 1) <= 0.1 * (1 + 1e-9)


def test_fewer_noise_shares_than_one_draw_exceed_the_loss():
    """The control of the test above."""
    assert loss_of(Fraction(10), 0.99, 1) > 0.1 * 1.03


def test_noise_shares_of_many_are_almost_always_zero():
    bits, noise = seeded(1), DiscreteLaplace(32)
    values = [noise.noise_share(10_000, bits) for _ in range(5000)]
    assert 0 < sum(value != 0 for value in values) < 50  # 2 ln(32.5) / 10000 each: 3.5 in the mean


def test_draws_of_a_vanishing_scale_are_zero():
    rng = np.random.Generator(np.random.PCG64(1))
    assert {DiscreteLaplace.draws(1e-4, count, rng) for count in (1.0, 1.25, 9.0)} == {0}
