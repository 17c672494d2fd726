"""Randomized response has exactly the flip probability that its epsilon needs.

Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.channels.response import Response
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

EPSILONS = ["0.5", "1", "2", "1/3"]


def bit_pmf(epsilon, reward):
    """P(bit = 1) = flip + (1 - 2 flip) reward, flip = 1 / (1 + e^epsilon)."""
    flip = 1 / (1 + math.exp(Fraction(epsilon)))
    one = flip + (1 - 2 * flip) * reward
    return lambda z: np.where(z == 1, one, np.where(z == 0, 1 - one, 0))


def bits_of(epsilon, reward, size=12_000):
    channel, bits = Response(epsilon), seeded(5)
    offer = channel.offer(1)
    return np.array([channel.randomize(reward, offer, bits) for _ in range(size)])


@pytest.mark.sparing(1)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("reward", [0, 1, 0.3])
def test_bits_have_their_distribution(epsilon, reward):
    same_distribution(bits_of(epsilon, reward), bit_pmf(epsilon, reward))


@pytest.mark.slow
def test_the_flip_of_another_epsilon_is_rejected():
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(bits_of("2", 1, 200_000), bit_pmf("2.1", 1))


@for_each(("epsilon", "known"), [("0.5", 0.6225), ("1", 0.7311), ("2", 0.8808)])
def test_known_probabilities(epsilon, known):
    assert 1 - Response(epsilon).law().flip == pytest.approx(known, abs=5e-5)


@for_each("epsilon", EPSILONS)
def test_the_log_ratio_of_a_bit_is_the_loss(epsilon):
    """Of all pairs of rewards the worst is 0 against 1."""
    worst = 0.0
    for x in (0, 0.2, 1):
        for y in (0, 0.7, 1):
            p, q = bit_pmf(epsilon, x)(np.arange(2)), bit_pmf(epsilon, y)(np.arange(2))
            worst = max(worst, float(np.max(np.log(p / q))))
    assert worst == pytest.approx(float(Response(epsilon).loss(1).pure_epsilon))


def test_the_log_ratio_of_a_bit_that_flips_too_rarely_is_above_the_loss():
    p, q = bit_pmf("1.01", 1)(np.arange(2)), bit_pmf("1.01", 0)(np.arange(2))
    assert float(np.max(np.log(p / q))) > Response(1).loss(1).pure_epsilon


@for_each("ones", [0, 4, 9])
def test_simulated_totals_have_the_distribution_of_n_bits(ones):
    n, channel, rng = 9, Response("0.5"), np.random.Generator(np.random.PCG64(8))
    law, p = channel.law(), np.array([1.0])
    for i in range(n):
        one = 1 - law.flip if i < ones else law.flip
        p = np.convolve(p, [1 - one, one])
    totals = [
        Response.perturb(channel.parameters(), channel.memory(1), law, 0, float(ones), n, 0, rng) for _ in range(20_000)
    ]
    sent = np.array(totals) * (1 - 2 * law.flip) + n * law.flip
    assert np.abs(sent - sent.round()).max() < 1e-9
    same_distribution(sent.round().astype(int), lambda z: np.where((z >= 0) & (z <= n), p[np.clip(z, 0, n)], 0))


def test_bits_are_drawn_without_floats():
    assert offences(inspect.getsource(Response.randomize).replace("reward: float", "reward")) == []


def test_a_float_in_a_flip_is_seen():
    def randomize(self, reward, offer, bits):
        return bits.below(2**53) < 2**53 * math.exp(-self.epsilon)

    assert {what for _, what in offences(inspect.getsource(randomize))} == {"math.exp"}
