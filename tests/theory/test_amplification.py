"""Amplification by shuffling: against sums over all outcomes, a published number, and randomizers of real messages."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import maskedbandit as mb
from maskedbandit.channels.shuffled import coins_needed
from maskedbandit.errors import InvalidValue
from maskedbandit.theory.amplification import (
    TAIL_MARGIN,
    clone_probability,
    closed_epsilon,
    local_epsilon_for,
    shuffled_delta,
    shuffled_epsilon,
)
from tests.for_each import for_each


def divergence(p, q, epsilon):
    """The δ at which two distributions, as tables of probabilities, are indistinguishable in both directions."""
    keys = p.keys() | q.keys()
    sides = [(p, q), (q, p)]
    return max(sum(max(0.0, a.get(k, 0.0) - math.exp(epsilon) * b.get(k, 0.0)) for k in keys) for a, b in sides)


def pairs_of_counts(local, n, share):
    """P and Q of the theorem, outcome by outcome."""
    right = 1 / (1 + math.exp(-local))
    found = []
    for first in (right, 1 - right):
        table: dict = {}
        for c in range(n):
            for a in range(c + 1):
                mass = binom.pmf(c, n - 1, share) * math.comb(c, a) / 2**c
                for b, chance in ((1, first), (0, 1 - first)):
                    key = (a + b, c - a + 1 - b)
                    table[key] = table.get(key, 0.0) + mass * chance
        found.append(table)
    return found


@pytest.mark.slow
@for_each("randomizer", ["any", "response"])
@for_each(("local", "n"), [(0.5, 5), (1.0, 12), (3.0, 40), (5.0, 25)])
@for_each("epsilon", [0.0, 0.1, 0.4, 2.0])
def test_delta_is_the_sum_over_all_outcomes(randomizer, local, n, epsilon) -> None:
    p, q = pairs_of_counts(local, n, clone_probability(local, randomizer))
    found = shuffled_delta(epsilon, local, n, randomizer)
    assert found == pytest.approx(divergence(p, q, epsilon), rel=1e-6, abs=2e-15)
    assert found >= divergence(p, q, epsilon) - 1e-15


@for_each("local", [0.001, 0.3, 1.0])
@for_each("below", [0.1, 1e-3, 1e-6, 1e-9])
def test_delta_is_rounded_upwards_also_close_to_the_local_epsilon(local, below) -> None:
    """Of one user and of two, with many digits: differences of nearly equal floats once made it too small."""
    import mpmath

    epsilon = local * (1 - below)
    with mpmath.workdps(50):
        small = mpmath.exp(-mpmath.mpf(local))
        alone = (1 - mpmath.exp(mpmath.mpf(epsilon) - mpmath.mpf(local))) / (1 + small)
        for n, exact in ((1, alone), (2, alone * (1 - small / 2))):  # a clone is of the other kind with probability 1/2
            found = shuffled_delta(epsilon, local, n)
            assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -6) + mpmath.mpf(10) ** -14


@pytest.mark.slow
@for_each("coins", [10**6, 10**9, 3_678_794_412, 10**10])
@for_each("far", [2, 6, 12, 21])
def test_binomial_tails_are_within_the_margin(coins, far) -> None:
    """Against ratios of probabilities, added up from the least likely ones on, and a first one of many digits."""
    import mpmath

    first = math.ceil(coins / 2 + far * math.sqrt(coins) / 2)
    with mpmath.workdps(40):
        ways = mpmath.loggamma(coins + 1) - mpmath.loggamma(first + 1) - mpmath.loggamma(coins - first + 1)
        probability = mpmath.exp(ways - coins * mpmath.log(2))
        j = np.arange(first, first + int(60 * math.sqrt(coins) / far), dtype=np.longdouble)
        ratios = np.exp(np.cumsum(np.log((coins - j) / (j + 1))))
        exact = probability * (1 + mpmath.mpf(str(ratios[::-1].sum())))
        assert abs(float(binom.sf(first - 1, coins, 0.5) / exact) - 1) < TAIL_MARGIN / 2


def shuffled_messages(randomizer, values):
    """The distribution of the multiset of the messages of all users; `randomizer[x]` are probabilities of messages."""
    table = {}
    for messages in product(range(len(randomizer[0])), repeat=len(values)):
        key = tuple(sorted(messages))
        table[key] = table.get(key, 0.0) + math.prod(randomizer[x][y] for x, y in zip(values, messages, strict=True))
    return table


@pytest.mark.slow
def test_no_randomizer_tells_more_than_the_bound() -> None:
    """Of three values and three messages, worst ones and random ones; users other than the first hold anything."""
    rng, n, tried = np.random.default_rng(1), 4, 0
    for _ in range(60):
        local = rng.uniform(0.2, 3)
        table = np.exp(
            rng.choice([0, local / 2], size=(3, 3)) if rng.random() < 0.5 else rng.uniform(0, local / 2, (3, 3))
        )
        table /= table.sum(axis=1, keepdims=True)
        local = float(np.log(table.max(axis=0) / table.min(axis=0)).max())
        if local < 0.05:
            continue
        for others in ((0, 0, 0), (2, 2, 2), (0, 1, 2)):
            for epsilon in (0.05, 0.3 * local, 0.6 * local):
                p, q = (shuffled_messages(table, (first, *others)) for first in (0, 1))
                tried += 1
                assert divergence(p, q, epsilon) <= shuffled_delta(epsilon, local, n) + 1e-12
    assert tried > 400


@for_each("local", [0.5, 1.5, 3.0])
@for_each("ones", [0, 3, 9])
def test_randomized_response_tells_less_than_its_own_bound_and_not_much_less(local, ones) -> None:
    """Ten users, of whom so many of the others have a one."""
    flip = 1 / (1 + math.exp(local))
    laws = []
    for first in (0, 1):
        total = np.ones(1)
        for bit in (first, *[1] * ones, *[0] * (9 - ones)):
            total = np.convolve(total, [flip, 1 - flip] if bit else [1 - flip, flip])
        laws.append(dict(enumerate(total.tolist())))
    for epsilon in (0.1, 0.5 * local):
        exact, bound = divergence(*laws, epsilon), shuffled_delta(epsilon, local, 10, "response")
        assert exact <= bound <= shuffled_delta(epsilon, local, 10)
        assert bound < 4 * exact + 0.02


def test_numbers_of_the_authors_program() -> None:
    """Its README has 10^5 messages of eps 4 at delta 1e-6: between .16754 and .17279, by its closed form .53780.

    Run with finer steps it gives the intervals of the other lines.
    """
    assert 0.1675385 < shuffled_epsilon(4, 10**5, 1e-6) < 0.1727906
    assert closed_epsilon(4, 10**5, 1e-6) == pytest.approx(0.5378040242374512, rel=1e-12)
    for local, n, delta, low, high, closed in (
        (4, 10**5, 1e-6, 0.167473, 0.172463, 0.537804),
        (2, 10**4, 1e-6, 0.154790, 0.159200, 0.523551),
        (1, 1000, 1e-5, 0.154067, 0.162875, 0.608836),
    ):
        assert low - 2e-5 < shuffled_epsilon(local, n, delta) < high
        assert closed_epsilon(local, n, delta) == pytest.approx(closed, rel=1e-5)


@pytest.mark.slow
@for_each("local", [0.3, 1.0, 4.0])
@for_each("n", [1000, 10**5])
def test_more_users_hide_better_and_closed_forms_are_looser(local, n) -> None:
    found = shuffled_epsilon(local, n, 1e-6)
    assert found < local
    assert shuffled_epsilon(local, 4 * n, 1e-6) < found
    assert shuffled_epsilon(local, n, 1e-6, "response") < found
    assert found < closed_epsilon(local, n, 1e-6)
    assert shuffled_delta(found, local, n) <= 1e-6


@pytest.mark.slow
def test_rates_are_those_that_are_cited() -> None:
    """O(eps0 sqrt(ln(1/delta) / n)) below 1, and O(sqrt(e^eps0 ln(1/delta) / n)) above [CZ23, App. F.2]."""
    for n in (10**4, 10**6, 10**8):
        rate = math.sqrt(math.log(1e6) / n)
        for local in (0.05, 0.2, 1):
            assert shuffled_epsilon(local, n, 1e-6) < 2.5 * local * rate
        for local in (2, 4, 6) if n > 10**4 else (2, 4):
            assert shuffled_epsilon(local, n, 1e-6) < 2.5 * math.exp(local / 2) * rate


@for_each("randomizer", ["any", "response"])
@for_each(("epsilon", "n"), [(1.0, 10**4), (0.1, 10**6)])
def test_the_largest_local_epsilon_is_the_inverse(randomizer, epsilon, n) -> None:
    local = local_epsilon_for(epsilon, n, 1e-6, randomizer)
    assert shuffled_delta(epsilon, local, n, randomizer) <= 1e-6 < shuffled_delta(epsilon, 1.001 * local, n, randomizer)


def test_coins_beside_true_bits_need_less_noise_than_bits_that_are_false() -> None:
    """A sum of n bits that is (1, 1e-6)-private: the variance of the coins, and of randomized response at its eps0."""
    coins = coins_needed(Fraction(1), Fraction(1, 10**6)) / 4
    assert coins == 20
    for n in (1000, 10**5):
        for randomizer, most in (("response", 3.0), ("any", 6.0)):
            flip = 1 / (1 + math.exp(local_epsilon_for(1, n, 1e-6, randomizer)))
            response = n * flip * (1 - flip) / (1 - 2 * flip) ** 2
            assert coins < response < most * coins


def test_few_users_hide_nobody() -> None:
    assert shuffled_epsilon(1, 1, 1e-6) == pytest.approx(1, rel=1e-3)
    assert closed_epsilon(1, 10, 1e-6) == math.inf
    assert shuffled_delta(1, 1, 1000) == 0


@for_each(
    ("call", "name"),
    [
        (lambda: shuffled_epsilon(0, 10, 1e-6), "local_epsilon is 0"),
        (lambda: shuffled_epsilon(1, 0, 1e-6), "n is 0"),
        (lambda: mb.theory.shuffled_epsilon(1, 10, 0), "delta is 0"),
        (lambda: mb.theory.closed_epsilon(1, 10, 1), "delta is 1"),
        (lambda: mb.theory.local_epsilon_for(-1, 10, 1e-6), "epsilon is -1"),
        (lambda: mb.theory.shuffled_delta(-0.1, 1, 10), "epsilon is -0.1"),
        (lambda: shuffled_epsilon(1, 10, 1e-6, "laplace"), "randomizer is 'laplace'"),
    ],
)
def test_what_is_wrong_is_named(call, name) -> None:
    with pytest.raises(InvalidValue, match=name):
        call()
