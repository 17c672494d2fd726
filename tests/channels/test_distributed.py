"""Distributed trust: a cohort's noise shares sum to the noise of one draw, whoever wraps around and whoever drops out.

Exact losses come from the wrapped pmf of the residues, which are all that the server sees. Seeds are fixed; under a
new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import inspect
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from maskedbandit.channels.codec import Grid, check_modulus, encode_reward
from maskedbandit.channels.distributed import Distributed
from maskedbandit.errors import InvalidValue, ModulusTooSmall
from maskedbandit.law import count_draws
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.privacy.sampling import polya
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import mean_is, same_distribution, seeded

FAR = 3000
Z = np.arange(-FAR, FAR + 1)
FIVE, TEN, EPSILON = 5, 10, Fraction(1, 5)


def residues(channel, total, n, survivors=None):
    """The distribution of the sum modulo m: rewards of `total` steps together, and the survivors' noise shares."""
    m, _ = channel.residues(n)
    draws = (n if survivors is None else survivors) / channel.counted_on(n)
    return np.bincount((Z + total) % m, weights=channel.release_noise(n).pmf(Z, draws), minlength=m)


def loss_of(channel, n, survivors=None):
    """The largest log-ratio of the residues of two cohorts that differ in one reward, 0 against 1."""
    g, worst = channel.steps(n), 0.0
    for others in {0, (n - 1) * g}:
        p, q = residues(channel, others, n, survivors), residues(channel, others + g, n, survivors)
        seen = (p > 1e-250) & (q > 1e-250)
        worst = max(worst, float(np.max(np.abs(np.log(p[seen] / q[seen])))))
    return worst


def cohort(channel, size, devices=TEN, n=TEN, seed=12, reward=0):
    """Noise in steps, released by whole cohorts: the sum of what `devices` of n devices send, analyzed."""
    bits, g, offer = seeded(seed), channel.steps(n), channel.offer(n)
    totals = [
        channel.analyze(sum(channel.randomize(reward, offer, bits) for _ in range(devices)), offer, bits, answers=n)
        for _ in range(size)
    ]
    return np.rint((np.array(totals) - reward * devices) * g).astype(int)


@dataclass(frozen=True)
class Swapped(DiscreteLaplace):
    """The classic blunder: b instead of 1 - b in the Pólya noise shares."""

    def stretch(self, factor):
        return Swapped(self.scale * factor)

    def noise_shares(self, size, n, bits):
        b = np.exp(-1 / float(self.scale))
        rate = Fraction(-np.log(1 - b)).limit_denominator(1000)
        return [polya(Fraction(1, n), rate, bits) - polya(Fraction(1, n), rate, bits) for _ in range(size)]


class Quick(Distributed):
    """The same channel, but it computes the numbers of a cohort once."""

    __hash__ = object.__hash__
    steps, release_noise = cache(Distributed.steps), cache(Distributed.release_noise)
    residues, counted_on = cache(Distributed.residues), cache(Distributed.counted_on)


ONE = Quick(1)  # of scale 1 a missing noise share shows in the fewest cohorts


@pytest.fixture(scope="module")
def messages():
    """What five devices send in each of many cohorts, all rewards 0."""
    bits, offer = seeded(12), ONE.offer(FIVE)
    return np.array([[ONE.randomize(0, offer, bits) for _ in range(FIVE)] for _ in range(8000)])


class TestReleasedNoise:
    """The noise released by a whole cohort, through its devices and the analyzer, is discrete Laplace."""

    def analyzed(self, sums):
        offer = ONE.offer(FIVE)
        return np.array([round(ONE.analyze(total, offer, None, answers=FIVE)) for total in sums.tolist()])

    def passes(self, noise):
        """Variance and distribution."""
        b = np.exp(-1)
        same_distribution(noise, DiscreteLaplace(1).pmf)
        mean_is(noise.astype(float) ** 2, 2 * b / (1 - b) ** 2)

    @pytest.mark.slow
    def test_variance_and_distribution(self, messages):
        self.passes(self.analyzed(messages.sum(axis=1)))

    @pytest.mark.slow
    def test_four_of_five_noise_shares_are_caught(self, messages):
        with pytest.raises(AssertionError, match="another distribution"):
            self.passes(self.analyzed(messages[:, 1:].sum(axis=1)))

    @pytest.mark.slow
    def test_b_swapped_with_1_minus_b_is_caught(self):
        with pytest.raises(AssertionError, match="another distribution"):
            self.passes(cohort(Quick(1, noise=Swapped()), 800))

    @pytest.mark.slow
    def test_on_a_finer_grid_with_every_reward_one(self):
        channel = Quick(EPSILON, grid=Grid(fineness=Fraction(5)))
        noise = cohort(channel, 1500, reward=1)
        same_distribution(noise, DiscreteLaplace(channel.steps(TEN) / EPSILON).pmf)

    @pytest.mark.slow
    def test_exactly_the_users_that_are_counted_on_make_one_draw(self):
        channel = Quick(EPSILON, honest="0.6")
        assert channel.counted_on(TEN) == 6
        same_distribution(cohort(channel, 3000, devices=6), DiscreteLaplace(1 / EPSILON).pmf)

    @pytest.mark.slow
    @pytest.mark.parametrize("noise", [Skellam(), DiscreteGaussian()])
    def test_other_noises(self, noise):
        channel = Quick(EPSILON, noise)
        same_distribution(cohort(channel, 1500), channel.release_noise(TEN).pmf)

    def test_one_message_alone_is_nearly_silent(self):
        """The noise shares of one device do not protect it: nothing but the sum may be seen."""
        channel, bits = Distributed(EPSILON), seeded(4)
        offer = channel.offer(1000)
        assert np.mean([channel.randomize(0, offer, bits) == 0 for _ in range(2000)]) > 0.9


class TestLoss:
    @for_each("n", [1, 2, 3, 10])
    @for_each("epsilon", ["0.1", "0.5", "2"])
    @for_each("grid", [1, 4, "paper"])
    @for_each("modulus", ["power of two", "tight"])
    def test_a_release_costs_at_most_epsilon(self, n, epsilon, grid, modulus):
        channel = Distributed(epsilon, grid=grid, modulus=modulus)
        assert channel.loss(n).pure_epsilon == Fraction(epsilon)
        assert loss_of(channel, n) == pytest.approx(float(Fraction(epsilon)), rel=1e-6)

    @for_each("noise", [Skellam(), DiscreteGaussian()])
    @for_each("honest", [1, "0.5"])
    def test_renyi_losses_bound_the_release(self, noise, honest):
        """The exact sums, for Gaussian noise shares too, with no more survivors than are counted on."""
        channel, n = Distributed("0.2", noise, honest=honest, modulus="tight"), 4
        survivors = channel.counted_on(n)
        mass = one = channel.release_noise(n).pmf(Z, 1 / survivors)
        for _ in range(survivors - 1):
            mass = np.convolve(mass, one)[FAR : 3 * FAR + 1]
        m, _ = channel.residues(n)
        p, q = (np.bincount((Z + total) % m, weights=mass, minlength=m) for total in (0, 1))
        for order, bound in zip(ORDERS, channel.loss(n).curve, strict=True):
            if order <= 8:
                a = float(order)
                exact = np.log(np.sum(p**a * q ** (1 - a))) / (a - 1)
                assert exact * (1 - 1e-7) <= float(bound)

    @for_each("failure", [0.999, 0.5, 1e-3])
    @for_each("epsilon", ["0.1", "1"])
    def test_a_wrap_around_harms_utility_never_privacy(self, failure, epsilon):
        channel, n = Distributed(epsilon, modulus="tight", failure=failure), 2
        assert loss_of(channel, n) <= float(Fraction(epsilon)) * (1 + 1e-9)
        tenth = replace(channel, epsilon=10 * Fraction(epsilon))  # the control: noise of a tenth of the scale
        assert loss_of(tenth, n) > float(Fraction(epsilon)) * 1.1

    @for_each("m", [3, 5, 8])
    def test_privacy_holds_for_any_modulus(self, m):
        """Even for one that the channel refuses, because sums would not fit."""

        class Small(Distributed):
            def residues(self, n):
                return m, 0

        with pytest.raises(ModulusTooSmall):
            Distributed(EPSILON, modulus=m).residues(TEN)
        assert 0 < loss_of(Small(EPSILON), TEN) <= float(EPSILON) * (1 + 1e-9)

    @pytest.mark.slow
    def test_a_wrapped_estimate_is_biased(self):
        """Of ten rewards of 0, the noise below the window comes back at its other end."""
        narrow = cohort(Quick(EPSILON, modulus="tight", failure=0.5), 1500) / 1.0
        with pytest.raises(AssertionError, match="mean"):
            mean_is(narrow, 0)
        mean_is(cohort(Quick(EPSILON), 1500) / 1.0, 0)


class TestDropouts:
    @pytest.mark.slow
    @for_each(("honest", "n"), [("0.8", 10), ("0.5", 3), ("2/3", 30), ("0.9", 64)])
    def test_as_many_as_are_counted_on_cost_epsilon_and_one_fewer_costs_more(self, honest, n):
        channel = Distributed("0.5", honest=honest)
        counted = channel.counted_on(n)
        assert loss_of(channel, n, survivors=counted) == pytest.approx(0.5, rel=1e-6)
        assert loss_of(channel, n, survivors=counted - 1) > 0.5 * 1.01
        for survivors in (counted + 1, n):
            assert loss_of(channel, n, survivors=survivors) <= 0.5 * (1 + 1e-9)

    @for_each(
        ("honest", "n", "counted"),
        [(1, 10, 10), ("0.9", 10, 9), (0.9, 11, 10), ("1/3", 3, 1), ("1/3", 4, 2), (0.1, 30, 3), ("0.001", 1, 1)],
    )
    def test_counted_on_is_the_ceiling_of_the_honest_part(self, honest, n, counted):
        assert Distributed(honest=honest).counted_on(n) == counted

    def test_never_fewer_than_the_honest_part(self):
        for honest in (Fraction(1, 3), Fraction(7, 10), Fraction(99, 100)):
            channel = Distributed(honest=honest)
            assert all(0 <= channel.counted_on(n) - honest * n < 1 for n in range(1, 500))

    @pytest.mark.slow
    def test_the_law_knows_of_the_surplus(self):
        channel = Distributed("0.5", honest="0.8")
        assert count_draws(channel.law(), 1, 10) == 1.25
        noise = cohort(Quick(EPSILON, honest="0.5"), 2000)
        same_distribution(noise, lambda z: DiscreteLaplace(1 / EPSILON).pmf(z, 2.0))


class TestValues:
    @for_each("honest", [0, -0.5, 1.01, "most", None])
    def test_honest(self, honest):
        with pytest.raises(InvalidValue, match="honest"):
            Distributed(honest=honest)

    @for_each("failure", [0, 1, -1, float("nan")])
    def test_failure(self, failure):
        with pytest.raises(InvalidValue, match="failure"):
            Distributed(failure=failure)

    @for_each("modulus", ["wide", 0, 1, -8, 2.5, None, True])
    def test_modulus(self, modulus):
        with pytest.raises(InvalidValue, match="modulus"):
            Distributed(modulus=modulus)

    def test_tail(self):
        with pytest.raises(InvalidValue, match="tail"):
            Distributed(tail="short")

    def test_narrow_gaussian_noise_shares_are_refused(self):
        channel = Distributed(1, DiscreteGaussian())
        offer = Distributed(1, DiscreteGaussian(2)).offer(2)
        for refused in (lambda: channel.loss(2), lambda: channel.randomize(0, offer, seeded(1))):
            with pytest.raises(InvalidValue, match="finer grid"):
                refused()
        Distributed(1, DiscreteGaussian(), grid=2).loss(2)


def test_devices_use_no_float():
    for exact in (Distributed.randomize, Distributed.offer, Distributed.counted_on, check_modulus, encode_reward):
        assert offences(inspect.getsource(exact).replace("reward: float", "reward")) == []
