"""Counting queries: the promises of the mechanism released, and the limit of how many it can answer.

The distributions are computed, not sampled, except where a release is drawn: fixed seeds, and under a new seed each
random assertion rejects a correct mechanism with probability ALPHA = 1e-9.
"""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import dlaplace

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy import counting
from maskedbandit.privacy.counting import (
    CountingQuery,
    LaplaceMechanism,
    queries_affordable,
    queries_limit,
    users_needed,
)
from maskedbandit.privacy.sampling import Bits
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import at_most, same_distribution, seeded

EVEN = CountingQuery(lambda number: number % 2 == 0)

chances = st.fractions(min_value="1/1000000", max_value="999/1000")
alphas = st.fractions(min_value="1/1000", max_value=1)
epsilons = st.fractions(min_value="1/100", max_value=10)
users = st.integers(1, 10**6)
few = st.integers(1, 100)


def tail(scale, steps):
    """P(|Z| >= steps), summed by SciPy, for discrete Laplace noise."""
    return 2 * dlaplace.sf(steps - 1, 1 / float(scale)) if steps > 0 else 1.0


class TestCountingQuery:
    def test_value_is_an_exact_fraction(self):
        assert EVEN.value(range(7)) == Fraction(4, 7)
        assert EVEN.count([1, 3]) == 0

    def test_an_element_counts_once_whatever_the_predicate_returns(self):
        assert CountingQuery(lambda number: 100 * number).count([0, 1, 2]) == 2

    def test_no_data_has_no_value(self):
        with pytest.raises(InvalidValue, match="n is 0"):
            EVEN.value([])


class TestPrivacy:
    @given(sigma=st.fractions(min_value="1/1000", max_value=10), n=users, k=few)
    def test_epsilon_is_k_over_n_sigma(self, sigma, n, k):
        assert LaplaceMechanism(sigma).epsilon(n, k) * n * sigma == k

    @pytest.mark.slow
    @given(epsilon=epsilons, n=users, k=few)
    def test_the_mechanism_of_an_epsilon_has_it_exactly(self, epsilon, n, k):
        assert LaplaceMechanism.for_epsilon(epsilon, n, k).epsilon(n, k) == epsilon

    def test_sigma_is_the_number_the_user_wrote(self):
        assert LaplaceMechanism(0.1) == LaplaceMechanism("0.1") == LaplaceMechanism(Fraction(1, 10))
        assert LaplaceMechanism(0.1).epsilon(10) == 1

    @for_each("scale", [Fraction(1, 3), 1, Fraction(5, 2), 100])
    def test_each_release_costs_epsilon(self, scale):
        """The largest log-ratio of the distributions of a release on neighbours is epsilon: no more, and no less."""
        n = 50
        epsilon = LaplaceMechanism(Fraction(scale, n)).epsilon(n)
        z = np.arange(-10 * math.ceil(scale), 10 * math.ceil(scale))
        ratios = np.diff(dlaplace.logpmf(z, 1 / float(scale)))
        assert np.abs(ratios).max() == pytest.approx(float(epsilon))

    @pytest.mark.slow
    def test_release_is_the_count_plus_discrete_laplace_noise(self):
        mechanism, bits, data = LaplaceMechanism(Fraction(1, 8)), seeded(1), range(40)
        noise = [40 * mechanism.release(EVEN, data, bits) - 20 for _ in range(20_000)]
        assert all(step.denominator == 1 for step in noise)
        sample = np.array([int(step) for step in noise])
        same_distribution(sample, dlaplace(1 / 5).pmf)
        with pytest.raises(AssertionError, match="another distribution"):  # noise of scale σ instead of nσ
            same_distribution(sample, dlaplace(8).pmf)

    def test_release_is_float_free(self):
        for part in (CountingQuery.count, CountingQuery.value, LaplaceMechanism.release):
            assert offences(inspect.getsource(part)) == []
        assert offences(inspect.getsource(counting._steps))  # the checker does find the floats of a promise

    def test_release_of_no_data_is_refused(self):
        with pytest.raises(InvalidValue, match="n is 0"):
            LaplaceMechanism(1).release(EVEN, [], Bits())


class TestAccuracy:
    @for_each("scale", [Fraction(1, 3), 1, Fraction(5, 2), 100])
    @for_each("steps", [1, 2, 3, 17])
    def test_failure_is_the_tail_of_the_noise_released(self, scale, steps):
        n = 50
        mechanism = LaplaceMechanism(Fraction(scale, n))
        assert mechanism.failure(Fraction(steps, n), n) == pytest.approx(tail(scale, steps), rel=1e-9)
        between = Fraction(2 * steps - 1, 2 * n)  # no error lies strictly between two steps
        assert mechanism.failure(between, n) == mechanism.failure(Fraction(steps, n), n)

    def test_the_theorem_is_false_on_the_lattice_and_accuracy_is_not(self):
        """Scale 1, β = e^-3: the theorem promises 3 steps, where the failure is 1.46 β."""
        n, beta = 100, Fraction(math.exp(-3))
        mechanism = LaplaceMechanism(Fraction(1, n))
        theorem = mechanism.continuous_accuracy(beta)
        assert theorem == pytest.approx(3 / n)
        assert tail(1, round(theorem * n)) > 1.4 * beta
        assert mechanism.accuracy(beta, n) == Fraction(4, n)
        assert tail(1, 4) <= beta

    @pytest.mark.slow
    @given(scale=st.fractions(min_value="1/100", max_value=10**4), n=users, beta=chances, k=few)
    def test_accuracy_holds_and_one_step_less_does_not(self, scale, n, beta, k):
        mechanism = LaplaceMechanism(scale / n)
        steps = mechanism.accuracy(beta, n, k) * n
        assert steps.denominator == 1
        assert steps >= 1
        assert k * tail(scale, int(steps)) <= beta * (1 + 1e-9)
        assert k * tail(scale, int(steps) - 1) > beta * (1 - 1e-9)
        assert mechanism.failure(steps / n, n, k) <= beta * (1 + 1e-9)
        continuous = n * mechanism.continuous_accuracy(beta, k)
        assert continuous - 1e-6 <= steps <= max(1, continuous + 1.5 + 1e-6)

    @pytest.mark.slow
    def test_errors_of_many_queries_are_below_alpha(self):
        mechanism, n, k, beta = LaplaceMechanism("0.02"), 100, 10, 0.2
        alpha = mechanism.accuracy(beta, n, k)
        bits, data = seeded(5), range(n)
        worst = [max(abs(mechanism.release(EVEN, data, bits) - Fraction(1, 2)) for _ in range(k)) for _ in range(1500)]
        at_most(sum(error >= alpha for error in worst), len(worst), beta)
        with pytest.raises(AssertionError):  # two steps less are too few
            at_most(sum(error >= alpha - Fraction(2, n) for error in worst), len(worst), beta)

    @for_each("beta", [Fraction(1, 10**400), 1 - Fraction(1, 10**30)])
    def test_extreme_chances(self, beta):
        scale, n = 10**6, 10**6
        steps = float(LaplaceMechanism(1).accuracy(beta, n) * n)
        assert steps == pytest.approx(max(1, scale * (400 * math.log(10) if beta < 0.5 else 1e-30)), abs=1)


class TestInverses:
    @pytest.mark.slow
    @given(alpha=alphas, beta=chances, n=users, k=few)
    def test_the_noise_for_an_accuracy_keeps_it(self, alpha, beta, n, k):
        mechanism = LaplaceMechanism.for_accuracy(alpha, beta, n, k)
        assert mechanism.accuracy(beta, n, k) * n <= math.ceil(alpha * n)
        assert mechanism.failure(alpha, n, k) <= beta
        theorem = math.ceil(alpha * n) / n / math.log(k / beta)
        assert theorem / 2 * (1 - 1e-9) <= mechanism.sigma <= theorem

    @pytest.mark.slow
    @given(epsilon=epsilons, alpha=alphas, beta=chances, k=few)
    def test_users_needed_are_enough_and_one_less_is_not(self, epsilon, alpha, beta, k):
        n = users_needed(epsilon, alpha, beta, k)
        assert self.affords(n, epsilon, alpha, beta, k)
        assert n == 1 or not self.affords(n - 1, epsilon, alpha, beta, k)
        assert n >= k * math.log(k / beta) / (epsilon * alpha) - 1 / alpha - 1e-6

    @pytest.mark.slow
    @given(n=users, epsilon=epsilons, alpha=alphas, beta=chances)
    def test_queries_affordable_are_the_most(self, n, epsilon, alpha, beta):
        k = queries_affordable(n, epsilon, alpha, beta)
        assert k == 0 or self.affords(n, epsilon, alpha, beta, k)
        assert not self.affords(n, epsilon, alpha, beta, k + 1)
        assert k == 0 or users_needed(epsilon, alpha, beta, k) <= n

    def affords(self, n, epsilon, alpha, beta, k):
        mechanism = LaplaceMechanism(k / (n * epsilon))
        assert mechanism.epsilon(n, k) == epsilon
        return mechanism.accuracy(beta, n, k) * n <= math.ceil(alpha * n)


class TestLimit:
    """[LN11, Thm. 11.13] as numbers; the limits are logarithmically slow, so n goes to 10^300."""

    NS = tuple(10**e for e in (3, 10, 30, 100, 300))

    def test_for_a_fixed_alpha_the_ratio_tends_to_epsilon_alpha(self):
        rows = queries_limit(self.NS[1:], 2, lambda n: "0.1", "0.05")
        gaps = [abs(row.ratio / (2 * 0.1) - 1) for row in rows]
        assert gaps == sorted(gaps, reverse=True)
        for row, gap in zip(rows, gaps, strict=True):
            assert gap < math.log(math.log(row.n)) / math.log(row.n)
            assert row.queries * math.log(20 * row.queries) == pytest.approx(row.n * 0.2, rel=1e-6)

    def test_for_a_vanishing_alpha_the_ratio_tends_to_0(self):
        rows = queries_limit(self.NS, 1, lambda n: 1 / math.log(n), "0.05")
        ratios = [row.ratio for row in rows]
        assert ratios == sorted(ratios, reverse=True)
        assert ratios[-1] < 0.002

    def test_at_the_sampling_error_so_do_the_queries_over_root_n(self):
        rows = queries_limit([10**4, 10**8, 10**12], 1, lambda n: 1 / math.sqrt(n), "0.05")
        used = [row.queries / math.sqrt(row.n) for row in rows]
        assert used == sorted(used, reverse=True)


class TestArguments:
    @for_each("bad", [0, -1, 1.5, True, "3", None])
    def test_whole_numbers(self, bad):
        mechanism = LaplaceMechanism(1)
        for call, parameter in [
            (lambda: mechanism.epsilon(bad), "n"),
            (lambda: mechanism.epsilon(5, bad), "queries"),
            (lambda: mechanism.failure("0.1", bad), "n"),
            (lambda: mechanism.failure("0.1", 5, bad), "queries"),
            (lambda: mechanism.accuracy("0.1", bad), "n"),
            (lambda: mechanism.accuracy("0.1", 5, bad), "queries"),
            (lambda: mechanism.continuous_accuracy("0.1", bad), "queries"),
            (lambda: LaplaceMechanism.for_accuracy("0.1", "0.1", bad), "n"),
            (lambda: LaplaceMechanism.for_accuracy("0.1", "0.1", 5, bad), "queries"),
            (lambda: users_needed(1, "0.1", "0.1", bad), "queries"),
            (lambda: queries_affordable(bad, 1, "0.1", "0.1"), "n"),
        ]:
            with pytest.raises(InvalidValue, match=rf"^{parameter} is"):
                call()

    @for_each("bad", [0, 1, -0.1, 1.5, "x", float("nan"), float("inf")])
    def test_chances(self, bad):
        for call in (
            lambda: LaplaceMechanism(1).accuracy(bad, 5),
            lambda: LaplaceMechanism(1).continuous_accuracy(bad),
            lambda: LaplaceMechanism.for_accuracy("0.1", bad, 5),
            lambda: users_needed(1, "0.1", bad),
            lambda: queries_affordable(5, 1, "0.1", bad),
        ):
            with pytest.raises(InvalidValue, match=r"^beta is"):
                call()

    @for_each("bad", [0, -1, "x", float("nan"), None])
    def test_positive_numbers(self, bad):
        for call, parameter in [
            (lambda: LaplaceMechanism(bad), "sigma"),
            (lambda: LaplaceMechanism(1).failure(bad, 5), "alpha"),
            (lambda: LaplaceMechanism.for_accuracy(bad, "0.1", 5), "alpha"),
            (lambda: users_needed(bad, "0.1", "0.1"), "epsilon"),
            (lambda: users_needed(1, bad, "0.1"), "alpha"),
            (lambda: queries_affordable(5, bad, "0.1", "0.1"), "epsilon"),
            (lambda: queries_affordable(5, 1, bad, "0.1"), "alpha"),
        ]:
            with pytest.raises(InvalidValue, match=rf"^{parameter} is"):
                call()
