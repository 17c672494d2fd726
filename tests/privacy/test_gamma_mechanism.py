"""The Gamma mechanism against its definition: probabilities by enumeration, draws by their distribution.

Seeds are fixed; under a new seed a random assertion rejects a correct sampler with probability ALPHA = 1e-9.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.gamma_mechanism import GammaMechanism, is_below, toss_irrational
from tests.for_each import for_each
from tests.statistics import mean_is, same_distribution, seeded

FAR = 40


def plane(mechanism, dual=math.hypot):
    """P(z) of two numbers, but for what is beyond FAR; `dual` is the length that the noise falls off with."""
    mass = {z: math.exp(-dual(*z) / float(mechanism.scale)) for z in product(range(-FAR, FAR + 1), repeat=2)}
    total = sum(mass.values())
    return {z: each / total for z, each in mass.items()}


def worst_ratio_of(mass, mechanism):
    """The largest |ln P(z) / P(z − move)|, over all moves of at most the sensitivity."""
    reach = math.floor(mechanism.sensitivity)
    moves = [move for move in product(range(-reach, reach + 1), repeat=2) if math.hypot(*move) <= reach]
    inner = [z for z in mass if max(map(abs, z)) <= FAR // 2]
    return max(abs(math.log(mass[z] / mass[z[0] - a, z[1] - b])) for z in inner for a, b in moves)


def manhattan(a, b):
    return abs(a) + abs(b)


class TestLoss:
    def test_is_epsilon_for_moves_of_bounded_length(self):
        mechanism = GammaMechanism(epsilon=2, sensitivity=5)
        assert worst_ratio_of(plane(mechanism), mechanism) == pytest.approx(2)

    def test_of_noise_that_falls_off_in_sum_is_larger(self):
        """A broken twin: Laplace noise of the same scale on each number, for a move that is bounded in length."""
        mechanism = GammaMechanism(epsilon=2, sensitivity=5)
        assert worst_ratio_of(plane(mechanism, manhattan), mechanism) == pytest.approx(2 * 7 / 5)


class AllKept(GammaMechanism):
    """A broken twin: no draw is rejected, so that numbers have Laplace noise."""

    def excess_over(self, wide, total, square):
        return lambda precision: (Fraction(0), Fraction(0))


def check_draws(mechanism):
    """The largest of two numbers has the distribution of the definition."""
    mass = np.zeros(FAR + 1)
    for z, each in plane(mechanism).items():
        mass[max(map(abs, z))] += each
    bits = seeded(1)
    same_distribution(
        [max(map(abs, mechanism.draw_noise(2, bits))) for _ in range(5000)],
        lambda z: np.where((z >= 0) & (z <= FAR), mass[np.clip(z, 0, FAR)], 0.0),
    )


class TestDraws:
    @pytest.mark.slow
    def test_have_the_probabilities_of_the_definition(self):
        check_draws(GammaMechanism(epsilon=1, sensitivity="3/2"))

    def test_of_a_broken_coin_are_rejected(self):
        with pytest.raises(AssertionError):
            check_draws(AllKept(epsilon=1, sensitivity="3/2"))

    @pytest.mark.slow
    def test_of_the_lab_have_the_same_lengths(self):
        """Of wide noise, whose steps are small; |N|² is below 60 times its mean but for a probability of 1e-9."""
        mechanism, rng = GammaMechanism(epsilon="1/50", sensitivity=1), np.random.default_rng(1)
        mean = float(mechanism.mean_square(6))
        fast = [(mechanism.draw_fast(6, rng) ** 2).sum() / mean for _ in range(4000)]
        bits = seeded(2)
        exact = [sum(z * z for z in mechanism.draw_noise(6, bits)) / mean for _ in range(400)]
        for sample in (fast, exact):
            mean_is(np.minimum(sample, 60), 1)

    def test_of_six_numbers_have_little_more_than_half_of_the_error_of_laplace_noise(self):
        laplace = 2 * 6 * 6 * GammaMechanism(1, 1).scale ** 2
        assert GammaMechanism(1, 1).mean_square(6) / laplace == Fraction(7, 12)


class TestCoins:
    @pytest.mark.slow
    @for_each("square", [2, 3, 4])
    def test_of_irrational_exponents(self, square):
        bounds = GammaMechanism(1, 1).excess_over(Fraction(10), 0, square)
        low, high = bounds(80)
        assert low <= Fraction(math.sqrt(square)) * (1 + Fraction(1, 10**15))
        assert high - low == Fraction(1, 1 << 80)
        bits = seeded(square)
        mean_is(np.array([toss_irrational(bounds, bits) for _ in range(3000)], float), math.exp(-math.sqrt(square)))

    def test_that_are_close_need_more_bits(self):
        """A uniform number that begins as the probability does is drawn further, and decided exactly."""
        third = Fraction(1, 3)
        words = [(1 << 64) // 3, (1 << 64) // 3 + 3]

        class Fixed:
            def below(self, n):
                return words.pop(0)

        def bounds(precision):
            return (third - Fraction(1, 1 << precision), third + Fraction(1, 1 << precision))

        assert not is_below(bounds, 0, 1, Fixed())
        assert not words


@for_each(("name", "values"), [("epsilon", (0, 1)), ("sensitivity", (1, -1))])
def test_settings_that_mean_nothing_are_refused(name, values):
    with pytest.raises(InvalidValue, match=name):
        GammaMechanism(*values)


def test_long_vectors_are_refused():
    with pytest.raises(InvalidValue, match="from 1 to 30"):
        GammaMechanism(1, 1).release([0] * 31, seeded(1))


@for_each("number", [0.9, Fraction(11, 10), np.float64(1.0), float("nan")])
def test_numbers_that_are_not_whole_are_refused_and_not_shown(number):
    """Cut off, 0.9 and 1.1 were 0 and 1: further apart than they are, and than this sensitivity."""
    with pytest.raises(InvalidValue, match="vector must be whole numbers \\(the value given is personal"):
        GammaMechanism(1, "1/4").release([7, number], seeded(1))
    assert len(GammaMechanism(1, 1).release([7, np.int64(8)], seeded(1))) == 2
