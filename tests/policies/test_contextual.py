"""LinUCB and linear Thompson sampling: what they choose, what they are told, and what that costs and brings."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.delays.geometric import Geometric
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.contextual_policy import Aim
from maskedbandit.policies.parts.linear import LinearPolicy, Models, learn
from tests.for_each import for_each
from tests.policies.contextual_play import Trail, played
from tests.statistics import mean_is, same_distribution

RAW, GAUSSIAN = mb.channels.Raw(), mb.noises.DiscreteGaussian()
LAW, AIM = Law(NO_NOISE), Aim(d=3, horizon=1000)
DISJOINT, SHARED = mb.LinearContexts(d=3, k=4, seed=1), mb.LinearContexts(d=3, k=4, model="shared", seed=1)
POLICIES = [mb.policies.LinUCB(alpha=1), mb.policies.LinThompson(alpha=0.3)]
BOTH = [
    (replace(each, model=model), contexts)
    for each in POLICIES
    for model, contexts in (("disjoint", DISJOINT), ("shared", SHARED))
]
HORIZON = 3000


def taught(policy: LinearPolicy, k: int = 4, d: int = 3, seed: int = 0) -> Models:
    """The state after some random users of every model."""
    s, rng = policy.init(k, Aim(d, 1000)), np.random.default_rng(seed)
    for model in range(policy.models(k)):
        z, reward = rng.standard_normal((20, d)) / 3, rng.random(20)
        i, j = np.triu_indices(d)
        learn(s, LAW, model, 20, np.concatenate([(z.T @ z)[i, j], reward @ z]))
    return s


def bits(s: Models) -> list[bytes]:
    return [np.asarray(each).tobytes() for each in s]


@for_each(("policy", "contexts"), BOTH)
def test_asking_leaves_no_trace(policy, contexts) -> None:
    s, rng = taught(policy), np.random.default_rng(2)
    before = bits(s)
    for _ in range(20):
        x, z = rng.standard_normal((contexts.rows, 3)) / 3, np.zeros(3)
        arm = policy.ask(s, x, np.array([0, 2, 3]), LAW, rng)
        assert arm in (0, 2, 3)
        policy.direction(s, arm, x[0], z)
        policy.arrived(s, arm, z)
        np.testing.assert_array_equal(z, x[0])
        assert bits(s) == before
    learn(s, LAW, 0, 1, np.ones(9))
    assert bits(s) != before  # the negative control


@pytest.mark.slow
@for_each("model", ["disjoint", "shared"])
def test_ties_are_broken_at_random(model: str) -> None:
    policy, pool = mb.policies.LinUCB(model=model), np.array([1, 2, 3])
    s, rng, x = policy.init(4, AIM), np.random.default_rng(3), np.full((4, 3), 0.5)
    found = np.array([policy.ask(s, x, pool, LAW, rng) for _ in range(3000)])
    same_distribution(found, lambda z: np.isin(z, pool) / 3)
    learn(s, LAW, 2 if model == "disjoint" else 0, 1, np.array([0.1, 0, 0, 0.1, 0, 0.1, -1, -1, -1.0]))
    found = np.array([policy.ask(s, x, pool, LAW, rng) for _ in range(3000)])
    if model == "disjoint":  # now one arm is worse
        with pytest.raises(AssertionError):
            same_distribution(found, lambda z: np.isin(z, pool) / 3)
        same_distribution(found, lambda z: np.isin(z, [1, 3]) / 2)


def test_linucb_takes_the_highest_bound() -> None:
    for policy, contexts in BOTH[:2]:
        s, rng, pool = taught(policy), np.random.default_rng(4), np.array([0, 1, 3])
        for _ in range(50):
            x, bounds = rng.standard_normal((contexts.rows, 3)), {}
            for arm in pool.tolist():
                z, model = x[arm % contexts.rows], arm % policy.models(4)
                v = s.gram[model] + np.eye(3)
                bounds[arm] = z @ np.linalg.solve(v, s.response[model]) + math.sqrt(z @ np.linalg.solve(v, z))
            assert policy.ask(s, x, pool, LAW, rng) == max(bounds, key=lambda arm: bounds[arm])


@pytest.mark.slow
@for_each("policy", POLICIES)
def test_a_shared_model_on_products_with_the_arm_is_disjoint_ones(policy) -> None:
    k, d, rng = 3, 2, np.random.default_rng(5)
    shared = replace(policy, model="shared")
    s, t = policy.init(k, Aim(d, 100)), shared.init(k, Aim(k * d, 100))
    own, all_of_them = np.triu_indices(d), np.triu_indices(k * d)
    for arm in (0, 1, 1, 2, 0, 1):
        z, reward, wide = rng.standard_normal(d) / 2, rng.random(), np.zeros(k * d)
        wide[arm * d : (arm + 1) * d] = z
        learn(s, LAW, arm, 1, np.concatenate([np.outer(z, z)[own], reward * z]))
        learn(t, LAW, 0, 1, np.concatenate([np.outer(wide, wide)[all_of_them], reward * wide]))
    np.testing.assert_allclose(s.weights.ravel(), t.weights[0], atol=1e-12)
    x = rng.standard_normal(d)
    wide, pool, found = np.kron(np.eye(k), x), np.arange(k), np.zeros((2, 2000), np.int64)
    for i in range(2000):
        found[0, i] = policy.ask(s, x[None], pool, LAW, rng)
        found[1, i] = shared.ask(t, wide, pool, LAW, rng)
    if isinstance(policy, mb.policies.LinUCB):
        assert np.unique(found).size == 1
    else:  # independent draws of the arms' values, from one draw of all weights
        for arm in pool:
            fraction = (found == arm).mean()
            mean_is(
                (found[0] == arm) * 1.0 - (found[1] == arm), 0.0, math.sqrt(2 * max(fraction * (1 - fraction), 1e-3))
            )


@pytest.mark.slow
@for_each("model", ["disjoint", "shared"])
def test_thompson_sampling_draws_from_its_posterior(model: str) -> None:
    """Arm 1 beats arm 0 as often as the posterior says; with the other model's distribution it would not."""
    policy = mb.policies.LinThompson(alpha=0.4, model=model)
    s, rng = taught(policy, k=2), np.random.default_rng(6)
    z = np.array([[0.6, 0.3, -0.2]] * (1 if model == "disjoint" else 2))
    z[-1] += [0.1, 0.1, 0.1] if model == "shared" else [0, 0, 0]
    chances = []
    for together in (model == "shared", model != "shared"):
        first, second = z[0], z[-1]
        gap = s.weights[-1] @ second - s.weights[0] @ first
        if together:
            variance = (second - first) @ np.linalg.solve(s.gram[0] + np.eye(3), second - first)
            variance = max(variance, 1e-6)
        else:
            ends = ((0, first), (-1, second))
            variance = sum(each @ np.linalg.solve(s.gram[i] + np.eye(3), each) for i, each in ends)
        chances.append(norm.cdf(gap / (0.4 * math.sqrt(variance))))
    found = [float(policy.ask(s, z, np.array([0, 1]), LAW, rng)) for _ in range(20_000)]
    true, other = chances
    assert 0.1 < true < 0.9
    mean_is(found, true, math.sqrt(true * (1 - true)))
    with pytest.raises(AssertionError):
        mean_is(found, other, math.sqrt(true * (1 - true)))


def statistics(x: np.ndarray, reward: float, products: float) -> np.ndarray:
    return np.concatenate([products * np.outer(x, x)[np.triu_indices(x.size)], reward * x])


@pytest.mark.slow
@for_each(("policy", "contexts"), BOTH)
@for_each("delay", [Constant(0), Constant(3)])
def test_over_the_raw_channel_all_that_was_seen_is_told_at_once(policy, contexts, delay) -> None:
    trail = played(replace(policy, products="1/4"), RAW, contexts, 200, seed=1, delay=delay)
    assert len(trail.released) == 200 - delay.rounds - 1  # the rest has not arrived when the last is served
    for i, released in enumerate(trail.released):
        user = trail.served[i]
        assert (released.n, released.users) == (1, i + 1 + delay.rounds)
        assert released.model == (user.arm if policy.model == "disjoint" else 0)
        np.testing.assert_array_equal(released.sums, statistics(user.x, user.reward, 0.25))


@cache
def run_of(policy: LinearPolicy, channel: Channel, delay) -> Trail:
    return played(policy, channel, DISJOINT, 700, seed=2, delay=delay)


@pytest.mark.slow
@for_each("delay", [Constant(0), Geometric(2)])
def test_where_users_are_protected_the_cohorts_of_all_models_close_together(delay) -> None:
    policy = mb.policies.LinUCB(first=100, growth=1)
    released = run_of(policy, mb.channels.Central(), delay).released
    assert len(released) == 4 * 3  # after 100, 200 and 400 users
    for i in range(0, len(released), 4):
        assert sorted(each.model for each in released[i : i + 4]) == [0, 1, 2, 3]
        assert len({(each.n, each.users) for each in released[i : i + 4]}) == 1
    raw = run_of(replace(policy, first=50), RAW, delay).released
    assert len({each.users for each in raw}) > len(raw) / 2  # without privacy each closes with its own users


def test_sums_of_all_models_add_up_to_all_users_but_for_the_noise() -> None:
    """The noise of 9 * 4 sums is within 8 deviations: a chance of 36 * 2e-15 that it is not."""
    channel = mb.channels.Central(epsilon=50, noise=GAUSSIAN)
    trail = run_of(mb.policies.LinUCB(first=100, growth=1), channel, Constant(0))
    for model in range(4):
        for released in trail.released[:4]:
            if released.model == model:
                own = [statistics(u.x, u.reward, 1.0) for u in trail.served[:100] if u.arm == model]
                bound = 8 * channel.carrying(mb.policies.LinUCB().statistics(3, True)).law().scale
                np.testing.assert_allclose(released.sums, np.sum(own, axis=0), atol=bound)
                with pytest.raises(AssertionError):
                    np.testing.assert_allclose(released.sums, 3 * np.sum(own, axis=0), atol=bound)


@cache
def regret(policy: LinearPolicy, channel: Channel) -> float:
    return sum(played(policy, channel, DISJOINT, HORIZON, seed=2, run=run).regret for run in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_privacy_costs_regret_and_less_privacy_less(policy) -> None:
    """Random choice loses about 1700; two runs of a policy are compared with margins of a third and more."""
    most, first = 2 * HORIZON * 0.28, {"first": 128}
    private = replace(policy, **first)
    near = regret(private, mb.channels.Central(epsilon=2, noise=GAUSSIAN))
    assert regret(policy, RAW) < 0.2 * most
    assert near < 0.25 * most
    assert regret(private, mb.channels.Central(epsilon="0.2", noise=GAUSSIAN)) > 1.5 * near
    assert regret(private, mb.channels.Local(epsilon=2, noise=GAUSSIAN)) > 1.5 * near


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "channel",
    [
        mb.channels.Tree(epsilon=2, noise=GAUSSIAN, length=64),
        mb.channels.Distributed(epsilon=2, noise=GAUSSIAN),
        mb.channels.SplitAndMix(epsilon=8),
    ],
    ids=lambda channel: type(channel).__name__,
)
def test_every_channel_of_sums_serves(policy, channel) -> None:
    assert regret(replace(policy, first=128), channel) < 0.3 * 2 * HORIZON * 0.28
