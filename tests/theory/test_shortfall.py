"""What is left of epsilon when noise is missing: a table computed apart from the package, and exact distributions."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.theory.noise_pmf import epsilon_left
from tests.for_each import for_each

FRACTIONS = (0.95, 0.9, 0.8, 0.7, 0.5, 0.25)
TABLE = {  # by epsilon and steps
    (0.1, 10): (".126", ".159", ".255", ".410", "1.01", "2.56"),
    (0.5, 16): (".562", ".633", ".812", "1.05", "1.79", "3.39"),
    (1, 32): ("1.085", "1.181", "1.412", "1.710", "2.58", "4.37"),
    (1, 1000): ("1.087", "1.187", "1.439", "1.793", "3.06", "6.14"),
    (4, 128): ("4.14", "4.30", "4.65", "5.07", "6.21", "8.36"),
}
ENTRIES = [
    (*row, fraction, text) for row, texts in TABLE.items() for fraction, text in zip(FRACTIONS, texts, strict=True)
]


def largest_ratio(epsilon, steps, fraction, far=6, noise=None):
    """Over all outputs within `far` scales and all shifts up to a whole reward, from the noise's own pmf."""
    reach = int(far * steps / epsilon) + 3 * steps
    z = np.arange(reach + 1)
    log = np.log((noise or DiscreteLaplace(steps / epsilon)).pmf(z, fraction))
    both = np.concatenate([log[:0:-1], log])  # the distribution is symmetric
    return max(np.max(np.abs(both[shift:] - both[:-shift])) for shift in {1, (steps + 1) // 2, steps})


@for_each(("epsilon", "steps", "fraction", "text"), ENTRIES)
def test_table(epsilon, steps, fraction, text):
    found = epsilon_left(epsilon, steps, fraction)
    assert f"{found:.{len(text.partition('.')[2])}f}".removeprefix("0") == text


class TestOwnLaw:
    """The formula is the largest ratio of the pmf that the noise itself states."""

    @for_each(("epsilon", "steps"), [(0.1, 1), (0.1, 10), (0.5, 16), (1, 32), (4, 128), (3, 1), (2, 5)])
    @for_each("fraction", [0.999, *FRACTIONS, 0.1, 0.01])
    def test_below_one(self, epsilon, steps, fraction):
        assert largest_ratio(epsilon, steps, fraction) == pytest.approx(
            epsilon_left(epsilon, steps, fraction), rel=1e-9
        )

    @for_each(("epsilon", "steps"), [(0.1, 10), (0.5, 16), (1, 32), (4, 128), (3, 1)])
    @for_each("fraction", [1, 1.001, 1.25, 2, 5.5])
    def test_from_one_on_it_is_epsilon(self, epsilon, steps, fraction):
        """Far out the ratio comes as near to epsilon as one likes, and never above."""
        worst = largest_ratio(epsilon, steps, fraction, far=30)
        assert worst <= epsilon * (1 + 1e-9)
        assert worst > epsilon * (1 - 1e-9 - fraction / 30)
        assert epsilon_left(epsilon, steps, fraction) == epsilon

    def test_a_noise_share_too_little_is_seen(self):
        with pytest.raises(AssertionError):
            assert largest_ratio(1, 32, 0.99) <= 1 * (1 + 1e-9)

    def test_the_distribution_falls_and_its_logarithm_is_convex(self):
        """The proof; for noise shares above 1 it is not convex."""

        def bends(fraction):
            log = np.log(DiscreteLaplace(10).pmf(np.arange(200), fraction))
            return np.diff(log).max(), np.diff(log, 2).min()

        for fraction in FRACTIONS:
            slope, bend = bends(fraction)
            assert slope < 0 < bend + 1e-12
        slope, bend = bends(1.5)
        assert slope < 0
        assert bend < -1e-4


def test_less_noise_costs_more():
    losses = [epsilon_left(0.5, 64, fraction) for fraction in np.linspace(0.02, 1, 50)]
    assert all(more > less for more, less in pairwise(losses))
    assert losses[-1] == 0.5
    assert epsilon_left(0.5, 64, 1 - 1e-9) == pytest.approx(0.5, rel=1e-6)


@for_each("epsilon", ["0.5", "1/2", Fraction(1, 2), Decimal("0.5")])
def test_epsilon_may_be_written_as_elsewhere(epsilon):
    assert epsilon_left(epsilon, 16, 0.9) == epsilon_left(0.5, 16, 0.9)
    assert epsilon_left(epsilon, 16, 1) == 0.5


def test_never_less_than_epsilon():
    """Not by the last digit either."""
    for epsilon, steps in ((0.1, 10), (0.5, 16), (1, 32), (4, 128), (1 / 3, 7)):
        assert all(epsilon_left(epsilon, steps, 1 - 2.0**-i) >= epsilon for i in range(1, 54))


def test_a_cohort_one_short_of_those_counted_on():
    """What a release would cost that a channel throws away."""
    channel = mb.channels.Distributed("0.5", grid=16, honest="0.9")
    counted = channel.counted_on(100)
    assert counted == 90
    assert mb.theory.epsilon_left(0.5, 16, (counted - 1) / counted) == pytest.approx(0.512, abs=1e-3)


@for_each(
    ("epsilon", "steps", "fraction", "name"),
    [
        (0, 1, 1, "epsilon"),
        (-1, 1, 1, "epsilon"),
        ("x", 1, 1, "epsilon"),
        (None, 1, 1, "epsilon"),
        (True, 1, 1, "epsilon"),
        ("0.001", 1001, 1, "steps"),
        (float("nan"), 1, 1, "epsilon"),
        (1000, 1, 1, "epsilon"),
        (1, 0, 1, "steps"),
        (1, 1.5, 1, "steps"),
        (1, float("nan"), 1, "steps"),
        (0.001, 1001, 1, "steps"),
        (1, 1, 0, "fraction"),
        (1, 1, -1, "fraction"),
        (1, 1, float("nan"), "fraction"),
    ],
)
def test_values(epsilon, steps, fraction, name):
    with pytest.raises(InvalidValue, match=name):
        epsilon_left(epsilon, steps, fraction)
