"""Users who return: each way of adding up gives noise that suffices, and hardly less would not."""

import math
from fractions import Fraction

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.gaussian import gaussian_epsilon
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.repeated_batches import by_batches, returning_users
from tests.for_each import for_each

COUNTS = [1, 2, 5, 10, 100, 1000]


def concentrated(deviation, batches, delta):
    """Epsilon of the composition of Gaussian batches, by adding up their losses one by one."""
    return sum((Loss.gaussian(Fraction(deviation) ** 2) for _ in range(batches)), 0 * Loss.pure(1)).epsilon(delta)


@for_each("epsilon", ["0.1", "0.5", "1"])
@for_each("delta", ["1e-5", "1e-6"])
@for_each("batches", [1, 7, 100])
class TestSuffices:
    def test_concentrated(self, batches, epsilon, delta):
        deviation = returning_users(batches, epsilon, delta).concentrated
        assert concentrated(deviation, batches, delta) <= Fraction(epsilon)
        assert concentrated(0.99 * deviation, batches, delta) > Fraction(epsilon)

    def test_advanced(self, batches, epsilon, delta):
        """Each batch has the fraction of [DR14, Cor. 3.21], and 1 % less noise has not."""
        deviation = returning_users(batches, epsilon, delta).advanced
        fraction = float(Fraction(epsilon)) / math.sqrt(8 * batches * math.log(2 / Fraction(delta)))
        tail = Fraction(delta) / (2 * batches)
        assert gaussian_epsilon(1 / deviation, tail) <= fraction < gaussian_epsilon(1 / (0.99 * deviation), tail)

    def test_basic(self, batches, epsilon, delta):
        deviation = returning_users(batches, epsilon, delta).basic
        rate = math.sqrt(2) / deviation  # of Laplace noise
        assert batches * rate <= float(Fraction(epsilon)) < batches * rate / 0.99


def test_by_hand():
    """rho + 2 sqrt(rho ln(1/delta)) = epsilon at rho = 0.02082, delta = 1e-5; the best order needs less noise.

    Advanced composition at B = 10, epsilon = 1, delta = 1e-6: batches of epsilon 1 / (2 sqrt(20 ln 2e6)) = 0.02935
    and delta 5e-8.
    """
    deviation = returning_users(10, 1, 1e-5).concentrated
    rho, delta = 10 / (2 * deviation**2), 1e-5
    orders = (1 + i / 100 for i in range(1, 10_000))
    best = min(rho * a + math.log(1 - 1 / a) - math.log(delta * a) / (a - 1) for a in orders)
    assert 0.99 < best <= 1
    assert 0.8 * math.sqrt(10 / (2 * 0.02082)) < deviation < math.sqrt(10 / (2 * 0.02082))
    assert returning_users(10, 1, 1e-6).advanced == pytest.approx(1 / shift(0.02935, 5e-8), rel=1e-3)
    assert returning_users(4, "0.5", 1e-6).basic == pytest.approx(8 * math.sqrt(2), rel=1e-9)


def shift(epsilon, delta):
    """The mu of which Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) = delta, with nothing but erfc."""
    low, high = 1e-6, 10.0
    for _ in range(100):
        mu = (low + high) / 2
        near, far = ((epsilon / mu + sign * mu / 2) / math.sqrt(2) for sign in (-1, 1))
        if (math.erfc(near) - math.exp(epsilon) * math.erfc(far)) / 2 <= delta:
            low = mu
        else:
            high = mu
    return low


def test_noise_grows_with_batches_and_with_privacy():
    rows = by_batches(COUNTS, "0.5", 1e-6)
    assert [row.batches for row in rows] == COUNTS
    for way in ("concentrated", "advanced", "basic"):
        found = [getattr(row, way) for row in rows]
        assert found == sorted(found)
        assert getattr(returning_users(10, "0.4", 1e-6), way) > getattr(returning_users(10, "0.5", 1e-6), way)
    assert returning_users(10, "0.5", 1e-7).concentrated > returning_users(10, "0.5", 1e-6).concentrated


def test_growth_is_as_a_root_of_the_batches_and_linear_for_pure_noise():
    one, many = returning_users(1, "0.5", 1e-6), returning_users(10_000, "0.5", 1e-6)
    assert many.concentrated / one.concentrated == pytest.approx(100, rel=1e-5)
    assert many.basic / one.basic == pytest.approx(10_000)
    assert 100 < many.advanced / one.advanced < 150


def test_concentrated_beats_advanced_by_a_logarithm():
    """The squared ratio is a constant times ln(B / delta), to 10 %, where ln(B / delta) itself grows by half."""
    rows = by_batches([1, 100, 10_000, 10**6], "0.5", 1e-8)
    gains = [(row.advanced / row.concentrated) ** 2 / math.log(row.batches / 1e-8) for row in rows]
    assert max(gains) < 1.1 * min(gains)
    assert [row.concentrated < row.basic for row in rows] == [False, True, True, True]
    plain = [(row.advanced / row.concentrated) ** 2 for row in rows]  # the control: without the logarithm
    assert max(plain) > 1.4 * min(plain)


@for_each(
    ("values", "name"),
    [
        ((0, 0.5, 1e-6), "batches"),
        ((1.5, 0.5, 1e-6), "batches"),
        ((True, 0.5, 1e-6), "batches"),
        ((3, 1.01, 1e-6), "epsilon"),
        ((3, 0, 1e-6), "epsilon"),
        ((3, 0.001, 1e-6), "epsilon"),
        ((3, 0.5, 0), "delta"),
        ((3, 0.5, 1), "delta"),
    ],
)
def test_values(values, name):
    with pytest.raises(InvalidValue, match=name):
        returning_users(*values)
