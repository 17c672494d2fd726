"""Pure privacy from a shuffler: the noisy sum and what a relaxed sum may add to it come to epsilon, and no more.

Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.pure_shuffled import PureShuffled
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

Z = np.arange(-2000, 2001)
RARE = 1e-3  # how often the relaxed sum below tells on its input


def view(channel, total, n, relaxation):
    """The distribution of what the server sees: the sum modulo m, and a sign of its input that a relaxed sum may leak.

    The simulator gives the sign with probability RARE whatever the input; the relaxed sum gives it e^relaxation as
    often, or as rarely, according to the first reward. Without the sign, both are even closer.
    """
    m, _ = channel.residues(n)
    mass = np.bincount((Z + total) % m, weights=channel.release_noise(n).pmf(Z), minlength=m)
    sign = RARE * np.exp(relaxation if total % 2 else -relaxation)
    assert abs(np.log((1 - sign) / (1 - RARE))) < relaxation
    return np.concatenate([mass * sign, mass * (1 - sign)])


def loss_of(channel, relaxation, n=5):
    """The largest log-ratio of what the server sees of two cohorts that differ in one reward."""
    worst = 0.0
    for others in (0, n - 1):
        p, q = (view(channel, others + x, n, relaxation) for x in (0, 1))
        seen = (p > 1e-250) & (q > 1e-250)
        worst = max(worst, float(np.max(np.abs(np.log(p[seen] / q[seen])))))
    return worst


@for_each("epsilon", ["0.1", "0.5", "0.99"])
class TestLoss:
    def test_is_epsilon_exactly(self, epsilon):
        channel = PureShuffled(epsilon)
        assert [channel.loss(n).pure_epsilon for n in (1, 10, 1000)] == [Fraction(epsilon)] * 3

    def test_the_worst_relaxed_sum_costs_epsilon(self, epsilon):
        inside = PureShuffled(epsilon).summed
        assert loss_of(inside, float(Fraction(epsilon)) / 4) == pytest.approx(float(Fraction(epsilon)), rel=1e-6)

    def test_noise_or_relaxation_of_another_part_costs_more(self, epsilon):
        inside, all_of_it = PureShuffled(epsilon).summed, float(Fraction(epsilon))
        assert loss_of(replace(inside, epsilon=epsilon), all_of_it / 4) > 1.4 * all_of_it
        assert loss_of(inside, all_of_it / 2) > 1.4 * all_of_it


@pytest.mark.slow
def test_a_cohort_adds_noise_of_half_of_epsilon():
    channel, bits, n = PureShuffled("0.8"), seeded(6), 5
    offer = channel.offer(n)

    def released():
        return channel.analyze(sum(channel.randomize(1, offer, bits) for _ in range(n)), offer, bits, answers=n) - n

    sample = np.rint([released() for _ in range(1500)]).astype(int)
    same_distribution(sample, DiscreteLaplace(2 / Fraction("0.8")).pmf)
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(sample, DiscreteLaplace(1 / Fraction("0.8")).pmf)


def test_law_and_modulus_are_those_of_the_sum_inside():
    channel, inside = PureShuffled("0.5", failure=1e-6), Distributed("0.25", failure=1e-6)
    assert channel.law() == inside.law()
    assert channel.parameters() == inside.parameters()
    channel.check_size(10)


@for_each("epsilon", [1, 2, "0.0000001"])
def test_epsilon_is_below_one(epsilon):
    with pytest.raises(InvalidValue, match="epsilon"):
        PureShuffled(epsilon)


@for_each("failure", [0, 1, None])
def test_failure_is_a_probability(failure):
    with pytest.raises(InvalidValue, match="failure"):
        PureShuffled(failure=failure)
