"""Counting bits: the certificate against other arithmetic, and a release that follows its distributions.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

import inspect
from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.shuffle import bit_counting
from maskedbandit.shuffle.bit_counting import BitCounting
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

TINY = BitCounting(2, 32)


class Fixed(BitCounting):
    """Blocks that begin at multiples of m, so that counts near their border know of one another."""

    def weights(self, value):
        m, found = self.modulus, [0] * (self.messages + 1)
        for count in range(self.messages + 1):
            first = count - count % m
            ways, moved = m * bit_counting.comb(self.messages, count), self.chances.get(first, 0)
            found[count] += ways * (2**20 - moved)
            if moved:
                found[first + value] += ways * moved
        return found


class Sharp(BitCounting):
    """Every block is moved that can be, up to the ends."""

    @property
    def chances(self):
        return dict.fromkeys(range(self.messages - self.modulus + 2), 2**20)


class Family(BitCounting):
    """As if these were the distributions of the number of ones, of values with these sums."""

    def __init__(self, masses, sums=None):
        super().__init__(2, 32)
        self.__dict__["given"] = list(zip(sums or [0] * len(masses), masses, strict=True))

    @property
    def total(self):
        return sum(self.given[0][1])

    def distributions(self, n):
        return iter(self.given)


def relaxation(protocol, n):
    return log(protocol.certificate(n)) / 2


class TestCertificate:
    @pytest.mark.slow
    @for_each(("m", "d", "n"), [(2, 32, 1), (2, 32, 3), (2, 27, 2), (3, 60, 2)])
    def test_is_the_worst_of_all_values_in_plain_fractions(self, m, d, n):
        protocol = BitCounting(m, d)
        one = [[Fraction(weight, protocol.total) for weight in protocol.weights(x)] for x in range(m)]
        worst = Fraction(1)
        for total in range(m):
            masses = []
            for values in product(range(m), repeat=n):
                if sum(values) % m == total:
                    mass = [Fraction(1)]
                    for x in values:
                        mass = [
                            sum(mass[j] * one[x][i - j] for j in range(max(0, i - d), min(i, len(mass) - 1) + 1))
                            for i in range(len(mass) + d)
                        ]
                    masses.append(mass)
            high, low = (
                [max(each) for each in zip(*masses, strict=True)],
                [min(each) for each in zip(*masses, strict=True)],
            )
            ratio = max(a / b for a, b in zip(high, low, strict=True) if a)
            worst = max(worst, ratio, sum(high) ** 2, 1 / sum(low) ** 2)
        assert protocol.certificate(n) == worst

    def test_one_device_has_nothing_to_hide_but_its_value(self):
        assert TINY.certificate(1) == 1

    @for_each(("m", "d", "n", "eps", "missed"), [(2, 64, 3, 1.224e-3, 5.496e-3), (2, 128, 4, 0, 1.3e-4)])
    def test_known_numbers(self, m, d, n, eps, missed):
        protocol = BitCounting(m, d)
        assert relaxation(protocol, n) == pytest.approx(eps, rel=1e-3, abs=1e-4)
        assert float(n * protocol.missed()) == pytest.approx(missed, rel=0.05)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("m", "n", "d", "eps", "missed"),
        [
            (2, 16, 128, 1.86e-5, 5.4e-4),
            (3, 5, 256, 7.6e-4, 1.4e-6),
            (4, 5, 384, 2.8e-3, 3e-8),
            (8, 2, 1024, 0.51, 1.5e-15),
        ],
    )
    def test_known_numbers_of_more_devices(self, m, n, d, eps, missed):
        protocol = BitCounting(m, d)
        assert relaxation(protocol, n) == pytest.approx(eps, rel=0.01)
        assert float(n * protocol.missed()) == pytest.approx(missed, rel=0.05)

    def test_blocks_at_fixed_places_are_far_worse(self):
        assert relaxation(Fixed(2, 64), 4) > 20 * relaxation(BitCounting(2, 64), 4)

    def test_blocks_up_to_the_ends_have_no_certificate(self):
        with pytest.raises(InvalidValue, match="messages"):
            Sharp(2, 64).certificate(4)

    def test_half_of_the_worst_ratio_would_not_do(self):
        """Of many distributions, each the largest somewhere, none is near enough to all; nor of many with gaps."""
        peaks, gaps = (
            Family([[3 if i == j else 1 for i in range(50)] for j in range(50)]),
            Family([[1 if i == j else 3 for i in range(50)] for j in range(50)]),
        )
        assert peaks.certificate(1) == Fraction(150, 52) ** 2 > 3  # the largest of all add up to 150 / 52
        assert gaps.certificate(1) == Fraction(148, 50) ** 2 > 3  # and the least of all to 50 / 148
        assert Family([[3, 1, 1], [1, 3, 1]]).certificate(1) == 3 > Fraction(7, 5) ** 2

    def test_distributions_of_other_sums_are_not_compared(self):
        far, near = [5, 1], [3, 3]
        assert Family([far, near, far], sums=(0, 1, 4)).certificate(1) == 1
        assert Family([far, near], sums=(1, 3)).certificate(1) == 3


class TestRandomizer:
    @for_each("value", [0, 1])
    def test_follows_its_distribution(self, value):
        bits = seeded(4)
        sample = np.array([TINY.randomize(value, bits) for _ in range(6000)])
        mass = np.array([float(Fraction(weight, TINY.total)) for weight in TINY.weights(value)])
        assert mass.sum() == pytest.approx(1)

        def pmf(z, mass=mass):
            return np.where((z >= 0) & (z <= 32), mass[np.clip(z, 0, 32)], 0.0)

        same_distribution(sample, pmf)
        with pytest.raises(AssertionError, match=r"another distribution|probability 0"):
            same_distribution(sample, lambda z: pmf(z, np.roll(mass, 1)))

    @for_each(("m", "d"), [(2, 40), (3, 64), (5, 160)])
    def test_weights_add_up_and_missed_counts_those_not_moved(self, m, d):
        protocol = BitCounting(m, d)
        for x in range(m):
            weights = protocol.weights(x)
            assert sum(weights) == protocol.total
            wrong = sum(weight for ones, weight in enumerate(weights) if ones % m != x)
            assert Fraction(wrong, protocol.total) <= protocol.missed()

    def test_the_number_of_ones_is_the_sum(self):
        protocol, bits = BitCounting(4, 384), seeded(6)
        for _ in range(50):
            values = [bits.below(4) for _ in range(5)]
            assert (sum(protocol.randomize(x, bits) for x in values) - sum(values)) % 4 == 0

    def test_chances_rise_from_none_to_all(self):
        for protocol in (TINY, BitCounting(3, 101), BitCounting(8, 1024)):
            m, d = protocol.modulus, protocol.messages
            found = [protocol.chances.get(first, 0) for first in range(d - m + 2)]
            rising = found[: (d - m + 2) // 2]
            assert rising == sorted(rising)
            assert found == found[::-1]
            assert found[: 2 * m**2 - m] == [0] * (2 * m**2 - m)
            assert found[(d - m + 1) // 2] == 2**20


class TestValues:
    @for_each("modulus", [1, 65, 2.0, None, True])
    def test_modulus(self, modulus):
        with pytest.raises(InvalidValue, match="modulus"):
            BitCounting(modulus, 10**4)

    @for_each("messages", [24, 2**16 + 1, 64.0])
    def test_messages(self, messages):
        with pytest.raises(InvalidValue, match="messages"):
            BitCounting(2, messages)

    @for_each("value", [-1, 2, 0.0])
    def test_value(self, value):
        with pytest.raises(InvalidValue):
            TINY.randomize(value, seeded(1))

    def test_n(self):
        with pytest.raises(InvalidValue, match="n is 0"):
            TINY.certificate(0)


def test_no_floats():
    assert offences(inspect.getsource(bit_counting)) == []
