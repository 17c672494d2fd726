"""Noise of which draws may be lost: what stands for it does, for every number of draws, and every bet is fair.

All tests are exact sums, with distributions that the noises state themselves.
"""

import math
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

import maskedbandit as mb
from maskedbandit.law import COINS, GAUSSIAN, LAPLACE, SKELLAM, Law, draws_of_one, fewest_draws, loses_draws
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.theory.likelihood import ArmReleases, log_allowance, log_likelihood
from maskedbandit.theory.noise_pmf import log_excess, log_pmf_of_draws, stand_in_noise, wider_laplace
from tests.for_each import for_each
from tests.policies.mutants import mutant

NOISES = {LAPLACE: DiscreteLaplace, SKELLAM: Skellam, GAUSSIAN: DiscreteGaussian}
LAWS = {
    "laplace": Law(LAPLACE, scale=4.0, grid=1, per_release=1, honest=0.8),
    "narrow laplace": Law(LAPLACE, scale=0.4, grid=1, per_release=1, honest=0.8),
    "laplace, half may be lost": Law(LAPLACE, scale=4.0, grid=1, per_release=1, honest=0.5),
    "laplace, most may be lost": Law(LAPLACE, scale=2.0, grid=1, per_release=1, honest=0.3),
    "two draws of laplace": Law(LAPLACE, scale=2.0, grid=1, per_release=2, honest=0.8),
    "skellam": Law(SKELLAM, scale=2.0, grid=1, per_release=1, honest=0.8),
    "gaussian": Law(GAUSSIAN, scale=2.5, grid=1, per_release=1, honest=0.8),
    "coins": Law(COINS, scale=0.5, grid=1, per_release=20, spare=5),
    "an odd number of coins": Law(COINS, scale=0.5, grid=1, per_release=21, spare=6),
}
FAR = 60
BETS = ((0.3, 0.2), (0.6, 0.2), (1.0, 0.2), (0.6, 0.5), (0.4, 0.5), (1.0, 0.9), (0.8, 0.9), (0.4, 0.9), (0.0, 0.9))


def counts(law: Law, n: int) -> list[float]:
    """The numbers of draws that there may be, or many between their bounds."""
    fewest, most = fewest_draws(law, n), draws_of_one(law, n)
    return [float(c) for c in np.linspace(fewest, most, int(most - fewest) + 1 if law.kind == COINS else 13)]


def noise(law: Law, count: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The values that so many draws may take, and their probabilities."""
    if law.kind == COINS:
        heads = np.arange(int(count) + 1)
        return heads - count / 2, binom.pmf(heads, int(count), 0.5)
    z = np.arange(-FAR, FAR + 1)
    return z.astype(float), NOISES[law.kind](law.scale).pmf(z, count)


def check_stands(law: Law, n: int = 40, stands=stand_in_noise, excess=log_excess) -> None:
    """No noise is more likely than K times what stands for it, anywhere, and this adds up to at most one."""
    for count in counts(law, n):
        for z, p in zip(*noise(law, count), strict=True):
            scale, of_g = stands(law, n, z)
            bound = excess(law, n, z) + log_pmf_of_draws(law, scale, of_g, z)
            assert p <= math.exp(bound) * (1 + 1e-9), f"{count} draws are {z} more often than what stands for them"
    for parity in (0.0, 0.5):
        z = np.arange(-400, 401) + parity
        of_g = [log_pmf_of_draws(law, *stand_in_noise(law, n, each), each) for each in z]
        if parity == 0.0 or law.kind == COINS:
            assert np.exp(of_g).sum() <= 1 + 1e-9


@pytest.mark.slow
@for_each("name", LAWS)
def test_it_stands_for_every_number_of_draws(name):
    check_stands(LAWS[name])


@for_each("scale", [0.05, 0.3, 1.0, 3.0, 40.0])
@for_each("more", [0.01, 0.1, 0.25, 0.5, 1.0])
def test_a_wider_laplace_draw_stands_for_several(scale, more):
    """It is hardly wider than it must be: what it costs is near the least that a geometric distribution can."""
    wide, z = wider_laplace(scale, more), np.arange(1, int(25 * scale) + 5)
    still = math.tanh(0.5 / scale)
    for count in np.linspace(1.01, 1 + more, 7):
        p = DiscreteLaplace(scale).pmf(z, float(count))
        assert (np.log(p) <= math.log(still) - z / wide + 1e-9).all()
        assert DiscreteLaplace(scale).pmf(np.zeros(1, np.int64), float(count))[0] <= still
    p = DiscreteLaplace(scale).pmf(z, 1 + more)
    least = np.max((np.log(p) - math.log(still)) / z)  # minus the largest rate that will do
    cost, of_least = (math.log(still / math.tanh(0.5 * rate)) for rate in (1 / wide, -least))
    assert of_least - 1e-9 <= cost <= of_least + 0.015


def test_what_stands_for_too_few_draws_is_rejected():
    """Mutants: the noise of most draws without a factor, too narrow a draw, and coins of one parity for both."""
    law = LAWS["skellam"]
    with pytest.raises(AssertionError, match="more often"):
        check_stands(law, excess=lambda law, n, r: 0.0)
    narrow = mutant(stand_in_noise, wider_laplace=mutant(wider_laplace, "w * more", "0.9 * w * more"))
    law = LAWS["laplace"]
    with pytest.raises(AssertionError, match="more often"):
        check_stands(law, stands=narrow, excess=mutant(log_excess, stand_in_noise=narrow))
    even = mutant(stand_in_noise, "most - 2 * (heads - math.floor(heads))", "fewest")
    with pytest.raises(AssertionError, match="more often"):
        check_stands(LAWS["coins"], stands=even, excess=mutant(log_excess, stand_in_noise=even))


def check_fair(law: Law, assumed: Law, n: int = 8) -> None:
    """A bet against z gains nothing on average, however many draws were lost, where the mean is z or further away."""

    @cache
    def log_chance(r: float, mu: float) -> float:
        return log_likelihood(assumed, ArmReleases(np.array([r]), np.array([n]), 1), mu)[0]

    def gain(r: float, to: float, null: float) -> float:
        known = ArmReleases(np.array([r]), np.array([n]), 1)
        return math.exp(log_chance(r, to) - log_chance(r, null) - log_allowance(assumed, known))

    for (to, null), count in product(BETS, counts(law, n)):
        z, p = noise(law, count)
        for mean in (0.0, 0.15, null, 0.95, 1.0):
            if (to - null) * (null - mean) >= 0:
                chances = np.convolve(binom.pmf(np.arange(n + 1), n, mean), p)
                total = sum(q * gain(float(z[0] + i), to, null) for i, q in enumerate(chances) if q > 1e-15)
                assert total <= 1 + 1e-9, f"a bet on {to} against {null} gains {total} with {count} draws"


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_bets_are_fair_whatever_is_lost(name):
    check_fair(LAWS[name], LAWS[name])


@for_each("name", ["laplace", "gaussian"])
def test_the_likelihood_of_the_fewest_draws_is_not_fair(name):
    """A broken twin: as if all were lost who may be."""
    law = LAWS[name]
    with pytest.raises(AssertionError, match="gains"):
        check_fair(law, law._replace(honest=1.0))


def test_the_likelihood_of_all_coins_is_not_fair():
    """A broken twin: as if nobody were lost."""
    law = LAWS["coins"]
    with pytest.raises(AssertionError, match="gains"):
        check_fair(law, law._replace(per_release=25.0, spare=0.0))


@for_each(
    ("channel", "n"),
    [
        (mb.channels.Distributed(epsilon=0.2, honest="0.8"), 100),
        (mb.channels.Distributed(epsilon=0.2, honest="0.8"), 7),
        (mb.channels.SplitAndMix(epsilon=0.2, honest="0.7"), 33),
        (mb.channels.Distributed(epsilon=0.2), 33),
    ],
    ids=str,
)
def test_bounds_on_the_draws_of_a_cohort_of_which_n_are_left(channel, n):
    """Of m users n may be left if no more are counted on; then n noise shares are in the sum, or fewer."""
    law = channel.law()
    counted = [channel.counted_on(m) for m in range(n, 4 * n) if channel.counted_on(m) <= n]
    found = [added / each for each in counted for added in range(each, n + 1)]
    assert (min(found), max(found)) == (fewest_draws(law, n), draws_of_one(law, n))
    assert loses_draws(law) == (law.honest < 1)


def test_bounds_on_the_coins_of_a_cohort():
    channel = mb.channels.Shuffled(epsilon=1, honest="0.8")
    law = channel.law()
    assert (fewest_draws(law, 10), draws_of_one(law, 10)) == (channel.needed(), channel.coins())
    assert loses_draws(law)
    assert not loses_draws(mb.channels.Shuffled(epsilon=1).law())


def test_without_losses_nothing_changes():
    law, known = (
        Law(LAPLACE, scale=4.0, grid=1, per_release=1),
        ArmReleases(np.array([9.0, 5.0]), np.array([20, 10]), 2),
    )
    assert stand_in_noise(law, 20, 9.0) == (4.0, 1.0)
    assert log_allowance(law, known) == 0.0
    lossy = law._replace(honest=0.8)
    assert log_allowance(lossy, known) == log_excess(lossy, 20, 9.0) + log_excess(lossy, 10, 5.0) > 0.1
    assert log_excess(lossy, 1, 0.0) == 0.0, "of one user nobody may be lost"
