"""Randomized response behind a shuffler: its exact δ against sums over all outcomes and all bits of the others."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.theory.amplification import local_epsilon_for, shuffled_delta, shuffled_epsilon
from maskedbandit.theory.shuffled_response import (
    CLOSE,
    MASS_MARGIN,
    find_likely_range,
    response_delta_among,
    worst_response_delta,
)
from tests.for_each import for_each
from tests.theory.test_amplification import divergence, shuffled_messages

SETTINGS = [(0.05, 0.01), (0.5, 0.2), (1.0, 0.3), (2.0, 0.0), (2.0, 0.5), (3.0, 1.0), (5.0, 1.5)]


def ones_sent(local, bits):
    """The distribution of the number of ones, of users with these bits."""
    flip, total = 1 / (1 + math.exp(local)), np.ones(1)
    for bit in bits:
        total = np.convolve(total, [flip, 1 - flip] if bit else [1 - flip, flip])
    return dict(enumerate(total.tolist()))


def exact_delta(local, epsilon, others):
    """Of a first user who has a one, or has none, in both directions."""
    return divergence(*(ones_sent(local, (first, *others)) for first in (0, 1)), epsilon)


@for_each(("local", "epsilon"), SETTINGS)
@for_each("n", [1, 2, 5, 9])
def test_delta_is_the_largest_of_all_data_sets(local, epsilon, n) -> None:
    """Whatever bits the others have, one by one."""
    largest = max(exact_delta(local, epsilon, others) for others in product((0, 1), repeat=n - 1))
    found = shuffled_delta(epsilon, local, n, "exact_response")
    assert largest - 1e-15 <= found <= largest * (1 + CLOSE) + 3e-15


@for_each(("local", "epsilon"), SETTINGS)
def test_the_number_of_ones_says_all_that_the_messages_do(local, epsilon) -> None:
    """Of the multisets of the messages of four users, which know nothing of binomials."""
    flip = 1 / (1 + math.exp(local))
    table = np.array([[1 - flip, flip], [flip, 1 - flip]])
    for others in product((0, 1), repeat=3):
        p, q = (shuffled_messages(table, (first, *others)) for first in (0, 1))
        assert divergence(p, q, epsilon) <= shuffled_delta(epsilon, local, 4, "exact_response") + 1e-15


@for_each(("local", "epsilon"), SETTINGS)
@for_each(("ones", "zeros"), [(0, 0), (0, 7), (7, 0), (3, 5), (40, 30)])
def test_delta_among_given_bits_is_that_of_one_direction(local, epsilon, ones, zeros) -> None:
    """The other direction is that of as many zeros as there are ones."""
    bits = (1,) * ones + (0,) * zeros
    with_one, without = (ones_sent(local, (first, *bits)) for first in (1, 0))
    loss = sum(max(0.0, p - math.exp(epsilon) * without[z]) for z, p in with_one.items())
    back = sum(max(0.0, q - math.exp(epsilon) * with_one[z]) for z, q in without.items())
    assert response_delta_among(ones, zeros, epsilon, local) == pytest.approx(loss, rel=1e-7, abs=2e-15)
    assert response_delta_among(zeros, ones, epsilon, local) == pytest.approx(back, rel=1e-7, abs=2e-15)
    assert response_delta_among(ones, zeros, epsilon, local) >= loss - 1e-15


@pytest.mark.slow
@for_each(("n", "local", "epsilon"), [(10, 2.0, 0.5), (40, 3.0, 0.5), (300, 1.0, 0.1), (300, 4.0, 1.2)])
def test_the_search_finds_the_worst_data_set(n, local, epsilon) -> None:
    each = [response_delta_among(k, n - 1 - k, epsilon, local) for k in range(n)]
    assert max(each) <= worst_response_delta(epsilon, local, n, 1e-15) <= max(each) * (1 + CLOSE) + 1e-15


@for_each(("n", "local", "epsilon"), [(10, 2.0, 0.5), (300, 1.0, 0.1), (300, 4.0, 1.2)])
@for_each("part", [0.1, 0.98, 1.02, 10])
def test_the_search_ends_on_the_right_side_of_what_is_enough(n, local, epsilon, part) -> None:
    enough = part * worst_response_delta(epsilon, local, n, 1e-15)
    found = shuffled_delta(epsilon, local, n, "exact_response", enough=enough)
    assert (found <= enough) == (part > 1)


@for_each("unseen", [1e-16, 1e-17, 1e-40, 1e-110])
@for_each(("ones", "zeros"), [(0, 3000), (1500, 1500), (3000, 0)])
def test_what_is_left_out_may_be_much_less_than_a_float_knows_of_1(ones, zeros, unseen) -> None:
    usual = response_delta_among(ones, zeros, 0.05, 2.0)
    assert 1e-3 < usual == pytest.approx(response_delta_among(ones, zeros, 0.05, 2.0, unseen), rel=1e-9)


@for_each("unseen", [1e-10, 1e-100])
@for_each(("users", "chance"), [(0, 0.1), (1, 0.1), (3000, 0.1), (3000, 1e-18), (10**10, 0.3)])
def test_a_likely_range_leaves_out_as_little_as_it_says(users, chance, unseen) -> None:
    low, high = find_likely_range(users, chance, unseen)
    assert binom.cdf(low - 1, users, chance) <= unseen
    assert binom.sf(high, users, chance) <= unseen * (1 + 1e-6)
    assert high == 0 or binom.sf(high - 1, users, chance) > unseen * (1 - 1e-6)
    assert high - low <= 50 * math.sqrt(users)


def test_alike_bits_are_not_always_the_worst() -> None:
    """The twin that looks at one data set alone would promise too much."""
    alike = response_delta_among(9, 0, 0.5, 2.0)
    assert exact_delta(2.0, 0.5, (1,) * 8 + (0,)) > 1.01 * alike
    assert shuffled_delta(0.5, 2.0, 10, "exact_response") > 1.01 * alike


@pytest.mark.slow
@for_each("local", [0.01, 0.3, 1.0, 4.0])
@for_each("n", [1, 2, 10, 40])
@for_each("part", [0.0, 0.02, 0.2, 0.6, 0.99])
def test_no_data_set_is_above_the_bounds(local, n, part) -> None:
    largest = max(response_delta_among(k, n - 1 - k, part * local, local) for k in range(n))
    exact, own, any_of = (
        shuffled_delta(part * local, local, n, randomizer) for randomizer in ("exact_response", "response", "any")
    )
    assert largest - 1e-15 <= exact <= own
    assert largest <= own * (1 + 1e-9) + 1e-15
    assert own <= any_of * (1 + 1e-9) + 1e-15


@pytest.mark.slow
@for_each("local", [1.0, 4.0])
def test_more_users_hide_better(local) -> None:
    found = [shuffled_epsilon(local, n, 1e-6, "exact_response") for n in (10, 100, 1000)]
    assert found == sorted(found, reverse=True)
    assert shuffled_delta(found[-1], local, 1000, "exact_response") <= 1e-6


def test_the_largest_local_epsilon_is_the_inverse() -> None:
    local = local_epsilon_for(1.0, 10**4, 1e-6, "exact_response")
    assert shuffled_delta(1.0, local, 10**4, "exact_response") <= 1e-6
    assert shuffled_delta(1.0, 1.001 * local, 10**4, "exact_response") > 1e-6
    assert local > local_epsilon_for(1.0, 10**4, 1e-6, "response")


@for_each("users", [10**5, 10**7])
@for_each("flip", [0.002, 0.1, 0.45])
@for_each("far", [-15, -5, 0, 5, 15])
def test_binomial_probabilities_are_within_the_margin(users, flip, far) -> None:
    import mpmath

    z = round(users * flip + far * math.sqrt(users * flip * (1 - flip)))
    if not 0 <= z <= users:
        return
    with mpmath.workdps(40):
        ways = mpmath.loggamma(users + 1) - mpmath.loggamma(z + 1) - mpmath.loggamma(users - z + 1)
        exact = mpmath.exp(ways + z * mpmath.log(mpmath.mpf(flip)) + (users - z) * mpmath.log1p(-mpmath.mpf(flip)))
        assert abs(float(binom.pmf(z, users, flip) / exact) - 1) < MASS_MARGIN / 2


@for_each(
    ("call", "name"),
    [
        (lambda: shuffled_epsilon(1, 10**8, 1e-6, "exact_response"), "n is 100000000: it must be at most 10000000"),
        (lambda: mb.theory.shuffled_delta(0.1, -1, 10, "exact_response"), "local_epsilon is -1"),
        (lambda: mb.theory.shuffled_delta(math.nan, 1, 10, "exact_response"), "epsilon is nan"),
        (lambda: mb.theory.shuffled_delta(0.5, 1, 10, "exact_response", unseen=0.0), "unseen is 0"),
    ],
)
def test_what_is_wrong_is_named(call, name) -> None:
    with pytest.raises(InvalidValue, match=name):
        call()
