"""Thompson sampling with a cap on draws: the cap, what it costs a user, and a mutant that ignores it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import maskedbandit as mb
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.regret.capped_thompson import CappedThompson
from maskedbandit.privacy.loss import Loss
from tests.for_each import for_each

LAW = Law(NO_NOISE)


@for_each("alpha", [0, 0.5, 1, 2])
@for_each("horizon", [100, 10**6])
def test_the_largest_of_the_draws_is_above_the_mean_but_with_chance_one_in_t(alpha, horizon) -> None:
    """For a cohort whose mean is √(ln T / n) too low; and by the constant of the paper there are at least as many."""
    policy = CappedThompson(alpha)
    log, cap = math.log(horizon), policy.count_draws(horizon)
    miss = norm.cdf(math.sqrt(log / policy.variance(horizon)))
    assert miss**cap <= 1 / horizon
    if alpha <= 1:
        paper = 2 * math.sqrt(2 * math.pi * math.e) * horizon ** ((1 - alpha) / 2) * log ** ((3 - alpha) / 2)
        assert cap <= math.ceil(paper)


class Counting:
    """Random numbers, and how many normal ones were drawn."""

    def __init__(self) -> None:
        self.rng, self.normals = np.random.default_rng(1), 0

    def standard_normal(self) -> float:
        self.normals += 1
        return float(self.rng.standard_normal())

    def random(self) -> float:
        return float(self.rng.random())


def count_normals(policy: CappedThompson) -> tuple[int, int]:
    """How many draws there are from cohorts of two arms, which are never replaced, and the cap."""
    s, rng = policy.init(2, 100), Counting()
    for arm in range(2):
        s.n[arm] = 10**6
        policy.tell(s, arm, 10**6, 5e5)
    for _ in range(3 * s.cap):
        policy.ask(s, LAW, rng)
    return rng.normals, s.cap


class Uncapped(CappedThompson):
    """A mutant: it draws for every user."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        s.draws[:] = 0
        return CappedThompson.ask(s, law, rng)


def test_no_cohort_has_more_draws_than_the_cap() -> None:
    normals, cap = count_normals(CappedThompson())
    assert normals == 2 * cap
    normals, cap = count_normals(Uncapped())
    assert normals > 2 * cap


def test_the_loss_is_that_of_all_draws_of_a_cohort_of_one() -> None:
    policy = CappedThompson(2)
    rho = policy.count_draws(10**6) / (2 * Fraction(math.log(10**6) ** 2))  # exact: a float may be rounded down
    assert policy.loss(Loss.unbounded(), 10**6) == Loss.zcdp(rho)


@pytest.mark.slow
def test_arms_are_found() -> None:
    run = mb.simulate(CappedThompson(0.5), mb.channels.Raw(), mb.Bernoulli([0.9, 0.1]), 2000, 5, seed=1)
    assert (run.pulls[:, 0] > 1600).all()


@for_each("alpha", [-1, 11, "x", True, math.nan])
def test_alpha_has_a_range(alpha) -> None:
    with pytest.raises(InvalidValue, match="alpha"):
        CappedThompson(alpha)


def test_noisy_sums_are_refused() -> None:
    with pytest.raises(InvalidValue, match="sums without noise"):
        mb.simulate(CappedThompson(), mb.channels.Central(1), mb.Bernoulli([0.9, 0.1]), 10)
