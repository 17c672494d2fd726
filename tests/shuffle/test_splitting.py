"""Split-and-mix: the bound on what is learnt besides the sum, against all that can be enumerated.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

import inspect
import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, islice, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.errors import InvalidValue
from maskedbandit.shuffle import splitting
from maskedbandit.shuffle.splitting import (
    MOST_COMPUTED,
    excesses,
    first_term,
    messages_needed,
    proves,
    rest,
    split_value,
)
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

UNIT = 1 << 300
TINY = [(2, 2, 2), (2, 2, 3), (2, 2, 5), (2, 3, 2), (2, 3, 3), (2, 3, 5), (2, 4, 2), (3, 2, 2), (3, 2, 3), (3, 3, 2)]
TABLE = {  # messages for log2 of the modulus 20, 30, 40, 48 at eta = 2^-40, and for 40 at eta = 2^-80
    10: (24, 26, 28, 30, 45),
    100: (15, 16, 17, 18, 27),
    1000: (11, 12, 13, 14, 20),
    10**4: (9, 10, 11, 11, 16),
    10**6: (7, 8, 8, 8, 12),
}


def seen(values, k, q):
    """The distribution of the multiset that the analyzer sees, in multiples of q^(n - nk)."""
    mass = Counter({(): 1})
    for value in values:
        bundles = Counter()
        for first in product(range(q), repeat=k - 1):
            bundles[tuple(sorted((*first, (value - sum(first)) % q)))] += 1
        joint = Counter()
        for (before, p), (bundle, r) in product(mass.items(), bundles.items()):
            joint[tuple(sorted(before + bundle))] += p * r
        mass = joint
    return mass


def uniform(n, k, q, total):
    """The distribution of the multiset of a uniform list with this sum, in multiples of q^(1 - nk)."""
    mass = Counter()
    for multiset in combinations_with_replacement(range(q), n * k):
        if sum(multiset) % q == total:
            ways = math.factorial(n * k)
            for times in Counter(multiset).values():
                ways //= math.factorial(times)
            mass[multiset] = ways
    return mass


@cache
def true_distance(n, k, q):
    """The largest distance of what is seen from what can be made of the sum, and of their mean square ratio from 1."""
    worst, square = Fraction(0), Fraction(0)
    for values in combinations_with_replacement(range(q), n):
        p, u = seen(values, k, q), uniform(n, k, q, sum(values) % q)
        scale = q ** (n - 1)
        assert set(p) <= set(u)
        worst = max(worst, sum(abs(scale * p[each] - u[each]) for each in u) / Fraction(2 * q ** (n * k - 1)))
        square = max(square, sum(Fraction((scale * p[each]) ** 2, u[each]) for each in u) / q ** (n * k - 1) - 1)
    return worst, square


@cache
def excess(n, k, q):
    """E[q^(C-1)] - 1, exactly, by the exponential formula: with connected graphs counted, and not bounded by all."""

    def a(m):
        return Fraction(math.factorial(m * k), math.factorial(m) ** 2)

    connected = [Fraction(0)]
    for m in range(1, n + 1):
        connected.append(a(m) - Fraction(sum(j * connected[j] * a(m - j) for j in range(1, m))) / m)
    g = [Fraction(1)]
    for m in range(1, n + 1):
        g.append(Fraction(q, m) * sum(j * connected[j] * g[m - j] for j in range(1, m + 1)))
    return g[n] / a(n) / q - 1


def computed(n, k, q):
    return Fraction(list(islice(excesses(q, k, UNIT), n))[-1], UNIT)


def tail(n, k, q, e):
    """r(n) as it is written in the proof, for M = len(e), of exact e(1), ..., e(M - 1)."""

    def a(m):
        return Fraction(math.factorial(m * k), math.factorial(m) ** 2)

    def w(m):
        return a(m) * a(n - m) / a(n)

    head = sum(w(m) * (q - 1 + q * e[m]) for m in range(1, len(e)))
    return head + 2 * q * (n * w(len(e)) + sum(Fraction(m, n) * w(m) for m in range(1, len(e))))


class TestBound:
    @for_each(("n", "k", "q"), TINY)
    def test_the_true_distance_is_below(self, n, k, q):
        distance, square = true_distance(n, k, q)
        assert 4 * distance**2 <= square
        assert square == excess(n, k, q) <= computed(n, k, q)  # so the count of components is right
        assert distance > 0

    def test_known_distances(self):
        pairs = [(float(true_distance(*each)[0]), math.sqrt(excess(*each)) / 2) for each in TINY]
        assert any((round(p, 4), round(b, 4)) == (0.1055, 0.1637) for p, b in pairs)

    def test_components_of_random_graphs(self):
        """The mean of q^(C-1), by a walk over all pairings."""
        n, k, q = 2, 3, 5
        total = Fraction(0)
        for pairing in permutations(range(n * k)):
            joined = {left // k * n + right // k for left, right in enumerate(pairing)}
            total += q ** (1 if len(joined) == 2 else 0)
        assert total / math.factorial(n * k) == 1 + excess(n, k, q)

    @for_each("q", [2, 7, 2**20, 2**62])
    @for_each("k", [2, 3, 5, 9, 24])
    def test_computed_is_above_the_exact_one_and_near(self, k, q):
        for n in (2, 3, 4, 9, 20):
            exact, bound = excess(n, k, q), computed(n, k, q)
            assert exact <= bound
            if n == 2:
                assert bound - exact < Fraction(q, 2**290)
            if exact < 1 and k > 3:
                assert bound < exact * Fraction(3, 2)

    @for_each(("k", "q"), [(5, 7), (7, 2**20), (9, 2**20), (12, 2**40)])
    def test_the_rest_is_above_the_computed_part(self, k, q):
        """The bound for large cohorts, held against the recursion where both are known, and it falls."""
        e = [0, *islice(excesses(q, k, UNIT), 300)]
        half = next(m for m in (32, 64, 128) if max(e[m : 2 * m]) <= UNIT and rest(2 * m, q, k, e[:m], UNIT) <= UNIT)
        for n in range(2 * half, 301, 7):
            assert e[n] <= rest(n, q, k, e[:half], UNIT) <= e[n] * (1 + 5 / n)
        values = [rest(n, q, k, e[:half], UNIT) for n in (256, 300, 1000, 10**5, 10**7)]
        assert values == sorted(values, reverse=True)

    @for_each("size", [2, 3, 8])
    @for_each(("k", "q"), [(3, 2), (3, 7), (4, 2**40), (5, 7), (9, 2**20)])
    def test_the_rest_is_that_of_the_proof(self, size, k, q):
        """Of few terms too, where those that stand for all others are worth something."""
        e = [0, *islice(excesses(q, k, UNIT), size - 1)]
        for n in (2 * size, 2 * size + 1, 5 * size, 60):
            exact = tail(n, k, q, [Fraction(each, UNIT) for each in e])
            assert exact <= Fraction(rest(n, q, k, e, UNIT), UNIT) <= exact * (1 + Fraction(1, 2**200))

    def test_the_rest_is_used_where_the_proof_allows(self):
        """Here e is below 1 not from 32 and not from 64 on, but from 128 on."""
        k, q, n = 3, 2**8, 600
        e = [0, *islice(excesses(q, k, UNIT), 255)]
        assert max(e[32:64]) > UNIT
        assert max(e[64:128]) > UNIT
        assert max(e[128:256]) <= UNIT
        bound = rest(n, q, k, e[:128], UNIT)
        assert bound <= rest(256, q, k, e[:128], UNIT) <= UNIT
        assert bound != rest(n, q, k, e[:32], UNIT)
        assert proves(n, q, k, Fraction(bound, UNIT), 300)
        assert not proves(n, q, k, Fraction(bound - 1, UNIT), 300)

    def test_a_rest_without_its_first_term_is_caught(self):
        k, q = 9, 2**20
        e = [0, *islice(excesses(q, k, UNIT), 200)]
        assert e[200] > rest(200, q, k, [0, -UNIT, *e[2:32]], UNIT)

    @given(st.integers(2, 10**7), st.integers(2, 2**62), st.integers(2, 40))
    def test_the_quick_look_refuses_nothing_that_is_proved(self, n, q, k):
        first = first_term(n, q, k)
        if n <= 12:
            assert first <= computed(n, k, q)
        assert 0 < first <= (q - 1) * n * n


class TestSharesNeeded:
    @for_each("n", TABLE)
    def test_known_numbers(self, n):
        eta = Fraction(1, 2**40)
        found = [messages_needed(n, 2**b, eta) for b in (20, 30, 40, 48)]
        assert (*found, messages_needed(n, 2**40, eta**2)) == TABLE[n]

    @for_each(("n", "k", "q"), [each for each in TINY if each[1] > 2])
    def test_one_message_fewer_breaks_the_promise(self, n, k, q):
        """Of a tiny case: eta is what k messages are proved to reach, and with k - 1 the true distance is above it."""
        eta = Fraction(math.isqrt(int(computed(n, k, q) * 4**60)) + 1, 2**61)
        assert messages_needed(n, q, eta) == k
        assert true_distance(n, k, q)[0] <= eta
        if (n, k - 1, q) in TINY:
            assert true_distance(n, k - 1, q)[0] > eta

    @for_each("n", [2, 3, 5, 10, 25])
    @for_each("q", [2, 1009, 2**40])
    @for_each("bits", [1, 10, 40])
    def test_the_exact_bound_asks_for_as_many(self, n, q, bits):
        eta = Fraction(1, 2**bits)
        k = messages_needed(n, q, eta)
        assert excess(n, k, q) <= 4 * eta**2
        if k > 3:  # below, graphs that are not connected are many
            assert excess(n, k - 1, q) > 4 * eta**2

    @pytest.mark.slow
    def test_more_devices_and_smaller_moduli_need_no_more(self):
        eta = Fraction(1, 2**40)
        for q in (2**11, 2**20, 2**41):
            found = [
                messages_needed(n, q, eta) for n in (*range(2, 80), 127, 128, 129, 511, 512, 513, 10**4, 10**6, 10**9)
            ]
            assert found == sorted(found, reverse=True)
        for n in (2, 50, 600, 10**5):
            found = [messages_needed(n, 2**b, eta) for b in range(1, 63)]
            assert found == sorted(found)

    def test_where_a_proof_would_take_too_long_there_is_one_message_more(self):
        eta, n, q = Fraction(1, 2**20), 10**6, 2**62
        k = messages_needed(n, q, eta)
        assert first_term(n, q, k - 1) <= 4 * eta**2
        assert first_term(MOST_COMPUTED // 2, q, k - 1) > 1
        assert not proves(n, q, k - 1, 4 * eta**2, 200)

    @for_each("honest", [1, 0, -3, 2.0, True, None])
    def test_honest(self, honest):
        with pytest.raises(InvalidValue, match="honest"):
            messages_needed(honest, 16, Fraction(1, 2))

    @for_each("modulus", [1, 0, 2**62 + 1, 16.0])
    def test_modulus(self, modulus):
        with pytest.raises(InvalidValue, match="modulus"):
            messages_needed(5, modulus, Fraction(1, 2))

    @for_each("eta", [0, 1, Fraction(0), Fraction(1), 0.5, Fraction(1, 2**257)])
    def test_eta(self, eta):
        with pytest.raises(InvalidValue, match="eta"):
            messages_needed(5, 16, eta)


class TestSplit:
    @given(st.integers(1, 2**62), st.integers(1, 30), st.integers(0, 2**64), st.integers(0, 2**30))
    def test_messages_add_up(self, modulus, k, value, seed):
        messages = split_value(value % modulus, k, modulus, seeded(seed))
        assert sum(messages) % modulus == value % modulus
        assert len(messages) == k
        assert all(0 <= message < modulus for message in messages)

    def test_all_but_one_are_uniform(self):
        """And independent, whichever one is left out."""
        bits, q = seeded(3), 3
        sample = np.array([split_value(2, 3, q, bits) for _ in range(6000)])
        for a, b in ((0, 1), (0, 2), (1, 2)):
            same_distribution(
                sample[:, a] * q + sample[:, b], lambda z: np.where((z >= 0) & (z < q * q), 1 / q**2, 0.0)
            )

    def test_a_message_that_is_not_uniform_is_caught(self):
        bits, q = seeded(3), 3
        sample = np.array([min(split_value(2, 3, q, bits)) for _ in range(6000)])
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(sample, lambda z: np.where((z >= 0) & (z < q), 1 / q, 0.0))

    @for_each(("value", "k"), [(-1, 3), (16, 3), (1.0, 3), (1, 0), (1, 2.0)])
    def test_values(self, value, k):
        with pytest.raises(InvalidValue):
            split_value(value, k, 16, seeded(1))

    def test_a_refusal_does_not_show_the_value(self):
        with pytest.raises(InvalidValue) as refused:
            split_value(987654, 3, 16, seeded(1))
        assert "987654" not in str(refused.value)


def test_no_floats():
    assert offences(inspect.getsource(splitting)) == []


def test_the_distributions_by_enumeration_add_up():
    assert sum(seen((0, 1), 2, 3).values()) == 3**2
    assert sum(uniform(2, 2, 3, 1).values()) == 3**3
