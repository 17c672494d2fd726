"""Central trust over a secure sum: releases are those of Central, the server sees the exact sum, and nothing wraps.

Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import inspect
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.backends.secagg import SecAgg
from maskedbandit.backends.sites import Sites
from maskedbandit.channels.central import Central
from maskedbandit.channels.central_sum import CentralSum
from maskedbandit.channels.codec import Grid
from maskedbandit.errors import Implausible, InvalidValue, TooFew
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.statistics import Statistics
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

SIGNED = Statistics(size=1, l1=2, square=4, low=-1, steps=4, moved=1)


def noise(channel, size, rewards=(0, 1, 1, 1, 0, 1)):
    """Noise in steps, of whole cohorts through the devices."""
    bits, offer = seeded(5), channel.offer(len(rewards))
    found = []
    for cohort in range(size):
        sent = [channel.randomize(reward, offer, bits) for reward in rewards]
        heard = channel.aggregate(sent, offer, bits, b"cohort %d" % cohort)
        total = channel.analyze(heard.total, offer, bits, answers=len(heard.survivors))
        found.append(round((total - sum(rewards[user] for user in heard.survivors)) * offer.steps))
    return found


@for_each("grid", [1, 3, Grid(fineness=2)])
def test_laws_losses_and_kernels_are_those_of_central_trust(grid):
    made, central = CentralSum("0.3", grid=grid), Central("0.3", grid=grid)
    assert made.law() == central.law()
    assert made.perturb is central.perturb
    for n in (1, 5, 1000):
        assert made.loss(n) == central.loss(n)


class NoNoise(CentralSum):
    """A server that releases the sum as it sees it."""

    def release_noise(self, n):
        return DiscreteLaplace("1e-4")


@pytest.mark.slow
def test_the_server_adds_one_draw():
    same_distribution(noise(CentralSum(1, grid=2), 2000), DiscreteLaplace(2).pmf)
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(noise(NoNoise(1, grid=2), 2000), DiscreteLaplace(2).pmf)


@pytest.mark.slow
def test_the_noise_does_not_leave_with_those_who_drop_out():
    class Losing(SecAgg):
        def leaves(self, n, bits):
            return {0: 2}

    same_distribution(noise(CentralSum(1, honest="0.5", backend=Losing(smallest=1)), 300), DiscreteLaplace(1).pmf)


def test_what_the_server_sees_is_the_exact_sum():
    """Its own statement: there is no epsilon against it."""
    channel, bits = CentralSum("0.01"), seeded(1)
    offer = channel.offer(4)
    sent = [channel.randomize(reward, offer, bits) for reward in (1, 0, 1, 1)]
    assert channel.aggregate(sent, offer, bits).total == 3
    assert "exact sums" in channel.sees


@for_each(("made", "sums"), [(CentralSum(grid=3), range(19)), (CentralSum().carrying(SIGNED), range(-24, 25))])
def test_every_sum_has_a_residue_of_its_own(made, sums):
    """With the least power of two: the noise needs no margin, however wide it is."""
    n = 6
    m, margin = made.residues(n)
    assert margin == 0
    assert m // 2 < len(sums) <= m
    quiet = NoNoise(grid=made.grid, statistics=made.statistics)
    for total in sums:
        assert quiet.analyze(total % m, quiet.offer(n), seeded(1), answers=n) == total / made.steps(n)
    for impossible in range(max(sums) + 1, min(sums) + m):
        with pytest.raises(Implausible):
            quiet.analyze(impossible % m, quiet.offer(n), seeded(1), answers=n)


def test_too_few_are_never_opened():
    with pytest.raises(InvalidValue, match="honest users counted on"):
        noise(CentralSum(honest="0.5", backend=SecAgg()), 1)
    with pytest.raises(TooFew):
        noise(CentralSum(backend=SecAgg(dropout="0.999", smallest=1)), 1)
    assert CentralSum(honest="0.34").counted_on(100) == 34


def test_whole_numbers_of_numpy_do_not_overflow():
    """The share is a fraction of two numbers that are near 2^54."""
    assert CentralSum(honest=Fraction(0.371)).counted_on(np.int64(10**6)) == 371_000
    assert Sites(shares=(Fraction(0.371), Fraction(0.629), 1)).places(np.int64(10**6)) == (371_000, 629_001, 10**6)


def test_devices_and_servers_use_no_float():
    for exact in (CentralSum.randomize, CentralSum.offer, CentralSum.aggregate, CentralSum.residues):
        assert offences(inspect.getsource(exact).replace("reward: float", "reward")) == []
