"""Discrete Gaussian noise: what its noise shares cost, and how nearly they sum to one draw. Exact, from its pmf."""

import math
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_gaussian import SHARE_VARIANCE, DiscreteGaussian
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from tests.for_each import for_each


def gaussian(variance, far=400):
    weight = np.exp(-(np.arange(-far, far + 1) ** 2.0) / (2 * float(variance)))
    return weight / weight.sum()


def total(n, variance, far=400):
    """The exact distribution of the sum of n discrete Gaussians of this variance each, on -far, ..., far."""
    mass = one = gaussian(variance, far)
    for _ in range(n - 1):
        mass = np.convolve(mass, one)[far : 3 * far + 1]
    return mass


def divergence(mass, shift, order):
    p, q = mass[shift:], mass[:-shift]
    seen = (p > 1e-280) & (q > 1e-280)
    log_p, log_q = np.log(p[seen]), np.log(q[seen])
    return np.logaddexp.reduce(order * log_p + (1 - order) * log_q) / (order - 1)


def covers(loss, law, shift):
    for order, bound in zip(ORDERS, loss.curve, strict=True):
        if order <= 12:
            assert float(bound) >= divergence(law, shift, float(order)) * (1 - 1e-9), f"order {float(order)}"


@for_each("n", [2, 3, 5, 20])
@for_each("shift", [1, 2])
def test_loss_with_noise_shares_covers_the_exact_sum(n, shift):
    """Noise shares of variance 2, the least that is allowed."""
    noise = DiscreteGaussian(Fraction(math.isqrt(2 * n * 10**12) + 1, 10**6))
    covers(noise.loss(shift, noise_shares=n), total(n, noise.scale**2 / n), shift)


@for_each("n", [2, 5])
def test_loss_of_a_whole_draw_does_not_cover_narrow_noise_shares(n):
    """The control, and the reason for the least variance: a narrow discrete Gaussian is narrower than its name."""
    with pytest.raises(AssertionError, match="order"):
        covers(Loss.gaussian(Fraction(n, 10), 1), total(n, Fraction(1, 10)), 1)


def by_hand(noise, sensitivity, n):
    """min{d^2 + xi/2, (d + xi)^2} / 2 with xi = 10 sum_{k<n} exp(-2 pi^2 v k/(k+1)), v the variance of a part."""
    v, d = float(noise.scale) ** 2 / n, sensitivity / float(noise.scale)
    k = np.arange(1, n)
    xi = 10 * math.fsum(np.exp(-2 * math.pi**2 * v * k / (k + 1)))
    return min(d * d + xi / 2, (d + xi) ** 2) / 2


@for_each("n", [2, 10, 9_999, 10_000, 10_001, 200_000])
@for_each("sensitivity", [1, 100])
def test_loss_with_noise_shares_is_the_theorem(n, sensitivity):
    """Never below it, also where the sum is cut short at ten thousand noise shares; and not far above."""
    noise = DiscreteGaussian(math.isqrt(SHARE_VARIANCE * n) + 1)
    rho = float(noise.loss(sensitivity, noise_shares=n).curve[0] / ORDERS[0])
    assert rho >= by_hand(noise, sensitivity, n) * (1 - 1e-14)
    assert rho == pytest.approx(by_hand(noise, sensitivity, n), rel=1e-6)


def test_a_sum_that_stops_at_ten_thousand_noise_shares_is_below_the_theorem():
    """The control: the terms left out matter, however little."""
    n, v = 10**6, 2.0
    k = np.arange(1, n, dtype=float)
    terms = np.exp(-2 * math.pi**2 * v * k / (k + 1))
    assert terms[:9_999].sum() < terms.sum() - 1e-12
    assert terms[9_999:].sum() <= (n - 10_000) * math.exp(-2 * math.pi**2 * v * 10_000 / 10_001)


@for_each("n", [2, 3, 5, 20])
def test_wide_noise_shares_sum_to_one_draw_but_for_1e_7(n):
    """In total variation, and in the probability of every value that is seen once in 10^9 draws."""
    nearly, whole = total(n, SHARE_VARIANCE), gaussian(SHARE_VARIANCE * n)
    assert np.abs(nearly - whole).sum() / 2 < 1e-7
    seen = whole > 1e-9
    assert np.abs(nearly[seen] / whole[seen] - 1).max() < 1e-7


def test_narrow_noise_shares_do_not_sum_to_one_draw():
    assert np.abs(total(2, 1) - gaussian(2)).sum() / 2 > 1e-5
    assert np.abs(total(10, Fraction(1, 9)) - gaussian(Fraction(10, 9))).sum() / 2 > 0.4


@for_each("n", [2, 10])
def test_narrow_noise_shares_are_refused(n):
    noise = DiscreteGaussian(Fraction(math.isqrt(SHARE_VARIANCE * n * 10**6) - 1, 1000))
    for refused in (lambda: noise.loss(1, noise_shares=n), lambda: noise.noise_share(n, None)):
        with pytest.raises(InvalidValue, match="finer grid"):
            refused()
    noise.loss(1)


@for_each(("scale", "count"), [(Fraction(1, 3), 10), (Fraction(1), 2), (Fraction(7, 5), 5)])
def test_pmf_of_narrow_draws_is_that_of_their_sum(scale, count):
    z = np.arange(-60, 61)
    np.testing.assert_allclose(
        DiscreteGaussian(scale).pmf(z, float(count)), total(count, scale**2)[340:461], rtol=1e-9, atol=1e-300
    )
