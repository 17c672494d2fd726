"""Two servers: what one of them sees, with the collector, shows the sum and its noise alone.

Seeds are fixed; under a new seed each random assertion rejects a correct protocol with probability ALPHA = 1e-9.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.sampling import discrete_laplace
from maskedbandit.secagg.server_pair import NUMBER_SIZE, PairServer, PairTerms, seal_value_share, share_value
from tests.for_each import for_each
from tests.secagg.test_server_pair import KEYS, PRIVATE, ended
from tests.statistics import same_distribution, seeded

M = 4
TINY = PairTerms(b"tiny", M, 1, KEYS)


class Open(Exception):
    """A draw below n that nobody has made yet."""


class Chosen:
    """Bits of which the next draws are known."""

    def __init__(self, *draws):
        self.draws = list(draws)

    def below(self, n):
        if not self.draws:
            raise Open(n)
        return self.draws.pop(0)


def enumerated(what):
    """The distribution of what a function makes of bits: over all that they can be."""
    mass, left = Counter(), [((), Fraction(1))]
    while left:
        draws, chance = left.pop()
        try:
            mass[what(Chosen(*draws))] += chance
        except Open as drawn:
            (n,) = drawn.args
            left += [((*draws, each), chance / n) for each in range(n)]
    return mass


def opened(value, bits):
    """The value shares that both servers find in the messages of a device."""
    found = []
    for role, message in enumerate(share_value(TINY, 1, value, bits)):
        server = PairServer(TINY, role, PRIVATE[role], lambda: 0)
        server.receive(1, message)
        found.append(server._value_shares[1])
    return tuple(found)


def distributions():
    """The distribution of the two value shares of every value."""
    return [enumerated(lambda bits, value=value: opened(value, bits)) for value in range(M)]


def views(corrupted, values, value_shares, noises=(0, 0, 1, 3)):
    """How likely one server and the collector together see what, if value shares have these distributions.

    The seals are taken as given; the distribution of the other server's noise is that of a draw among `noises`.
    """
    seen = Counter()
    for drawn in product(*(value_shares[value].items() for value in values)):
        chance = Fraction(1, len(noises))
        for _, each in drawn:
            chance *= each
        for noise in noises:
            other = (sum(pair[1 - corrupted] for pair, _ in drawn) + noise) % M
            seen[tuple(pair[corrupted] for pair, _ in drawn), other] += chance
    return seen


def uneven(terms, user, value, bits):
    """A mutant: the first value share is never the largest residue."""
    first = bits.below(terms.modulus - 1)
    return seal_value_share(terms, 0, user, first), seal_value_share(terms, 1, user, (value - first) % terms.modulus)


def test_either_value_share_is_uniform_and_both_make_the_value():
    for value, mass in enumerate(distributions()):
        assert mass == {(first, (value - first) % M): Fraction(1, M) for first in range(M)}


@for_each("corrupted", [0, 1])
def test_views_depend_on_the_sum_alone(corrupted):
    by_sum, value_shares = {}, distributions()
    for values in product(range(M), repeat=3):
        seen = views(corrupted, values, value_shares)
        assert by_sum.setdefault(sum(values) % M, seen) == seen
    assert len({tuple(sorted(seen.items())) for seen in by_sum.values()}) == M


@pytest.mark.parametrize("corrupted", [0, 1])
def test_value_shares_that_are_not_uniform_are_seen(corrupted, monkeypatch):
    """By the server whose value share then depends on the value."""
    monkeypatch.setitem(globals(), "share_value", uneven)
    value_shares = distributions()
    assert len(value_shares[0]) == M - 1
    one, other = (views(corrupted, values, value_shares) for values in ((0, 1, 0), (1, 0, 0)))
    assert (one == other) == (corrupted == 0)


def test_totals_are_sums_of_value_shares():
    """What a server publishes is what the views above are made of."""
    for value, first in product(range(M), repeat=2):
        pair = [PairServer(TINY, role, PRIVATE[role], lambda: 0) for role in range(2)]
        for server, message in zip(pair, share_value(TINY, 1, value, Chosen(first)), strict=True):
            server.receive(1, message)
        assert [int.from_bytes(message[-NUMBER_SIZE:]) for message in ended(pair)] == [first, (value - first) % M]


@pytest.mark.slow
def test_one_server_alone_carries_a_whole_draw():
    """The other one takes off what it knows, and the sum of a user who is alone still has the noise of one draw."""
    bits, left = seeded(5), []
    terms = PairTerms(b"alone", 2**20, 1, KEYS)
    for _ in range(1500):
        pair = [PairServer(terms, role, PRIVATE[role], lambda: discrete_laplace(2, bits)) for role in range(2)]
        to_first, to_second = share_value(terms, 0, 1, bits)
        pair[0].receive(0, to_first)
        pair[1].receive(0, to_second)
        known = pair[1]._value_shares[0]
        total = int.from_bytes(ended(pair)[0][-NUMBER_SIZE:])
        left.append((total + known - 1 + 2**19) % 2**20 - 2**19)
    same_distribution(left, DiscreteLaplace(2).pmf)
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(left, DiscreteLaplace(1).pmf)
