"""The testers tested: each accepts a correct subject, and rejects a broken one.

Seeds are fixed; a correct subject is rejected under a new seed with probability ALPHA = 1e-9 per assertion.
"""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, chi2, chisquare, geom, multinomial, norm, poisson

from tests.for_each import for_each
from tests.statistics import (
    ALPHA,
    at_most,
    entropy_bound,
    mean_is,
    same_distribution,
    same_distribution_of_two,
    seeded,
    shows_no_other,
)

N = 100_000


@pytest.fixture
def draws():
    return np.random.Generator(np.random.PCG64(20260808))


def test_seeded_bits_repeat_and_seeds_differ():
    one, again, other = seeded(1), seeded(1), seeded(2)
    first = [one.below(1000) for _ in range(20)]
    assert first == [again.below(1000) for _ in range(20)]
    assert first != [other.below(1000) for _ in range(20)]


class TestSameLaw:
    def test_accepts_the_distribution(self, draws):
        same_distribution(draws.poisson(3, N), poisson(3).pmf)
        same_distribution(draws.geometric(1e-3, N), geom(1e-3).pmf)
        same_distribution(draws.integers(0, 2, N), lambda v: np.isin(v, (0, 1)) / 2)

    def test_rejects_a_distribution_two_percent_away(self, draws):
        with pytest.raises(AssertionError, match="p = "):
            same_distribution(draws.poisson(3.06, N), poisson(3).pmf)

    def test_rejects_scipys_own_failure(self, draws):
        """Frequencies instead of counts make the statistic N times too small: this subject passed."""
        mass = np.array([0.02, 0.18, 0.80])
        sample = draws.choice(3, N, p=[0.3, 0.2, 0.5])
        assert chisquare(np.bincount(sample) / N, mass).pvalue > 0.1  # the bug, reproduced
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(sample, lambda v: np.where((v >= 0) & (v < 3), mass[np.clip(v, 0, 2)], 0))

    def test_refuses_frequencies(self):
        with pytest.raises(TypeError, match="not frequencies"):
            same_distribution([0.3, 0.2, 0.5], poisson(1).pmf)

    def test_rejects_a_truncated_tail_through_the_remainder(self, draws):
        sample = draws.poisson(50, 10 * N)
        same_distribution(sample, poisson(50).pmf)
        with pytest.raises(AssertionError):
            same_distribution(np.minimum(sample, 70), poisson(50).pmf)
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(draws.integers(1, 10, N), lambda v: (np.abs(v - 500.5) < 500) / 1000)

    def test_rejects_values_that_cannot_be(self, draws):
        sample = draws.geometric(0.5, N)
        sample[0] = 0
        with pytest.raises(AssertionError, match="probability 0"):
            same_distribution(sample, geom(0.5).pmf)

    def test_rejects_what_is_not_a_distribution(self, draws):
        with pytest.raises(AssertionError, match="not a distribution"):
            same_distribution(draws.poisson(3, N), lambda v: 1.01 * poisson.pmf(v, 3))

    def test_rejects_a_sample_too_small_to_reject_anything(self):
        with pytest.raises(AssertionError, match="too few"):
            same_distribution(np.zeros(N, dtype=int), poisson(1e-6).pmf)

    @for_each("p", [0.5, 0.1, 1e-3])
    @for_each("size", [1, 7, 100, 5000])
    def test_entropy_bound_holds_exactly_for_two_cells(self, size, p):
        count = np.arange(size + 1)
        self.entropy_bound_holds(np.stack([count, size - count]), np.array([p, 1 - p]), binom.pmf(count, size, p))

    @pytest.mark.parametrize("mass", [[0.2, 0.3, 0.1, 0.4], [0.01, 0.01, 0.97, 0.01]])
    def test_entropy_bound_holds_exactly_for_four_cells(self, mass):
        counts = np.array([c for c in itertools.product(range(26), repeat=4) if sum(c) == 25]).T
        self.entropy_bound_holds(counts, np.array(mass), multinomial.pmf(counts.T, 25, mass))

    def entropy_bound_holds(self, counts, mass, chance):
        expected = counts[:, 0].sum() * mass[:, None]
        x = np.sum(counts * np.log(np.maximum(counts, 1) / expected), axis=0)
        order = np.argsort(-x)
        tail = np.cumsum(chance[order])
        for distance, probability in zip(x[order], tail, strict=True):
            assert probability <= entropy_bound(distance, len(mass) - 1) + 1e-12

    def test_chi_square_alone_would_cry_wolf(self):
        """Why the bound is there: a cell of mean 5 exceeds 6.11 deviations a thousand times too often."""
        far = 5 + norm.isf(ALPHA / 2) * np.sqrt(5)
        assert chi2.sf((far - 5) ** 2 / 5, 1) == pytest.approx(ALPHA)
        assert poisson.sf(np.ceil(far) - 1, 5) > 1000 * ALPHA


class TestSameLawOfTwo:
    def test_accepts_one_distribution(self, draws):
        same_distribution_of_two(draws.poisson(3, N), draws.poisson(3, N))

    def test_rejects_two_distributions(self, draws):
        with pytest.raises(AssertionError, match="two distributions"):
            same_distribution_of_two(draws.poisson(3, N), draws.poisson(3.1, N))

    def test_rejects_one_with_values_that_the_other_never_takes(self, draws):
        with pytest.raises(AssertionError, match="two distributions"):
            same_distribution_of_two(draws.integers(0, 10, N), draws.integers(0, 11, N))

    def test_rejects_samples_too_small_to_reject_anything(self):
        with pytest.raises(AssertionError, match="too few"):
            same_distribution_of_two([0, 1, 1], [1, 0, 1])


class TestAtMost:
    def test_accepts_a_probability_that_is_the_bound(self, draws):
        at_most(int(draws.binomial(N, 0.05)), N, 0.05)
        at_most(0, N, 0.0)

    def test_rejects_one_a_tenth_above_the_bound(self, draws):
        with pytest.raises(AssertionError, match="more than"):
            at_most(int(draws.binomial(10 * N, 0.055)), 10 * N, 0.05)

    def test_limit_is_the_exact_binomial_tail(self):
        limit = int(binom.isf(ALPHA, 1000, 0.01))
        at_most(limit, 1000, 0.01)
        with pytest.raises(AssertionError):
            at_most(limit + 1, 1000, 0.01)


class TestShowsNoOther:
    def test_accepts_the_law(self, draws):
        sample = draws.binomial(10, 0.5, N)
        shows_no_other(binom.pmf(sample, 10, 0.5), binom.pmf(sample, 10, 0.55))

    def test_rejects_the_other(self, draws):
        """Each draw shows it by a factor of exp(0.05) on average: 2000 are enough by five deviations."""
        sample = draws.binomial(10, 0.55, 2000)
        with pytest.raises(AssertionError, match="another distribution"):
            shows_no_other(binom.pmf(sample, 10, 0.5), binom.pmf(sample, 10, 0.55))

    def test_limit_is_the_bound_of_markov(self):
        shows_no_other([ALPHA], [0.99])
        with pytest.raises(AssertionError):
            shows_no_other([ALPHA], [1.0])


class TestMeanIs:
    def test_accepts_the_mean(self, draws):
        mean_is(draws.normal(2, 3, N), 2)
        mean_is(draws.normal(2, 3, N), 2, sd=3)

    @pytest.mark.parametrize("sd", [None, 3.0])
    def test_rejects_a_mean_eight_deviations_away(self, draws, sd):
        sample = draws.normal(2, 3, N)
        with pytest.raises(AssertionError, match="z = "):
            mean_is(sample, 2 + 12 * 3 / np.sqrt(N), sd)

    def test_rejects_what_is_not_a_number(self):
        with pytest.raises(AssertionError):
            mean_is([np.nan, 1.0, 2.0], 1)
