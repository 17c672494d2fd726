"""The calculator of neighbourhoods: known answers, exact distributions of small rings, and chance on large ones.

Seeds are fixed; under a new seed each random assertion rejects a correct bound with probability ALPHA = 1e-9.
"""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.errors import InvalidValue
from maskedbandit.secagg.graph import ring_window
from maskedbandit.secagg.parameters import (
    _connected,
    _most,
    choose_neighbours,
    complete_graph,
    complete_threshold,
    sparse_threshold,
)
from tests.for_each import for_each
from tests.statistics import at_most

# --- known answers ------------------------------------------------------------------------------------------

SIZES = (64, 128, 256, 512, 1000, 10**4, 10**5)
TABLE = {  # malicious, corrupted and lost in thousandths: (k, least, most) for each size
    (False, 50, 50): "8,4,5 14,7,8 20,12,12 26,15,16 30,17,18 34,20,20 36,21,21",
    (False, 100, 100): "14,7,8 24,13,13 36,20,21 42,24,24 48,27,28 54,31,31 58,33,33",
    (False, 200, 200): "26,13,14 48,26,26 70,38,39 88,48,49 98,54,54 122,67,67 134,73,73",
    (False, 333, 100): "28,22,22 48,36,36 72,52,52 90,64,64 102,72,72 126,88,88 138,96,96",
    (True, 50, 50): "18,15,15 32,26,26 62,50,50 102,84,84 132,109,109 180,148,148 200,164,164",
    (True, 100, 100): "32,26,26 62,50,50 128,103,103 220,179,179 318,259,259 540,439,439 626,508,508",
    (True, 200, 200): "62,50,50 127,77,102 255,154,204 511,307,409 999,600,799 9999,6000,7999 99999,60000,79999",
}
TWICE = {  # for 2t > k + a alone, which keeps one of a user's secrets from a lying server
    (50, 50): "10,7,7 20,14,14 34,24,24 44,31,31 52,37,37 62,44,44 68,48,48",
    (100, 100): "20,14,14 38,26,26 62,43,43 82,57,57 96,67,67 122,85,85 134,93,93",
    (200, 200): "38,26,26 76,51,51 144,98,98 220,150,150 302,206,206 482,328,328 552,375,375",
}


def rows(table):
    return [(n, *key, row) for key, rows in table.items() for n, row in zip(SIZES, rows.split(), strict=True)]


@for_each(("n", "malicious", "corrupted", "lost", "row"), rows(TABLE))
def test_the_table(n, malicious, corrupted, lost, row):
    found = choose_neighbours(n, corrupted * n // 1000, lost * n // 1000, malicious)
    assert ",".join(map(str, found)) == row


def asked_twice(n, corrupted, lost):
    """The least k if a server that lies is to have one secret of each user, and may open parts of sums."""
    for k in range(2, n - 1, 2):
        a, b = _most(n, corrupted, k, 41), _most(n, lost, k, 20)
        if (k + a) // 2 < k - b and _connected(n, corrupted + lost, k, 41):
            return k, (k + a) // 2 + 1, k - b
    return None


@for_each(("n", "corrupted", "lost", "row"), rows(TWICE))
def test_known_answers_for_one_secret_of_two(n, corrupted, lost, row):
    assert ",".join(map(str, asked_twice(n, corrupted * n // 1000, lost * n // 1000))) == row


@for_each(
    ("n", "malicious", "corrupted", "lost", "k", "threshold"),
    [
        (1000, False, 33, 33, 286, 150),
        (10000, False, 33, 33, 422, 221),
        (1000, False, 5, 33, 72, 24),
        (10000, False, 5, 5, 34, 20),
        (100, False, 33, 33, 68, 34),
        (1000, True, 5, 5, 52, 37),
        (1000, True, 5, 33, 398, 223),
        (10000, True, 33, 5, 178, 146),
    ],
)
def test_known_answers_of_another_implementation(n, malicious, corrupted, lost, k, threshold):
    found = (asked_twice if malicious else choose_neighbours)(n, corrupted * n // 100, lost * n // 100)
    assert found[:2] == (k, threshold)


@pytest.mark.slow
def test_close_to_impossible_is_still_quick():
    assert choose_neighbours(10**5, 20_000, 18_500, malicious=True) == (51560, 41610, 41610)
    assert choose_neighbours(10**5, 20_000, 20_000, malicious=True).k == 10**5 - 1


# --- the definition -----------------------------------------------------------------------------------------


def tail(n, marked, k, a):
    """n times the chance that more than a of k others are marked."""
    ways = sum(comb(marked, j) * comb(n - 1 - marked, k - j) for j in range(a + 1, min(marked, k) + 1))
    return Fraction(n * ways, comb(n - 1, k))


@pytest.mark.slow
@given(st.integers(3, 400), st.data())
def test_the_most_marked_neighbours_by_all_terms(n, data):
    marked, k = data.draw(st.integers(0, n - 2)), data.draw(st.integers(1, n - 2))
    power = data.draw(st.integers(2, 90))
    a = _most(n, marked, k, power)
    assert tail(n, marked, k, a) < Fraction(1, 2**power)
    assert a == 0 or tail(n, marked, k, a - 1) >= Fraction(1, 2**power)


def cut(n, bad, k):
    """The bound on the chance that bad users cut the ring."""
    return Fraction(n * (n - k - 1) * comb(n - k, bad - k), 2 * comb(n, bad)) if k <= bad else Fraction(0)


def by_definition(n, corrupted, lost, malicious, secrecy, correctness):
    """Every even k, with all terms; None if there is none."""
    for k in range(2, n - 1, 2):
        a = next(a for a in range(k + 1) if tail(n, corrupted, k, a) * 2 ** (secrecy + 1) < 1)
        b = next(b for b in range(k + 1) if tail(n, lost, k, b) * 2**correctness < 1)
        fits = [t for t in range(2, k + 1) if (3 * t > 2 * k + 2 * a + 1 and 2 * t > k + 2 * a + 2) or not malicious]
        least = next((t for t in fits if t > a), k + 1)
        if least <= k - b and cut(n, corrupted + lost, k) * 2 ** (secrecy + 1) < 1:
            return k, least, k - b
    return None


@pytest.mark.slow
@pytest.mark.parametrize("malicious", [False, True])
def test_the_least_k_by_definition_and_what_is_impossible(malicious):
    sparse = 0
    for n in (3, 4, 5, 8, 13, 18):
        for corrupted, lost in product(range(n), repeat=2):
            for secrecy, correctness in ((2, 2), (5, 3)):
                expected = by_definition(n, corrupted, lost, malicious, secrecy, correctness)
                least = max((n - 1 + corrupted) // 2 + 1 if malicious else corrupted + 1, 2)
                if least <= n - 1 - lost:
                    found = choose_neighbours(n, corrupted, lost, malicious, secrecy, correctness)
                    assert found == (expected or (n - 1, least, n - 1 - lost))
                    sparse += expected is not None
                else:
                    assert expected is None  # no other graph does what the complete one cannot
                    with pytest.raises(InvalidValue):
                        choose_neighbours(n, corrupted, lost, malicious, secrecy, correctness)
    assert sparse > 50


@for_each(
    ("n", "corrupted", "lost", "malicious", "message"),
    [
        (2, 0, 0, False, "n is 2: it must be at least 3 users"),
        (10, 9, 0, False, "corrupted is 9: it must be from 0 to 8 of 10 users"),
        (10, -1, 0, False, "corrupted is -1"),
        (10, 4, 5, False, "lost is 5: it must be from 0 to 4 of 10 users, if 4 are corrupted"),
        (10, 3, 3, True, "lost is 3: it must be from 0 to 2 of 10 users, if 3 are corrupted"),
        (10, 3, -1, True, "lost is -1"),
        (1000, 333, 333, True, "lost is 333: it must be from 0 to 332 of 1000 users, if 333 are corrupted"),
    ],
)
def test_the_impossible_is_refused_with_what_would_be_possible(n, corrupted, lost, malicious, message):
    for ask in (choose_neighbours, complete_graph):
        with pytest.raises(InvalidValue, match=message):
            ask(n, corrupted, lost, malicious)
    assert complete_graph(10, 4, 4) == (9, 5, 5)
    assert complete_graph(10, 3, 2, malicious=True) == (9, 7, 7)


@for_each("name", ["secrecy", "correctness"])
def test_a_chance_of_failure_is_small(name):
    with pytest.raises(InvalidValue, match=name):
        choose_neighbours(100, 1, 1, **{name: 1})


# --- small rings, every choice of bad users -----------------------------------------------------------------


def chance(n, marked, bad):
    """The exact chance of an event over the sets of so many marked users."""
    hits = sum(bad(set(chosen)) for chosen in combinations(range(n), marked))
    return Fraction(hits, comb(n, marked))


def exposed(n, k, corrupted, threshold):
    """Some honest user has as many corrupted neighbours as recover a secret."""
    near = [ring_window(i, n, k) for i in range(n)]
    return chance(
        n, corrupted, lambda c: any(sum(j in c for j in near[i]) >= threshold for i in range(n) if i not in c)
    )


def stuck(n, k, lost, threshold):
    """Some user who is left has too few neighbours left."""
    near = [ring_window(i, n, k) for i in range(n)]
    return chance(n, lost, lambda d: any(sum(j not in d for j in near[i]) < threshold for i in range(n) if i not in d))


def in_pieces(n, k, bad):
    """The good users are not connected."""
    near = [ring_window(i, n, k) for i in range(n)]

    def apart(b):
        good = set(range(n)) - b
        reached = front = {min(good)}
        while front:
            front = {j for i in front for j in near[i] if j in good} - reached
            reached = reached | front
        return reached != good

    return chance(n, bad, apart)


@for_each(("n", "k"), [(9, 2), (10, 4), (12, 4), (12, 6), (13, 6)])
def test_two_runs_of_bad_users_cut_a_ring(n, k):
    for bad in range(k, n - 1):
        exact, bound = in_pieces(n, k, bad), cut(n, bad, k)
        assert exact <= bound
        if bad == k:  # both runs, and nobody else: nothing is counted twice
            assert exact == bound > 0
        for power in range(1, 12):
            assert _connected(n, bad, k, power) == (bound < Fraction(1, 2**power))
    assert in_pieces(n, k, k - 1) == 0 == cut(n, k - 1, k)


@for_each(("n", "corrupted", "lost"), [(10, 2, 1), (10, 2, 2), (14, 3, 2), (16, 3, 3), (16, 4, 2)])
def test_thresholds_are_exact_on_small_rings(n, corrupted, lost):
    k, least, most = choose_neighbours(n, corrupted, lost, secrecy=3, correctness=3)
    assert k < n - 1
    assert exposed(n, k, corrupted, least) < Fraction(1, 16) <= exposed(n, k, corrupted, least - 1)
    assert stuck(n, k, lost, most) < Fraction(1, 8) <= stuck(n, k, lost, most + 1)


def test_fewer_neighbours_are_too_few():
    """With k - 2 neighbours, any threshold leaves a user exposed or stuck, or the ring in pieces, too often."""
    for n, corrupted, lost in ((10, 2, 1), (10, 2, 2)):
        k = choose_neighbours(n, corrupted, lost, secrecy=4, correctness=4).k - 2
        assert all(
            exposed(n, k, corrupted, threshold) >= Fraction(1, 32) or stuck(n, k, lost, threshold) >= Fraction(1, 16)
            for threshold in range(2, k + 1)
        )


def both(k, corrupted, threshold):
    """Whether some way to ask each honest neighbour for one of two secrets recovers both."""
    return any(
        corrupted + asked.count(0) >= threshold and corrupted + asked.count(1) >= threshold
        for asked in product((0, 1), repeat=k - corrupted)
    )


@for_each("k", range(2, 10))
def test_a_server_that_asks_for_both_secrets(k):
    for corrupted in range(k):
        for threshold in range(1, k + 1):
            assert both(k, corrupted, threshold) == (2 * threshold <= k + corrupted)
        least = complete_threshold(k, corrupted, malicious=True)
        assert not both(k, corrupted, least)
        assert both(k, corrupted, least - 1)
        assert not both(k, corrupted, sparse_threshold(k, corrupted, malicious=True))


# --- large rings, by chance ---------------------------------------------------------------------------------

RINGS = 3000
SETTINGS = [(60, 6, 6, False, 4), (100, 20, 10, False, 5), (100, 10, 10, True, 4), (200, 60, 20, False, 5)]


def around(marks, k):
    """For each user, how many neighbours are marked."""
    return sum(np.roll(marks, step, axis=1) for step in range(-k // 2, k // 2 + 1) if step)


def cuts(bad, k):
    """On how many rings two runs or more of k/2 bad users have a good one before them."""
    runs = np.all([np.roll(bad, -step, axis=1) for step in range(k // 2)], axis=0) & ~np.roll(bad, 1, axis=1)
    return (runs.sum(axis=1) >= 2).sum()


@for_each(("n", "corrupted", "lost", "malicious", "power"), SETTINGS)
def test_failures_are_rarer_than_promised(n, corrupted, lost, malicious, power):
    k, least, most = choose_neighbours(n, corrupted, lost, malicious, power, power)
    a, b = ((3 * least - 2 * k - 2) // 2 if malicious else least - 1), k - most
    ring = np.random.default_rng(5).permuted(np.tile(np.arange(n), (RINGS, 1)), axis=1)
    c, d = ring < corrupted, (ring >= corrupted) & (ring < corrupted + lost)
    corrupt, gone = around(c, k), around(d, k)
    at_most(np.any((corrupt > a) & ~c, axis=1).sum(), RINGS, 2.0 ** -(power + 1))
    at_most(np.any((gone > b) & ~d, axis=1).sum(), RINGS, 2.0**-power)
    at_most(cuts(c | d, k), RINGS, 2.0 ** -(power + 1))
    with pytest.raises(AssertionError, match="a chance of"):
        at_most(cuts(c | d, 2), RINGS, 2.0 ** -(power + 1))
    # negative control: the means alone, which is what a calculator without tails would allow
    with pytest.raises(AssertionError, match="a chance of"):
        at_most(np.any((corrupt > k * corrupted // n) & ~c, axis=1).sum(), RINGS, 2.0 ** -(power + 1))
    with pytest.raises(AssertionError, match="a chance of"):
        at_most(np.any((gone > k * lost // n) & ~d, axis=1).sum(), RINGS, 2.0**-power)
