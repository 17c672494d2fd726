"""Local trust over a secure sum: a message costs epsilon, and the sum of many far less, but for its pure loss.

Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import inspect
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.backends.secagg import SecAgg
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local import Local
from maskedbandit.channels.local_sum import LocalSum
from maskedbandit.law import count_draws
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.renyi_divergences import ORDERS
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

NOISES = [DiscreteLaplace(), Skellam(), DiscreteGaussian()]
FAR = 3000
Z = np.arange(-FAR, FAR + 1)


def name(noise):
    return type(noise).__name__


def noise_of(channel, size, n=6):
    """Noise in steps, of whole cohorts through the devices; all rewards are 1."""
    bits, offer, found = seeded(5), channel.offer(n), []
    for cohort in range(size):
        sent = [channel.randomize(1, offer, bits) for _ in range(n)]
        total = channel.aggregate(sent, offer, bits, b"cohort %d" % cohort).total
        found.append(round((channel.analyze(total, offer, bits, answers=n) - n) * offer.steps))
    return found


def residues(channel, total, n, draws):
    """The distribution of the sum modulo m under so many draws."""
    m, _ = channel.residues(n)
    return np.bincount((Z + total) % m, weights=channel.release_noise(n).pmf(Z, float(draws)), minlength=m)


def renyi(p, q, order):
    seen = (p > 1e-250) & (q > 1e-250)
    p, q = np.log(p[seen]), np.log(q[seen])
    return np.logaddexp.reduce(order * p + (1 - order) * q) / (order - 1)


class TestMessage:
    @for_each("noise", NOISES, ids=name)
    def test_costs_what_it_costs_under_local_trust(self, noise):
        made = LocalSum("0.3", noise, grid=2)
        assert made.loss(6) == Local("0.3", noise, grid=2).loss(6)
        assert made.law() == Local("0.3", noise, grid=2).law()

    @pytest.mark.slow
    def test_is_a_whole_draw_modulo_m(self):
        channel, bits = LocalSum(1, grid=2), seeded(2)
        offer = channel.offer(6)
        sent = np.array([channel.randomize(0, offer, bits) for _ in range(3000)])
        m = offer.modulus
        same_distribution(np.where(sent > m // 2, sent - m, sent), DiscreteLaplace(2).pmf)
        shares = Distributed(1, grid=2)
        sent = np.array([shares.randomize(0, shares.offer(6), bits) for _ in range(3000)])
        with pytest.raises(AssertionError, match="another distribution"):  # a noise share hides little
            same_distribution(
                np.where(sent > shares.offer(6).modulus // 2, sent - shares.offer(6).modulus, sent),
                DiscreteLaplace(2).pmf,
            )


class TestSum:
    @pytest.mark.slow
    def test_has_a_draw_of_each_device(self):
        channel = LocalSum(1)
        assert count_draws(channel.law(), 1, 6) == 6
        same_distribution(noise_of(channel, 2000), lambda z: DiscreteLaplace(1).pmf(z, 6.0))
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(noise_of(Distributed(1), 2000), lambda z: DiscreteLaplace(1).pmf(z, 6.0))

    @for_each("noise", NOISES, ids=name)
    @for_each("honest", [1, "0.5", "0.1"])
    def test_its_loss_bounds_the_residues_of_the_fewest_honest(self, noise, honest):
        """All that the server sees, with the noise of those who are not honest known to it."""
        n, channel = 10, LocalSum("0.5", noise, grid=4, honest=honest)
        draws = channel.counted_on(n)
        p, q = (residues(channel, total, n, draws) for total in (0, channel.steps(n)))
        loss = channel.loss_of_sum(n)
        for order, bound in zip(ORDERS, loss.curve, strict=True):
            if order <= 17:
                assert renyi(p, q, float(order)) <= float(bound) * (1 + 1e-6) + 1e-13
        assert float(max(np.abs(np.log(p / q)))) <= float(loss.pure_epsilon) * (1 + 1e-9)

    def test_with_noise_of_one_fewer_it_costs_more(self):
        """The control of the above."""
        channel = LocalSum("0.5", Skellam(), grid=4, honest="0.5")
        p, q = (residues(channel, total, 10, 4) for total in (0, 4))
        assert renyi(p, q, 2.0) > float(channel.loss_of_sum(10).curve[ORDERS.index(Fraction(2))])

    def test_its_renyi_loss_falls_as_one_over_the_draws_and_its_pure_loss_does_not(self):
        for n in (100, 1000, 10_000):
            loss = LocalSum(1).loss_of_sum(n)
            assert loss.pure_epsilon == 1
            assert float(loss.curve[ORDERS.index(Fraction(2))]) == pytest.approx(2 / (2 * 2 * n), rel=0.15)
            assert loss.epsilon(1e-6) < 4 / math.sqrt(n)

    def test_who_trusts_nobody_counts_on_one(self):
        """With one honest device the sum costs what its message costs."""
        assert LocalSum("0.5", honest="0.1").loss_of_sum(10) == LocalSum("0.5").loss(10)

    def test_every_attempt_costs_its_price(self):
        one, three = (LocalSum("0.5", backend=SecAgg(attempts=attempts)) for attempts in (1, 3))
        assert three.loss(50) == 3 * one.loss(50)
        assert three.loss_of_sum(50) == 3 * one.loss_of_sum(50)


class TestModulus:
    @for_each("n", [1, 2, 5, 100])
    @for_each("failure", [1e-3, 1e-12])
    def test_holds_all_draws(self, n, failure):
        channel = LocalSum("0.5", failure=failure)
        m, margin = channel.residues(n)
        assert 2 * channel.release_noise(n).pmf(np.arange(margin + 1, 4 * margin), float(n)).sum() <= failure
        assert m >= n + 2 * margin + 1

    @for_each(("n", "constant", "enough"), [(2, 1.4, False), (8, 1.4, False), (100, 1, False), (100, 1.6, True)])
    def test_the_margin_of_the_paper_needs_a_constant_and_a_large_cohort(self, n, constant, enough):
        """Theorem 6: tau = c (g / epsilon) sqrt(2 n ln(2/p)), for n of at least 2 ln(2/p), which are 30 here."""
        p, scale = 1e-6, 10
        tau = math.ceil(constant * scale * math.sqrt(2 * n * math.log(2 / p)))
        beyond = 2 * DiscreteLaplace(scale).pmf(np.arange(tau + 1, 6 * tau), float(n)).sum()
        assert (beyond <= p) == enough


def test_a_device_alone_is_hidden_where_noise_shares_are_not():
    """Why anybody would take it: all others collude with the server."""
    n = 100
    local, shares = LocalSum(1, honest="0.01"), Distributed(1)
    assert local.loss_of_sum(n).epsilon() == 1
    assert shares.loss_left(n, 1).epsilon() > 5


def test_devices_use_no_float():
    assert offences(inspect.getsource(LocalSum.randomize).replace("reward: float", "reward")) == []


def test_real_rounds_open_the_sum():
    channel = replace(LocalSum(1), backend=SecAgg(smallest=1))
    assert max(abs(each) for each in noise_of(channel, 3)) < 60
