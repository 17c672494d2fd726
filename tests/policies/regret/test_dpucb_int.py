"""DP-UCB-INT: when noise is drawn, how wide it is, and what all of it costs a user.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.regret.dpucb_int import DPUCBInt, sum_powers
from maskedbandit.privacy.loss import ZERO, Loss
from tests.for_each import for_each
from tests.statistics import mean_is

LAW = Law(NO_NOISE)


@for_each(("first", "count", "power"), [(1, 10, 1.1), (10, 4096, 0.55), (3, 10**5, 1.5), (7, 10**6, 1.0)])
def test_sums_of_powers_are_bounded_from_above_and_closely(first, count, power) -> None:
    exact = math.fsum((j * first) ** -power for j in range(1, count + 1))
    assert exact <= sum_powers(first, count, power) <= exact * 1.001


@for_each("count", [1, 2, 3])
@for_each("first", [1, 2, 3, 7, 10, 1000])
def test_sums_of_powers_are_rounded_upwards(first, count) -> None:
    import mpmath

    with mpmath.workdps(40):
        for power in (0.55, 0.6, 0.75, 1.1):
            exact = mpmath.fsum(mpmath.mpf(j * first) ** -mpmath.mpf(power) for j in range(1, count + 1))
            assert exact <= sum_powers(first, count, power)


def step(policy, s, rng) -> int:
    """One user, whose reward is 1."""
    arm = int(policy.ask(s, LAW, rng).arm)
    policy.tell(s, arm, 1, 1.0)
    return arm


def test_noise_is_drawn_once_for_every_f_users_of_an_arm() -> None:
    """In the program of the paper's Algorithm 3 an idle arm has new noise in every round."""
    policy, rng = DPUCBInt(epsilon="0.25"), np.random.default_rng(1)
    s, seen = policy.init(3, 1000), [set(), set(), set()]
    for _ in range(600):
        step(policy, s, rng)
        for a in range(3):
            seen[a].add((int(s.drawn[a]), float(s.noisy[a])))
    for a in range(3):
        sizes = sorted(n for n, _ in seen[a])
        assert sizes == [4 * j for j in range(len(sizes))]  # each once


def test_noise_has_the_stated_width() -> None:
    policy, rng, found = DPUCBInt(epsilon=1, decay=1.5), np.random.default_rng(2), []
    for _ in range(4000):
        s = policy.init(1, 10)
        s.full[0], s.of[0], s.n[0], s.total[0] = 8.0, 16, 16, 8.0
        policy.ask(s, LAW, rng)
        found.append(abs(s.noisy[0] - 0.5))
    mean_is(found, 16 ** (0.75 - 1))
    with pytest.raises(AssertionError):
        mean_is(found, 16 ** (0.55 - 1))


@for_each(("epsilon", "horizon"), [("0.1", 1000), (1, 50)])
def test_the_loss_adds_up_all_releases_after_a_reward(epsilon, horizon) -> None:
    policy = DPUCBInt(epsilon)
    each = [n**-0.55 for n in range(policy.every, horizon, policy.every)]
    found = policy.loss(Loss.unbounded(), horizon)
    assert float(found.pure_epsilon) == pytest.approx(sum(each))
    assert found.epsilon(1e-5) <= Loss.zcdp(sum(x * x for x in each) / 2 * (1 + 1e-12)).epsilon(1e-5)
    assert policy.loss(Loss.unbounded(), policy.every) == ZERO


@for_each(
    ("name", "value"),
    [("interval", "wide"), ("epsilon", 2), ("epsilon", 0), ("decay", 1), ("decay", 1.6), ("decay", "x")],
)
def test_parameters_have_a_range(name, value) -> None:
    with pytest.raises(InvalidValue, match=name):
        DPUCBInt(**{name: value})


def test_noisy_sums_are_refused() -> None:
    with pytest.raises(InvalidValue, match="sums without noise"):
        mb.simulate(DPUCBInt(), mb.channels.Central(1), mb.Bernoulli([0.9, 0.1]), 10)
