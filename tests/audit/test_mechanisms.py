"""Every mechanism costs what its channel says: the pair for two neighbours, exactly.

Neighbours differ in one reward, 1 or 0. All other rewards shift both pair by the same steps, so they may be 0. Losses
that are pure are met with equality; others are stated by a Rényi curve, which is a little above what is needed.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.channels.central import Central
from maskedbandit.channels.central_sum import CentralSum
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local import Local
from maskedbandit.channels.local_sum import LocalSum
from maskedbandit.channels.response import Response
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.loss import Loss
from maskedbandit.reports.audit.bounds import hockey_stick_excess, largest_ratio, needed_epsilon
from maskedbandit.reports.audit.exact import noise_sums, released, released_bit, repeated, shift_mass
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

DELTA = 1e-5
GAUSSIANS = [Skellam(), DiscreteGaussian()]
FINE = Grid(fineness=Fraction(4))


def check_pure(pair: tuple[np.ndarray, np.ndarray], loss: Loss) -> None:
    """A pure loss is exactly the largest ratio."""
    found = largest_ratio(*pair)
    assert found <= loss.epsilon() * (1 + 1e-6), f"needs ε = {found}, and says {loss}"
    assert found >= loss.epsilon() * (1 - 1e-6), f"needs ε = {found} only, and says {loss}"


def check_curve(pair: tuple[np.ndarray, np.ndarray], loss: Loss, slack: float = 1.12) -> None:
    """A loss at delta is enough, and not much more than enough."""
    needed, said = needed_epsilon(*pair, DELTA), loss.epsilon(DELTA)
    assert needed <= said, f"needs ε = {needed}, and says {said}"
    assert said <= slack * needed, f"needs ε = {needed} only, and says {said}"


@for_each("grid", [1, 3, FINE], ids=["one step", "three steps", "fine"])
@for_each("epsilon", ["0.1", "0.5", "2"])
def test_pure_losses_are_exact(epsilon, grid):
    for kind in (Central, CentralSum, Local, LocalSum):
        check_pure(released(kind(epsilon, grid=grid), 5), kind(epsilon, grid=grid).loss(5))
    check_pure(released_bit(Response(epsilon)), Response(epsilon).loss(5))


@for_each(("n", "honest"), [(1, 1), (4, 1), (5, "0.8"), (6, "0.34")])
@for_each("epsilon", ["0.1", "1"])
def test_pure_losses_are_exact_with_the_fewest_honest_survivors(epsilon, n, honest):
    channel = Distributed(epsilon, honest=honest)
    check_pure(released(channel, n), channel.loss(n))


@for_each("noise", GAUSSIANS, ids=["skellam", "gaussian"])
@for_each("epsilon", ["0.1", "0.5", "1"])
def test_other_losses_are_enough(epsilon, noise):
    for channel in (Central(epsilon, noise), Local(epsilon, noise, FINE), Central(epsilon, noise, 3)):
        check_curve(released(channel, 5), channel.loss(5))


@for_each("noise", GAUSSIANS, ids=["skellam", "gaussian"])
@for_each(("n", "honest"), [(4, 1), (6, "0.34")])
def test_other_losses_are_enough_with_the_fewest_honest_survivors(n, honest, noise):
    channel = Distributed("0.2", noise, honest=honest)
    check_curve(released(channel, n), channel.loss(n))


@pytest.mark.sparing(1)
@pytest.mark.parametrize("noise", [DiscreteLaplace(), *GAUSSIANS], ids=["laplace", "skellam", "gaussian"])
def test_the_distribution_that_is_audited_is_that_of_the_devices(noise):
    """Honest survivors alone, through `randomize` and `analyze`."""
    channel, bits, n = Distributed("0.3", noise, honest="0.5"), seeded(5), 6
    offer = channel.offer(n)
    mass = noise_sums(channel.release_noise(n), 3, 3, 200)
    sums = [
        channel.analyze(sum(channel.randomize(0, offer, bits) for _ in range(3)), offer, bits, answers=3)
        for _ in range(1000)
    ]
    same_distribution(np.rint(sums).astype(int), lambda z: np.where(abs(z) <= 200, mass[np.clip(z + 200, 0, 400)], 0.0))


# --- broken mechanisms, each with the loss that it would claim -----------------------------------------------


MUTANTS = {
    "noise redrawn for the same sum": lambda noise: (repeated(released(Central(1, noise), 1)), Central(1, noise)),
    "budget multiplied by the number of arms": lambda noise: (released(Central(5, noise), 1), Central(1, noise)),
    "noise not stretched by the steps in a reward": lambda noise: (
        shift_mass(noise_sums(noise, 1, 1, 200), 3),
        Central(1, noise, 3),
    ),
    "noise shares for all users, and a third are honest": lambda noise: (
        released(Distributed(1, noise, 5), 3, survivors=1),
        Distributed(1, noise, 5, honest="0.33"),
    ),
    "an unfinished batch, with the noise shares that are there": lambda noise: (
        released(Distributed(1, noise, 5), 4, survivors=3),
        Distributed(1, noise, 5),
    ),
    "no noise in the first release": lambda noise: ((np.array([1.0, 0.0]), np.array([0.0, 1.0])), Central(1, noise)),
}


@for_each("broken", MUTANTS)
@for_each("noise", [DiscreteLaplace(), *GAUSSIANS], ids=["laplace", "skellam", "gaussian"])
def test_broken_mechanisms_cost_more_than_they_claim(broken, noise):
    pair, channel = MUTANTS[broken](noise)
    with pytest.raises(AssertionError, match=r"needs ε = (\S+), and says"):
        (check_pure if isinstance(noise, DiscreteLaplace) else check_curve)(pair, channel.loss(3))


def test_reusing_a_reward_in_two_releases_costs_both():
    """The loss of two releases is their sum, which the pair of pair needs in full."""
    pair, once = repeated(released(Central("0.5"), 1)), Central("0.5").loss(1)
    check_pure(pair, once + once)
    with pytest.raises(AssertionError, match="and says"):
        check_pure(pair, once)


def test_flips_for_a_budget_that_is_divided_the_wrong_way_cost_more():
    with pytest.raises(AssertionError, match="and says"):
        check_pure(released_bit(Response(5)), Response(1).loss(1))


def test_a_loss_that_says_too_much_is_rejected():
    """The other side: a budget divided by the number of arms, though every user has one arm, is not exact."""
    with pytest.raises(AssertionError, match="only"):
        check_pure(released(Central("0.2"), 1), Central(1).loss(1))
    with pytest.raises(AssertionError, match="only"):
        check_curve(released(Central("0.2", Skellam()), 1), Central(1, Skellam()).loss(1))


# --- the audit itself ----------------------------------------------------------------------------------------


def test_needed_epsilon_is_where_delta_is_met():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    assert largest_ratio(p, q) == pytest.approx(math.log(2.5))
    assert hockey_stick_excess(p, q, 0.0) == pytest.approx(0.3)
    assert needed_epsilon(p, q, 0.1) == pytest.approx(math.log(2))
    assert needed_epsilon(p, q, 0.3) == pytest.approx(0, abs=1e-9)
    assert largest_ratio(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == math.inf
    assert needed_epsilon(np.array([1.0, 0.0]), np.array([0.5, 0.5]), 0.1) == math.inf


def test_every_channel_is_audited():
    from maskedbandit import channels

    audited = {Central, CentralSum, Local, LocalSum, Distributed, Response}
    # without privacy, or audited with their own tests
    elsewhere = {"raw", "tree", "shuffled", "pure_shuffled", "split_and_mix", "two_servers"}
    rest = {name for name in channels.room if channels.room[name] not in audited}
    assert rest <= elsewhere, f"nothing audits {sorted(rest - elsewhere)}"
    assert all(issubclass(each, Channel) for each in audited)
