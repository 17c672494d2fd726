"""What late rewards cost policies whose cohorts overlap: little where delays are a hundredth of the horizon.

Means over runs of fixed seeds, which are certain. Under a new seed a bound that holds with three standard errors to
spare fails with probability 1e-3.
"""

from __future__ import annotations

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.policies.parts.batches import begin, first, grow
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.noise_aware_klucb import NoiseAwareKLUCB
from tests.policies.mutants import mutant

HORIZON = 10**5
MEANS = {"nine": (0.8,) * 9 + (0.9,), "five": (0.4, 0.45, 0.5, 0.5, 0.55), "low": (0.03, 0.04, 0.04, 0.05)}
LAPLACE, GAUSSIAN = (
    mb.channels.Central(epsilon=0.5, noise=noise)
    for noise in (mb.noises.DiscreteLaplace(), mb.noises.DiscreteGaussian())
)
OVERLAP = ["ada_p_ucb", "ada_p_klucb", "ada_cucb", "anytime_lazy_ucb", "lazy_dp_thompson", "dp_klucb", "dp_imed"]


class Forgetful(NoiseAwareKLUCB):
    """The same, but for what is in flight."""

    forgets = mutant(begin, "s.asked[arm] += users", "pass")
    growing = mutant(grow, begin=forgets)
    ask = mutant(NoiseAwareKLUCB.ask, grow=growing, first=mutant(first, begin=forgets, grow=growing))


def regret(policy: Policy, name: str, delay: int, runs: int = 400) -> np.ndarray:
    """Regret of some runs in which every reward comes so many users later."""
    channel = GAUSSIAN if policy.needs(LAPLACE.law()) else LAPLACE
    late = mb.delays.Constant(delay)
    return mb.simulate(policy, channel, mb.Bernoulli(MEANS[name]), HORIZON, runs=runs, seed=1, delay=late).regret[:, -1]


def check_late(policy: Policy, name: str, runs: int = 400) -> None:
    """At most 1.2 times the regret at a delay of a hundredth of the horizon, and 3.2 times at a tenth."""
    now = regret(policy, name, 0, runs).mean()
    for delay, most in ((HORIZON // 100, 1.2), (HORIZON // 10, 3.2)):
        found = regret(policy, name, delay, runs).mean()
        assert found <= most * now, f"{found:.0f} at a delay of {delay}, {now:.0f} without"


@pytest.mark.parametrize("name", MEANS)
def test_late_rewards_cost_little(name):
    check_late(NoiseAwareKLUCB(), name)


@pytest.mark.slow
def test_forgetting_what_is_in_flight_costs_much():
    with pytest.raises(AssertionError, match="at a delay of 1000"):
        check_late(Forgetful(), "nine", runs=50)


@pytest.mark.slow
@pytest.mark.parametrize("policy", OVERLAP)
def test_late_rewards_cost_others_little_too(policy):
    """On arms that are far from one; where they are near, single runs of DP-KLUCB and DP-IMED cost as much as all."""
    check_late(mb.policies.room[policy](), "five")
