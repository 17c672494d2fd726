"""Central and local trust: the exact distribution of what leaves, and that its loss is what the channel says.

Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import inspect
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from maskedbandit.channels.central import Central
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.local import Local
from maskedbandit.errors import InvalidValue
from maskedbandit.noise_bounds import log_mgf
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

NOISES = [DiscreteLaplace(), Skellam(), DiscreteGaussian()]
GRIDS = [1, 3, Grid(fineness=Fraction(4))]
FAR = 700
Z = np.arange(-FAR, FAR + 1)


def rounded(rewards, g):
    """The distribution of the sum of rewards, each rounded at random to a multiple of 1/g: on 0, 1, 2, ... steps."""
    mass = np.array([1.0])
    for reward in rewards:
        whole, part = divmod(Fraction(reward) * g, 1)
        mass = np.convolve(mass, [0.0] * int(whole) + [float(1 - part), float(part)])
    return mass


def released(channel, rewards, counts):
    """The distribution, on Z, of the sum in steps, under the sum of `counts` draws of the cohort's noise."""
    n = len(rewards)
    bits, noise = rounded(rewards, channel.steps(n)), channel.release_noise(n).pmf(Z, counts)
    return np.convolve(bits, noise)[FAR - FAR : 2 * FAR + 1]


def log_ratio(p, q):
    p, q = p[60:-60], q[60:-60]  # where the window of the noise cuts nothing off
    seen = (p > 1e-280) & (q > 1e-280)
    return float(np.max(np.abs(np.log(p[seen] / q[seen]))))


def renyi(p, q, order):
    p, q = p[60:-60], q[60:-60]  # where the window of the noise cuts nothing off
    seen = (p > 1e-280) & (q > 1e-280)
    log_p, log_q = np.log(p[seen]), np.log(q[seen])
    return np.logaddexp.reduce(order * log_p + (1 - order) * log_q) / (order - 1)


def neighbours(n):
    """Cohorts that differ in the last reward; the others are what they are."""
    others = [0.3, 1, 0.5][: n - 1]
    return [([*others, 1], [*others, 0]), ([*others, 0.9], [*others, 0.2])]


@for_each("grid", GRIDS)
@for_each("n", [1, 2, 3])
@for_each("epsilon", ["0.1", "0.5", "1"])
class TestLoss:
    def test_central_laplace_costs_epsilon(self, epsilon, n, grid):
        """A release of the cohort; equal to the loss when the rewards are as far apart as they can be."""
        channel = Central(epsilon, grid=grid)
        (ends, inner) = (log_ratio(*(released(channel, rewards, 1.0) for rewards in pair)) for pair in neighbours(n))
        assert inner < ends <= channel.loss(n).pure_epsilon * (1 + 1e-9)
        assert ends == pytest.approx(float(channel.loss(n).pure_epsilon), rel=1e-6)

    def test_local_laplace_costs_epsilon(self, epsilon, n, grid):
        """What one device sends, on the grid of its cohort of n."""
        channel = Local(epsilon, grid=grid)
        g, noise = channel.steps(n), channel.release_noise(n).pmf(Z)
        p, q = (np.convolve(rounded([reward], g), noise)[: Z.size] for reward in (1, 0))
        assert log_ratio(p[: Z.size - g], q[: Z.size - g]) == pytest.approx(float(Fraction(epsilon)), rel=1e-6)
        assert channel.loss(n).pure_epsilon == Fraction(epsilon)

    @pytest.mark.slow
    @for_each("noise", NOISES[1:], ids=["skellam", "gaussian"])
    def test_renyi_losses_bound_the_release(self, epsilon, n, grid, noise):
        channel = Central(epsilon, noise, grid)
        for pair in neighbours(n):
            p, q = (released(channel, rewards, 1.0) for rewards in pair)
            for order, bound in zip(ORDERS, channel.loss(n).curve, strict=True):
                if order <= 8:
                    assert float(bound) >= renyi(p, q, float(order)) * (1 - 1e-8)
        assert channel.loss(n) == Local(epsilon, noise, grid).loss(n)


def test_the_loss_of_more_noise_is_below_the_release():
    """The control of both: a channel that forgot to stretch its noise by the steps in a reward."""
    channel, forgot = Central("0.5", grid=3), Central("0.5", grid=1)
    assert log_ratio(*(released(channel, rewards, 1.0) for rewards in ([1], [0]))) < 0.51
    noise = forgot.release_noise(1).pmf(Z)
    p, q = (np.convolve(rounded([reward], 3), noise)[: Z.size] for reward in (1, 0))
    assert log_ratio(p, q) > 1.4


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize(("channel", "counts"), [(Central, 1.0), (Local, 5.0)])
@pytest.mark.parametrize("grid", GRIDS[1:], ids=["fixed", "fine"])
class TestLaw:
    rewards = (0, 1, 0.5, 0.3, 0.75)

    @pytest.mark.sparing(2)
    def test_a_cohort_through_the_devices(self, noise, channel, counts, grid):
        channel, bits = channel("0.2", noise, grid), seeded(6)
        n, g, offer, p = 5, channel.steps(5), channel.offer(5), released(channel, self.rewards, counts)
        sums = [
            channel.analyze(
                sum(channel.randomize(reward, offer, bits) for reward in self.rewards), offer, bits, answers=n
            )
            * g
            for _ in range(120)
        ]
        same_distribution(
            np.rint(sums).astype(int), lambda z: np.where(abs(z) <= FAR, p[np.clip(z + FAR, 0, 2 * FAR)], 0)
        )

    def test_variance_is_the_curvature_of_the_moments(self, noise, channel, counts, grid):
        channel = channel("0.2", noise, grid)
        variance = channel.release_noise(5).pmf(Z, counts) @ Z**2 / channel.steps(5) ** 2
        assert 2 * log_mgf(channel.law(), 5, 1e-3) / 1e-6 == pytest.approx(variance, rel=1e-3)


@for_each(("channel", "noise"), list(product([Central, Local], NOISES)))
def test_noise_is_stretched_by_the_steps_and_by_epsilon(channel, noise):
    for epsilon, grid, n in product(["0.1", "2"], GRIDS, [1, 7, 100]):
        made = channel(epsilon, noise, grid)
        assert made.release_noise(n).scale == made.steps(n) / Fraction(epsilon)
        assert made.law().scale == pytest.approx(1 / float(Fraction(epsilon)))


def test_a_pure_loss_is_exact_in_the_sense_of_what_was_written():
    assert 10 * Central(epsilon=0.1).loss(50) == Loss.pure(0.1) * 10
    assert (10 * Local(epsilon=0.1).loss(50)).epsilon() == 1.0


@for_each(
    ("wrong", "name"),
    [({"noise": "laplace"}, "noise"), ({"noise": DiscreteLaplace}, "noise"), ({"grid": "fine"}, "grid")],
)
def test_wrong_values_are_named(wrong, name):
    with pytest.raises(InvalidValue, match=name):
        Central(**wrong)


@pytest.mark.slow
def test_narrow_gaussian_noise_of_a_cohort_is_drawn_one_by_one():
    """Where n discrete Gaussians are far from one, the lab still draws what the devices send."""
    channel, bits = Local(epsilon=3, noise=DiscreteGaussian()), seeded(9)
    offer = channel.offer(10)
    sums = [sum(channel.randomize(1, offer, bits) for _ in range(10)) - 10 for _ in range(1000)]
    same_distribution(np.array(sums), lambda z: channel.release_noise(10).pmf(z, 10.0))
    narrow = np.exp(-(Z**2.0) / (2 * 10 / 9))
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(
            np.array(sums), lambda z: np.where(abs(z) <= FAR, (narrow / narrow.sum())[np.clip(z + FAR, 0, 1400)], 0)
        )


@for_each("channel", [Central, Local])
def test_devices_use_no_float(channel):
    assert offences(inspect.getsource(channel.randomize).replace("reward: float", "reward")) == []
