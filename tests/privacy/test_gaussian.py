"""The exact price of Gaussian noise, against arithmetic of 60 digits."""

import math

import mpmath
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.gaussian import gaussian_epsilon
from maskedbandit.privacy.loss import Loss
from tests.for_each import for_each

# at delta = 1e-5
KNOWN = {3: 16.7, 10: 91.8, 18.5: 249.1, 20: 284.4, 31: 611.8, 60: 2054.9, 100: 5425.5}


def delta(mu: float, epsilon: float) -> float:
    """Φ(-ε/mu + mu/2) - e^ε Φ(-ε/mu - mu/2)."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@for_each("chance", [1e-300, 1e-16, 1e-5, 0.1])
@for_each("mu", [0.1, 1.0, 20.0, 1e3, 1e4])
def test_epsilon_is_the_smallest_one_and_rounded_upwards(mu, chance):
    epsilon = gaussian_epsilon(mu, chance)
    assert epsilon == 0 or delta(mu, epsilon) <= chance < delta(mu, epsilon * (1 - 1e-10) - 1e-10)


def test_a_small_shift_costs_nothing_where_delta_pays_for_it():
    assert gaussian_epsilon(0.0, 0) == gaussian_epsilon(0.1, 0.1) == 0.0
    assert delta(0.1, 0) < 0.1
    assert delta(1e-5, gaussian_epsilon(1e-5, 1e-12)) <= 1e-12


def test_no_delta_no_epsilon():
    assert gaussian_epsilon(1.0, 0) == math.inf
    with pytest.raises(InvalidValue, match="delta"):
        gaussian_epsilon(1.0, -0.1)


@for_each("mu", KNOWN)
def test_known_values(mu):
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(KNOWN[mu], abs=0.05)


@for_each("mu", [0.1, 1, 10])
def test_the_renyi_curve_of_the_same_noise_says_a_little_more(mu):
    curve, exact = Loss.zcdp(mu * mu / 2).epsilon(1e-5), gaussian_epsilon(mu, 1e-5)
    assert exact < curve < 1.3 * exact
