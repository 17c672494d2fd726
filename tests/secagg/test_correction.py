"""Wrong key shares among right ones: corrected while at most half of what is over is wrong, and never beyond."""

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.secagg.key_shares import Correction, corrected
from maskedbandit.secagg.shamir import PRIME, split_secret
from tests.for_each import for_each
from tests.statistics import seeded

SECRET = 0x0123456789ABCDEF


@pytest.mark.slow
@given(st.data())
def test_the_secret_comes_out(data):
    t = data.draw(st.integers(1, 12))
    xs = data.draw(st.lists(st.integers(1, 60), min_size=t, max_size=24, unique=True))
    key_shares = dict(zip(xs, split_secret(SECRET, t, xs, seeded(data.draw(st.integers(0, 99)))), strict=True))
    wrong = data.draw(st.lists(st.sampled_from(xs), max_size=(len(xs) - t) // 2, unique=True))
    spoiled = key_shares | {x: data.draw(st.sampled_from([0, 1, PRIME - 1, key_shares[x] ^ 1])) for x in wrong}
    found = corrected(spoiled, t)
    assert (found.secret, set(found.wrong)) == (SECRET, {x for x in wrong if spoiled[x] != key_shares[x]})


@for_each("secret", [0, 4])
def test_every_pattern_of_errors_in_a_tiny_field(secret):
    xs, prime = [1, 2, 3, 4, 5, 6], 7
    key_shares = dict(zip(xs, split_secret(secret, 2, xs, seeded(3), prime), strict=True))
    for wrong in combinations(xs, 2):
        for values in product(range(prime), repeat=2):
            found = corrected(key_shares | dict(zip(wrong, values, strict=True)), 2, prime)
            assert found.secret == secret


def test_one_error_more_is_not_corrected():
    """The control: three wrong ones of six, on a line of their own, win or leave no answer."""
    xs, prime = [1, 2, 3, 4, 5, 6], 11
    key_shares = dict(zip(xs, split_secret(4, 2, xs, seeded(3), prime), strict=True))
    every = [
        corrected(key_shares | dict(zip(xs[:3], values, strict=True)), 2, prime)
        for values in product(range(11), repeat=3)
    ]
    assert {found and found.secret for found in every} > {4, None}


def test_a_secret_is_not_printed():
    assert repr(corrected(dict.fromkeys(range(1, 5), SECRET), 2)) == "Correction(wrong=[])"


def nearest(key_shares, threshold, prime):
    """By trying all polynomials: the only one from which at most half of the surplus key shares differ, if any."""
    may = (len(key_shares) - threshold) // 2
    found = []
    for polynomial in product(range(prime), repeat=threshold):
        wrong = [x for x, y in key_shares.items() if sum(c * x**i for i, c in enumerate(polynomial)) % prime != y]
        if len(wrong) <= may:
            found.append((polynomial[0], wrong))
    assert len(found) <= 1
    return Correction(*found[0]) if found else None


@for_each(("prime", "xs", "t"), [(5, (1, 2, 3, 4), 2), (5, (4, 1, 3), 1), (5, (2, 3, 4), 2), (3, (1, 2), 2)])
def test_all_key_shares_of_tiny_fields(prime, xs, t):
    """Zeros, key shares of too high a degree, and more errors than can be found: none is taken for a secret."""
    outcomes = set()
    for values in product(range(prime), repeat=len(xs)):
        key_shares = dict(zip(xs, values, strict=True))
        found = nearest(key_shares, t, prime)
        assert corrected(key_shares, t, prime) == found
        outcomes.add(found and found.secret)
    assert outcomes >= set(range(prime))
    assert None in outcomes or len(xs) == t


def test_the_secret_zero_comes_out_of_zeros():
    assert corrected({1: 0, 2: 0, 3: 0, 4: 5}, 2) == Correction(0, [4])
    assert corrected(dict.fromkeys(range(1, 5), 0), 2) == Correction(0, [])


def test_a_large_crowd():
    xs = range(1, 301)
    key_shares = dict(zip(xs, split_secret(SECRET, 160, xs, seeded(1)), strict=True))
    assert corrected(key_shares | dict.fromkeys(xs[::5], 5), 160) == Correction(
        SECRET, list(xs[::5])
    )  # 60 of 300, where 70 may be
