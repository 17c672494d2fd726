"""Skellam noise is closed under sums, and its loss is at least the exact one. Nothing here is random."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import skellam

from maskedbandit.errors import InvalidValue
from maskedbandit.law import SKELLAM, Law
from maskedbandit.noise_bounds import log_mgf
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.loss import Loss
from tests.for_each import for_each


@for_each("scale", [Fraction(1, 2), Fraction(3), Fraction(40)])
def test_pmf_agrees_with_scipy_and_has_variance_scale_squared(scale):
    z = np.arange(-600, 601)
    p, half = Skellam(scale).pmf(z), float(scale) ** 2 / 2
    np.testing.assert_allclose(p[500:701], skellam.pmf(z[500:701], half, half), rtol=1e-6, atol=1e-14)
    assert p @ z**2 == pytest.approx(float(scale) ** 2)


def test_loss_does_not_depend_on_how_the_draw_is_shared():
    assert Skellam(10).loss(1) == Skellam(10).loss(1, noise_shares=50) == Loss.skellam(100, 1)


def test_half_the_noise_shares_are_noise_of_half_the_variance():
    z = np.arange(-50, 51)
    np.testing.assert_allclose(Skellam(4).pmf(z, 0.25), Skellam(2).pmf(z), rtol=1e-12)


def test_a_sensitivity_is_a_whole_number():
    with pytest.raises(InvalidValue, match="sensitivity"):
        Skellam(4).loss(Fraction(1, 2))


@for_each("deviation", [0.5, 3.0, 40.0])
def test_moments_are_those_of_the_proposition(deviation):
    """E e^{λX} ≤ e^{λ²σ²} for |λ| ≤ √2, since cosh λ ≤ e^{λ²/2} [CZ23, Prop. 1, Claim 1]; at λ = 3 no more."""
    law = Law(SKELLAM, scale=deviation, grid=1.0, per_release=1.0)
    for lam in np.linspace(0.01, np.sqrt(2), 50).tolist():
        for sign in (1, -1):
            assert log_mgf(law, 1, sign * lam) <= (lam * deviation) ** 2
        assert np.cosh(lam) <= np.exp(lam**2 / 2)
    assert log_mgf(law, 1, 3.0) > (3 * deviation) ** 2  # the control


@for_each(("epsilon", "known"), [("0.1", 0.336), ("0.5", 1.52), ("1", 2.41)])
def test_exact_delta_of_one_step(epsilon, known):
    """Skellam noise and the same one step further, sd 1/epsilon: the exact epsilon at 1e-5; the loss is no less."""
    noise, z = Skellam(1 / Fraction(epsilon)), np.arange(-300, 301)
    p, q = noise.pmf(z), noise.pmf(z - 1)
    low, high = 0.0, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if np.maximum(p - np.exp(middle) * q, 0).sum() <= 1e-5 else (middle, high)
    assert high == pytest.approx(known, abs=0.006)
    assert noise.loss(1).epsilon(1e-5) >= high
