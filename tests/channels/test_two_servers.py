"""Two servers: one draw is what protects, two are what the release carries, and who is lost does not matter.

Exact losses come from the wrapped pmf of the residues, which are all that a server sees besides uniform value shares.
Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import inspect
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.backends.ideal import Ideal
from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.channels.codec import Grid, fit_margin
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import Implausible, InvalidValue
from maskedbandit.law import count_draws
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.renyi_divergences import ORDERS
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import mean_is, same_distribution, seeded

FAR = 3000
Z = np.arange(-FAR, FAR + 1)
NOISES = [DiscreteLaplace(), Skellam(), DiscreteGaussian()]


def residues(channel, total, n, count):
    """The distribution of a sum modulo m with so many draws of noise."""
    m, _ = channel.residues(n)
    mass = one = channel.release_noise(n).pmf(Z)
    for _ in range(count - 1):
        mass = np.convolve(mass, one)[FAR : 3 * FAR + 1]
    return np.bincount((Z + total) % m, weights=mass, minlength=m)


def loss_of(channel, n, count=1, g=None):
    """The largest log-ratio for cohorts that differ in one reward, 0 against 1."""
    g, worst = g or channel.steps(n), 0.0
    for others in {0, (n - 1) * g}:
        p, q = residues(channel, others, n, count), residues(channel, others + g, n, count)
        seen = (p > 1e-250) & (q > 1e-250)
        worst = max(worst, float(np.max(np.abs(np.log(p[seen] / q[seen])))))
    return worst


def released(channel, size, rewards, seed=4):
    """Noise in steps of whole cohorts, of whom some may be lost, and how many were told."""
    bits, offer, noise, counted = seeded(seed), channel.offer(len(rewards)), [], []
    for _ in range(size):
        sent = [channel.randomize(reward, offer, bits) for reward in rewards]
        total, survivors, _ = channel.aggregate(sent, offer, bits)
        here = sum(rewards[user] for user in survivors)
        noise.append(round((channel.analyze(total, offer, bits, answers=offer.n) - here) * offer.steps))
        counted.append(len(survivors))
    return np.array(noise), np.array(counted)


class TestLoss:
    @pytest.mark.sparing(1)
    @for_each("n", [1, 2, 10])
    @for_each("epsilon", ["0.1", "0.5", "2"])
    @pytest.mark.parametrize("grid", [1, 4, "paper"])
    def test_one_draw_costs_epsilon(self, n, epsilon, grid):
        """Against the other server, who takes its own draw off."""
        channel = TwoServers(epsilon, grid=grid)
        assert channel.loss(n).pure_epsilon == Fraction(epsilon)
        assert loss_of(channel, n) == pytest.approx(float(Fraction(epsilon)), rel=1e-6)
        assert loss_of(channel, n, count=2) <= float(Fraction(epsilon)) * (1 + 1e-9)

    def test_half_of_the_noise_of_each_costs_more(self):
        """The control: a budget that both servers share, as if nobody knew either draw."""
        channel = TwoServers("0.5")
        assert loss_of(replace(channel, epsilon=1), 3) > 0.99
        assert loss_of(replace(channel, noise=DiscreteLaplace(Fraction(1, 2))), 3) > 0.99

    @for_each("noise", [Skellam(), DiscreteGaussian()])
    def test_renyi_losses_bound_one_draw(self, noise):
        channel, n = TwoServers("0.2", noise), 4
        p, q = (residues(channel, total, n, 1) for total in (0, channel.steps(n)))
        for order, bound in zip(ORDERS, channel.loss(n).curve, strict=True):
            if order <= 8:
                a = float(order)
                assert np.log(np.sum(p**a * q ** (1 - a))) / (a - 1) * (1 - 1e-7) <= float(bound)

    def test_does_not_depend_on_who_is_lost(self):
        for channel in (TwoServers("0.3"), TwoServers("0.3", backend=SealedShares("0.9"))):
            assert [channel.loss(n).pure_epsilon for n in (1, 2, 10**6)] == [Fraction(3, 10)] * 3

    def test_every_attempt_costs_its_price(self):
        class Stubborn(SealedShares):
            attempts = 3

        assert TwoServers("0.3", backend=Stubborn()).loss(5).pure_epsilon == Fraction(9, 10)


class TestReleases:
    @pytest.mark.slow
    @for_each("noise", NOISES, ids=lambda noise: type(noise).__name__)
    def test_carry_two_draws(self, noise):
        channel = TwoServers("0.5", noise, grid=3)
        whole = channel.release_noise(4)
        mass = np.convolve(whole.pmf(Z), whole.pmf(Z))
        found, _ = released(channel, 1000, [0, 1, 1, 1])
        same_distribution(found, lambda z: mass[np.clip(z + 2 * FAR, 0, 4 * FAR)])
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(found, whole.pmf)
        assert count_draws(channel.law(), 1, 4) == 2

    @pytest.mark.slow
    def test_of_the_devices_that_are_left(self):
        """Neither the noise nor the modulus depends on how many these are."""
        noise, counted = released(TwoServers("0.5", backend=SealedShares("0.5")), 60, [1] * 30)
        same_distribution(noise, lambda z: DiscreteLaplace(2).pmf(z, 2.0))
        mean_is(counted, 15.0)
        assert min(counted) < 12 < 18 < max(counted)

    def test_rewards_are_sent_without_noise(self):
        channel, bits = TwoServers("0.1", grid=5), seeded(1)
        offer = channel.offer(3)
        assert {channel.randomize(0.4, offer, bits) for _ in range(100)} == {2}
        assert {channel.randomize(0.5, offer, bits) for _ in range(100)} == {2, 3}


class TestRoom:
    @for_each("noise", NOISES, ids=lambda noise: type(noise).__name__)
    @for_each("failure", [0.5, 1e-3, 1e-12])
    @for_each("grid", [1, 7])
    def test_holds_two_draws(self, noise, failure, grid):
        channel = TwoServers("0.2", noise, grid=grid, failure=failure)
        m, margin = channel.residues(5)
        one = channel.release_noise(5).pmf(Z)
        two = np.convolve(one, one)[2 * FAR :]
        assert 2 * two[margin + 1 :].sum() <= failure
        assert m >= 5 * grid + 2 * margin + 1
        assert m & (m - 1) == 0

    def test_room_for_one_draw_does_not_hold_two(self):
        channel = TwoServers("1/32", failure=1e-5)
        _, narrow = fit_margin(channel.parameters(), channel.law(), 9, 1, 1.0)
        assert 2 * DiscreteLaplace(32).pmf(np.arange(narrow + 1, 4000), 2.0).sum() > 1e-5
        assert (narrow, channel.residues(9)[1]) == (369, 552)  # the least margin for two draws is 434

    def test_lab_and_channel_agree_on_the_modulus(self):
        channel = TwoServers("0.3", grid=Grid(fineness=Fraction(2)))
        for n in (1, 7, 1000, 10**6):
            m, margin = channel.residues(n)
            g = channel.steps(n)
            law, numbers = channel.law(), (channel.parameters(), channel.memory(1))
            for total in (n * g + margin, -margin):
                assert channel.analyze(total, channel.offer(n), seeded(1), answers=n) == total / g
                assert channel.perturb(*numbers, law, 0, float(total), n, 0, None) == total / g
            with pytest.raises(Implausible):
                channel.analyze(n * g + margin + 1, channel.offer(n), seeded(1), answers=n)
            wrapped = (n * g + margin + 1 - m) / g
            assert channel.perturb(*numbers, law, 0, n * g + margin + 1.0, n, 0, None) == wrapped


class TestValues:
    @for_each("failure", [0, 1, -1, float("nan"), "never"])
    def test_failure(self, failure):
        with pytest.raises(InvalidValue, match="failure"):
            TwoServers(failure=failure)

    @for_each("backend", [None, "ideal", Ideal, SecAgg()])
    def test_backend(self, backend):
        with pytest.raises(InvalidValue, match="backend"):
            TwoServers(backend=backend)
        with pytest.raises(InvalidValue, match="backend"):
            Distributed(backend=SealedShares())

    @for_each("n", [0, -1, 1.5, None])
    def test_cohorts(self, n):
        with pytest.raises(InvalidValue, match="cohort"):
            TwoServers().offer(n)

    def test_its_protocol_is_told_the_noise(self):
        """Parties with other terms cannot take part in one cohort."""
        named = []

        class Listening(Ideal):
            def noisy_sum(self, values, modulus, largest, noise, cohort, bits):
                named.append(cohort)
                return super().noisy_sum(values, modulus, largest, noise, cohort, bits)

        for epsilon, grid, cohort in ((1, 1, b"a"), (2, 1, b"a"), (1, 2, b"a"), (1, 1, b"b")):
            channel = TwoServers(epsilon, grid=grid, backend=Listening())
            channel.aggregate([1, 0], channel.offer(2), seeded(1), cohort)
        assert len(set(named)) == 4


def test_devices_and_servers_use_no_float():
    for exact in (TwoServers.randomize, TwoServers.offer, TwoServers.aggregate):
        source = inspect.getsource(exact).replace("reward: float", "reward")
        assert [what for _, what in offences(source)] == []
