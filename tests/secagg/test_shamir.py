"""Shamir's sharing: t key shares recover it, t - 1 hide it; the second by counting coefficients in a small field."""

from collections import Counter
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.shamir import KEY_SHARE, PRIME, combine_shares, lagrange_weights, split_secret
from tests.for_each import for_each
from tests.statistics import seeded

secrets = st.integers(0, 2**128 - 1) | st.sampled_from([0, 1, 2**128 - 1, PRIME - 1])
points = st.lists(st.integers(1, 400) | st.integers(1, PRIME - 1), min_size=1, max_size=12, unique=True)


class Given(Bits):
    """Bits that give these numbers, and are asked for nothing else than uniform elements of the field."""

    def __init__(self, numbers, prime):
        super().__init__()
        self.numbers, self.prime = iter(numbers), prime

    def below(self, n):
        assert n == self.prime
        return next(self.numbers)


@pytest.mark.slow
@given(secrets, points, st.data())
def test_any_threshold_of_key_shares_recovers(secret, xs, data):
    threshold = data.draw(st.integers(1, len(xs)))
    key_shares = dict(zip(xs, split_secret(secret, threshold, xs, Bits()), strict=True))
    some = data.draw(st.permutations(xs))[: data.draw(st.integers(threshold, len(xs)))]
    assert combine_shares([key_shares[x] for x in some], lagrange_weights(some)) == secret
    assert all(key_share < 1 << 8 * KEY_SHARE for key_share in key_shares.values())


def test_every_subset_of_a_sharing_recovers():
    xs, secret = list(range(1, 9)), 2**127 + 12345
    key_shares = dict(zip(xs, split_secret(secret, 5, xs, seeded(1)), strict=True))
    for size in range(1, 9):
        for some in combinations(xs, size):
            found = combine_shares([key_shares[x] for x in some], lagrange_weights(some))
            assert (found == secret) == (size >= 5)


def test_weights_are_those_of_lagrange():
    xs = [3, 9, 10, 54, PRIME - 1]
    for x, weight in zip(xs, lagrange_weights(xs), strict=True):
        expected = 1
        for other in xs:
            if other != x:
                expected = expected * other * pow(other - x, -1, PRIME) % PRIME
        assert weight == expected


def test_the_field_holds_a_secret_and_a_key_share_fits():
    assert 2**128 <= PRIME < 1 << 8 * KEY_SHARE
    assert all(pow(base, PRIME - 1, PRIME) == 1 for base in (2, 3, 5, 7, 11, 13))


def tells_nothing(sharing, prime, threshold):
    """Whether any threshold - 1 key shares are uniform whatever the secret, over all coefficients it may draw."""
    xs = range(1, threshold + 1)
    for seen in combinations(range(threshold), threshold - 1):
        for secret in range(prime):
            views = Counter(tuple(key_shares[i] for i in seen) for key_shares in sharing(secret, threshold, xs, prime))
            if len(views) != prime ** (threshold - 1) or len(set(views.values())) != 1:
                return False
    return True


def every(secret, threshold, xs, prime):
    for coefficients in product(range(prime), repeat=threshold - 1):
        yield split_secret(secret, threshold, xs, Given(coefficients, prime), prime)


def never_zero(secret, threshold, xs, prime):
    """The blunder of a polynomial whose degree is exactly threshold - 1."""
    for coefficients in product(range(1, prime), repeat=threshold - 1):
        yield split_secret(secret, threshold, xs, Given(coefficients, prime), prime)


def one_fewer(secret, threshold, xs, prime):
    for coefficients in product(range(prime), repeat=threshold - 2):
        yield split_secret(secret, threshold - 1, xs, Given(coefficients, prime), prime)


@for_each(("prime", "threshold"), [(5, 2), (7, 3), (5, 4)])
def test_fewer_key_shares_are_uniform(prime, threshold):
    assert tells_nothing(every, prime, threshold)
    assert not tells_nothing(never_zero, prime, threshold)
    assert not tells_nothing(one_fewer, prime, threshold)


@for_each("xs", [[], [0, 1], [1, 1], [2, 3, 2], [-1, 2], [1, PRIME], [1, PRIME + 1]])
def test_points_that_give_the_secret_away_or_coincide_are_refused(xs):
    with pytest.raises(InvalidValue, match="xs"):
        split_secret(7, 1, xs, Bits())
    with pytest.raises(InvalidValue, match="xs"):
        lagrange_weights(xs)


@for_each("threshold", [-1, 0, 4])
def test_a_threshold_that_cannot_be_is_refused(threshold):
    with pytest.raises(InvalidValue, match="threshold"):
        split_secret(7, threshold, [1, 2, 3], Bits())


@for_each("secret", [-5, PRIME, PRIME + 1])
def test_a_secret_outside_the_field_is_refused_and_not_shown(secret):
    with pytest.raises(InvalidValue) as error:
        split_secret(secret, 2, [1, 2, 3], Bits())
    assert str(secret) not in str(error.value)


def test_as_many_key_shares_as_weights():
    with pytest.raises(InvalidValue, match="2 key shares"):
        combine_shares([1, 2], lagrange_weights([1, 2, 3]))
