"""DP-SE. Seeds are fixed; statistical tests fail a correct policy with probability 1e-9."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.regret.dpse import epoch_size
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.coverage import drops
from tests.policies.mutants import mutant
from tests.statistics import at_most, same_distribution

DPSE = mb.policies.DPSE
CENTRAL = mb.channels.Central(epsilon=1)
EQUAL = mb.Bernoulli([0.5, 0.5])


@for_each(
    ("epsilon", "lengths"),
    [
        (0.1, [2322, 8494, 35634, 147247, 603609]),
        (0.5, [1946, 8494, 35634, 147247, 603609]),
        (1, [1946, 8494, 35634, 147247, 603609]),
    ],
)
def test_epochs_of_five_arms(epsilon, lengths):
    law = mb.channels.Central(epsilon=epsilon).law()
    assert [epoch_size(law, 5, e, 1e-5) for e in (1, 2, 3, 4, 5)] == lengths


@for_each("epsilon", [0.001, 0.05, 3])
def test_epochs_are_those_of_the_paper(epsilon):
    """[SS19, Alg. 1]: R = 1 + floor(max{32 ln(8 A e^2 / p) / D^2, 8 ln(4 A e^2 / p) / (epsilon D)})."""
    law = mb.channels.Central(epsilon=epsilon).law()
    for arms, e, p in ((2, 1, 0.1), (10, 3, 1e-6), (3, 7, 0.01)):
        rewards = 32 * math.log(8 * arms * e**2 / p) * 4**e
        noise = 8 * math.log(4 * arms * e**2 / p) * 2**e / epsilon
        assert epoch_size(law, arms, e, p) == 1 + math.floor(max(rewards, noise))


@for_each("channel", [mb.channels.Local(epsilon=0.1), mb.channels.Response(epsilon=0.2)], ids=repr)
def test_epochs_are_the_least_on_channels_whose_noise_grows(channel):
    law, arms, p = channel.law(), 4, 0.01
    for e in (1, 2, 3):

        def enough(n: int, e: int = e) -> bool:
            needed = 8 * radius(law, 1, n, math.log(4 * arms * e**2 / p)) * 2**e
            return n >= 1 + math.floor(max(32 * math.log(8 * arms * e**2 / p) * 4**e, needed))

        n = epoch_size(law, arms, e, p)
        assert enough(n)
        assert not enough(n - 1)


def test_epochs_as_they_are_played():
    found = interpreted(DPSE(failure=0.01), CENTRAL, EQUAL, 20_000)
    assert [n for arm, n, _ in found.released if arm == 0] == [epoch_size(CENTRAL.law(), 2, e, 0.01) for e in (1, 2)]


@pytest.mark.slow
@for_each("channel", [mb.channels.Raw(), mb.channels.Central(epsilon=0.1)], ids=["raw", "central"])
def test_an_arm_as_good_as_the_best_leaves_with_probability_p(channel):
    at_most(drops(DPSE(failure=0.1), channel, 3, 200_000, runs=1000), 1000, 0.1)


def test_a_radius_that_is_too_small_is_rejected():
    """Negative control: half of the rewards' radius and none for the noise."""
    old = "math.sqrt(y / (2 * n)) + radius(law, 1, n, x) / n"

    class Hasty(DPSE):
        ask = mutant(DPSE.ask, old, "0.25 * math.sqrt(y / (2 * n))")

    with pytest.raises(AssertionError, match="more than"):
        at_most(drops(Hasty(failure=0.1), mb.channels.Central(epsilon=0.1), 3, 200_000, runs=300), 300, 0.1)


@for_each("unfinished", ["skip", "start"])
def test_an_epoch_that_cannot_finish_is_never_released(unfinished):
    first, second = (epoch_size(CENTRAL.law(), 2, e, 0.01) for e in (1, 2))
    policy = DPSE(failure=0.01, unfinished=unfinished)
    for horizon, whole in (
        (2 * first - 1, 0),
        (2 * first, 1),
        (2 * first + 2 * second - 1, 1),
        (2 * first + 2 * second, 2),
    ):
        run = mb.simulate(policy, CENTRAL, EQUAL, horizon, seed=1)
        done = first * (whole > 0) + second * (whole > 1)
        rest = horizon - 2 * done
        if unfinished == "skip":
            assert sorted(run.pulls[0]) == [done, done + rest]
        else:
            assert sorted(run.pulls[0]) == [done + rest // 2, done + rest - rest // 2]
        assert run.releases[0] == 2 * whole


def test_every_cohort_is_released_once_and_costs_its_users_epsilon():
    instance = mb.Bernoulli([0.2, 0.75, 0.8])
    found = interpreted(DPSE(failure=0.1), CENTRAL, instance, 50_000)
    closed = [(arm, n) for arm, n, close in found.decisions if close]
    assert [(arm, n) for arm, n, _ in found.released] == closed
    run = mb.simulate(DPSE(failure=0.1), CENTRAL, instance, 50_000)
    assert run.releases[0] == found.releases == len(closed) > 3
    assert run.loss.epsilon() == 1.0


@pytest.mark.slow
def test_before_the_first_release_no_arm_is_preferred():
    arms = [interpreted(DPSE(), CENTRAL, EQUAL, 100, seed).decisions[0][0] for seed in range(1000)]
    same_distribution(np.array(arms), lambda v: ((v == 0) | (v == 1)) / 2)


@for_each("wrong", [{"failure": 0}, {"failure": 1.5}, {"failure": math.nan}, {"unfinished": ""}], ids=str)
def test_parameters_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(InvalidValue, match=f"^{name} is "):
        DPSE(**wrong)
