"""KL-LUCB and uniform rounds: intervals that hold at all times, and mutants whose intervals do not.

Counts of errors are exact tests: a correct policy fails one with probability at most ALPHA = 1e-9.
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import WAIT
from maskedbandit.policies.parts import uniform_rounds
from maskedbandit.policies.select import kl_lucb
from maskedbandit.policies.select.kl_lucb import KLLUCB
from maskedbandit.policies.select.uniform_arms_above import UniformArmsAbove
from maskedbandit.policies.select.uniform_top_arms import UniformTopArms
from maskedbandit.theory.divergences import kl
from maskedbandit.theory.thresholds import redundancy
from tests.policies.identify.test_released_likelihood import CHANNELS, RAW
from tests.policies.mutants import mutant
from tests.statistics import at_most

KEPT = [name for name in CHANNELS if "lost" not in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize(
    ("policy", "means"),
    [(UniformTopArms(m=1), [0.6, 0.5, 0.5]), (UniformArmsAbove(), [0.6, 0.45, 0.45])],
    ids=["top", "above"],
)
def test_they_are_right_as_often_as_they_say(policy, means, name):
    """So many runs would show a probability of errors above 0.62, but for one time in a thousand."""
    found = mb.select(policy, CHANNELS[name], mb.Bernoulli(means), delta=0.3, runs=200, seed=1, max_pulls=10**7)
    at_most(int((found.stopped & ~found.correct).sum()), 200, 0.3)


def rounds_played(policy, law, rng, noise=lambda rng: 0.0, rounds=12, mean=0.5):
    """The state after these rounds, if all arms have one mean; whether an interval ever missed it."""
    s, missed = policy.init(4, 0.5), False
    for _ in range(4 * rounds):
        arm, n, _ = uniform_rounds.next_of_round(s.rounds, law)
        uniform_rounds.record_cohort(s.rounds, arm, n, float(rng.binomial(n, mean)) + noise(rng))
        if uniform_rounds.round_is_over(s.rounds):
            policy.enclose(s.rounds, law)
            missed = missed or bool(np.any((s.rounds.low > mean) | (s.rounds.high < mean)))
    return missed


class Intervals(UniformTopArms):
    """The policy with its intervals at hand."""

    enclose = staticmethod(uniform_rounds.enclose_means)


class NoUnion(Intervals):
    """A mutant: neither sides nor arms nor releases are paid for, but the level alone."""

    enclose = staticmethod(mutant(uniform_rounds.enclose_means, "s.doubt + math.log(m * (m + 1.0))", "math.log(2.0)"))


class Deaf(Intervals):
    """A mutant: its intervals forget the noise."""

    enclose = staticmethod(lambda rounds, law: uniform_rounds.enclose_means(rounds, RAW.law()))


def misses(policy, noisy: bool) -> int:
    """of 100 plays, those in which an interval ever missed."""
    law = mb.channels.Central(epsilon=0.05).law() if noisy else RAW.law()
    rng = np.random.Generator(np.random.PCG64(1))

    def noise(rng):
        return float(rng.geometric(-math.expm1(-1 / law.scale)) - rng.geometric(-math.expm1(-1 / law.scale)))

    return sum(rounds_played(policy, law, rng, noise if noisy else lambda rng: 0.0) for _ in range(100))


@pytest.mark.slow
@pytest.mark.parametrize("noisy", [False, True])
def test_all_intervals_hold_at_once_as_often_as_they_say(noisy):
    at_most(misses(Intervals(), noisy), 100, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "noisy"), [(NoUnion(), False), (Deaf(), True)], ids=["no union", "deaf"])
def test_mutants_of_intervals_are_rejected(broken, noisy):
    with pytest.raises(AssertionError):
        at_most(misses(broken, noisy), 100, 0.5)


def test_a_round_has_equal_cohorts_and_waits_for_all_its_sums():
    s, law = UniformTopArms(m=1, ratio=2).init(3, 0.1), RAW.law()
    rng = np.random.default_rng(1)
    first = [UniformTopArms.ask(s, law, rng) for _ in range(3)]
    assert [(arm, n) for arm, n, _ in first] == [(0, 8), (1, 8), (2, 8)]
    assert UniformTopArms.ask(s, law, rng) == WAIT
    for arm in range(3):
        UniformTopArms.tell(s, arm, 8, 4.0)
    assert UniformTopArms.ask(s, law, rng)[:2] == (0, 8), "twice as many in all"


def test_the_bounds_of_kl_lucb_are_where_the_divergence_is_the_rate():
    s = KLLUCB(m=1).init(3, 0.1)
    s.total[:], s.n[:] = (30.0, 50.0, 0.0), 100
    for arm in range(3):
        kl_lucb.enclose_arm(s, RAW.law(), arm)
        rate = math.log(3 / 0.1) + redundancy(s.total[arm], 100.0)
        assert 100 * kl(s.mean[arm], s.high[arm]) == pytest.approx(rate)
        assert s.low[arm] == 0 or 100 * kl(s.mean[arm], s.low[arm]) == pytest.approx(rate)


def test_kl_lucb_asks_for_the_weakest_inside_then_for_the_strongest_outside():
    s, law, rng = KLLUCB(m=2).init(4, 0.1), RAW.law(), np.random.default_rng(1)
    for arm, total in enumerate((90.0, 60.0, 55.0, 10.0)):
        assert KLLUCB.ask(s, law, rng).arm == arm
        KLLUCB.tell(s, arm, 1, total / 100)
        s.n[arm] = 100
        s.total[arm] = total
    assert KLLUCB.ask(s, law, rng) == (1, 1, 1)
    KLLUCB.tell(s, 1, 1, 1.0)
    assert KLLUCB.ask(s, law, rng) == (2, 1, 1)


@pytest.mark.slow
def test_kl_lucb_is_right_as_often_as_it_says():
    for channel in (RAW, mb.channels.Response(epsilon=2)):
        found = mb.select(KLLUCB(m=2), channel, mb.Bernoulli([0.9, 0.7, 0.4, 0.4]), delta=0.3, runs=300, seed=1)
        at_most(int((~found.correct).sum()), 300, 0.3)
