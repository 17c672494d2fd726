"""What late rewards cost policies whose cohorts overlap: little where delays are a hundredth of the horizon.

Means over runs of fixed seeds, which are certain. Under a new seed each bound fails with a probability below 1e-4: all
have four standard errors to spare, and of 20,000 samples of runs of DP-KLUCB and DP-IMED, where few lose much, none
failed.
"""

import pytest

import maskedbandit as mb
from maskedbandit.policies.parts.batches import begin_cohort, close_cohort, first_cohort, grow_arm
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.noise_aware_klucb import NoiseAwareKLUCB, add_release
from tests.policies.mutants import mutant

HORIZON = 10**5
MEANS = {"nine": (0.9,) + (0.8,) * 9, "five": (0.55, 0.5, 0.5, 0.45, 0.4), "low": (0.05, 0.04, 0.04, 0.03)}
LAPLACE, GAUSSIAN = (
    mb.channels.Central(epsilon=0.5, noise=noise)
    for noise in (mb.noises.DiscreteLaplace(), mb.noises.DiscreteGaussian())
)
OVERLAP = ["ada_p_ucb", "ada_p_klucb", "ada_cucb", "anytime_lazy_ucb", "lazy_dp_thompson", "dp_klucb", "dp_imed"]


class Forgetful(NoiseAwareKLUCB):
    """The same, but for what is in flight."""

    forgets = mutant(begin_cohort, "s.asked[arm] += users", "pass")
    ask = mutant(
        NoiseAwareKLUCB.ask,
        grow_arm=mutant(grow_arm, begin_cohort=forgets),
        first_cohort=mutant(first_cohort, begin_cohort=forgets),
    )
    tell = mutant(
        NoiseAwareKLUCB.tell,
        add_release=mutant(add_release, close_cohort=mutant(close_cohort, "if s.flight[arm] == 0:", "if True:")),
    )


def regret(policy: Policy, means: tuple[float, ...], delay: int, runs: int) -> float:
    """Mean regret if every reward comes so many users later."""
    channel = GAUSSIAN if policy.needs(LAPLACE.law()) else LAPLACE
    late = mb.delays.Constant(delay)
    run = mb.simulate(policy, channel, mb.Bernoulli(means), HORIZON, runs=runs, seed=1, delay=late)
    return float(run.regret[:, -1].mean())


def check_late(policy: Policy, name: str, runs: int = 400) -> None:
    """At most 1.2 times the regret at a delay of a hundredth of the horizon, and 3.6 times at a tenth.

    The latter is near what all users before the first release cost.
    """
    now = regret(policy, MEANS[name], 0, runs)
    for delay, most in ((HORIZON // 100, 1.2), (HORIZON // 10, 3.6)):
        found = regret(policy, MEANS[name], delay, runs)
        assert found <= most * now, f"{found:.0f} at a delay of {delay}, {now:.0f} without"


@pytest.mark.slow
@pytest.mark.parametrize("name", MEANS)
def test_late_rewards_cost_little(name):
    check_late(NoiseAwareKLUCB(), name)


@pytest.mark.slow
def test_forgetting_what_is_in_flight_costs_much():
    with pytest.raises(AssertionError, match="at a delay of 1000,"):
        check_late(Forgetful(), "nine", runs=50)


@pytest.mark.slow
@pytest.mark.parametrize("policy", OVERLAP)
def test_late_rewards_cost_others_little_too(policy):
    """On arms that are far from 0 and 1; where they are near, the mean is that of a few runs of DP-KLUCB or DP-IMED."""
    runs = {"lazy_dp_thompson": 30, "dp_klucb": 800, "dp_imed": 800}  # those of the first take a hundred times as long
    check_late(mb.policies.room[policy](), "five", runs.get(policy, 400))
