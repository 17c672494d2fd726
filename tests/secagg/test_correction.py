"""Wrong shares among right ones: corrected while at most half of what is over is wrong, and never beyond."""

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.secagg.correction import corrected
from maskedbandit.secagg.shamir import PRIME, split
from tests.statistics import seeded

SECRET = 0x0123456789ABCDEF


@given(st.data())
def test_the_secret_comes_out(data):
    t = data.draw(st.integers(1, 12))
    xs = data.draw(st.lists(st.integers(1, 60), min_size=t, max_size=24, unique=True))
    shares = dict(zip(xs, split(SECRET, t, xs, seeded(data.draw(st.integers(0, 99)))), strict=True))
    wrong = data.draw(st.lists(st.sampled_from(xs), max_size=(len(xs) - t) // 2, unique=True))
    spoiled = shares | {x: data.draw(st.sampled_from([0, 1, PRIME - 1, shares[x] ^ 1])) for x in wrong}
    assert corrected(spoiled, t) == SECRET


@pytest.mark.parametrize("secret", [0, 4])
def test_every_pattern_of_errors_in_a_tiny_field(secret):
    xs, prime = [1, 2, 3, 4, 5, 6], 7
    shares = dict(zip(xs, split(secret, 2, xs, seeded(3), prime), strict=True))
    for wrong in combinations(xs, 2):
        for values in product(range(prime), repeat=2):
            assert corrected(shares | dict(zip(wrong, values, strict=True)), 2, prime) == secret


def test_one_error_more_is_not_corrected():
    """The control: three wrong ones of six, on a line of their own, win or leave no answer."""
    xs, prime = [1, 2, 3, 4, 5, 6], 11
    shares = dict(zip(xs, split(4, 2, xs, seeded(3), prime), strict=True))
    found = {
        corrected(shares | dict(zip(xs[:3], values, strict=True)), 2, prime) for values in product(range(11), repeat=3)
    }
    assert found > {4, None}


def test_a_large_crowd():
    xs = range(1, 301)
    shares = dict(zip(xs, split(SECRET, 160, xs, seeded(1)), strict=True))
    assert corrected(shares | dict.fromkeys(xs[::5], 5), 160) == SECRET  # 60 of 300, where 70 may be
