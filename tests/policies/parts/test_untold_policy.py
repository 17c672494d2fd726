"""Policies that are told nothing: what they choose, that it costs nobody anything, and what they refuse."""

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.contextual.fixed_weights import FixedWeights
from maskedbandit.policies.contextual.random_choice import RandomChoice
from maskedbandit.policies.contextual_policy import Aim
from maskedbandit.privacy.loss import ZERO
from tests.for_each import for_each
from tests.policies.contextual_play import played
from tests.statistics import mean_is, same_distribution

LAW, AIM = Law(NO_NOISE), Aim(d=2, horizon=100)
DISJOINT, SHARED = mb.LinearContexts(d=2, k=3), mb.LinearContexts(d=2, k=3, model="shared")
ROWS = [[0.1, 0.9], [0.5, -0.5], [0.3, 0.3]]


def test_random_choice_is_uniform_on_the_pool() -> None:
    s, rng, pool = RandomChoice().init(9, AIM), np.random.default_rng(1), np.array([0, 4, 7, 8])
    found = np.array([RandomChoice.ask(s, np.ones((1, 2)), pool, LAW, rng) for _ in range(4000)])
    same_distribution(found, lambda z: np.isin(z, pool) / 4)


@for_each("rows", [ROWS, ROWS[:1]])
@for_each("contexts", [DISJOINT, SHARED])
def test_fixed_weights_are_greedy(rows, contexts) -> None:
    policy = FixedWeights(rows)
    assert bool(policy.lacks(contexts.rows, contexts.fixed)) == (len(rows) == 1 and contexts is DISJOINT)
    s, rng, pool = policy.init(3, AIM), np.random.default_rng(2), np.array([0, 2])
    for _ in range(50):
        x = rng.standard_normal((contexts.rows, 2))
        values = (x * np.array(rows)).sum(axis=1) if len(rows) == 3 or contexts is SHARED else np.zeros(3)
        found = [policy.ask(s, x, pool, LAW, rng) for _ in range(2)]
        if values[0] != values[2]:
            assert found == [0 if values[0] > values[2] else 2] * 2


def test_equal_weights_are_a_tie() -> None:
    s, rng = FixedWeights([[0.2, 0.1]] * 3).init(3, AIM), np.random.default_rng(3)
    found = np.array([FixedWeights.ask(s, np.ones((1, 2)), np.arange(3), LAW, rng) for _ in range(3000)])
    same_distribution(found, lambda z: np.isin(z, range(3)) / 3)


@for_each("policy", [RandomChoice(), FixedWeights(ROWS)])
@for_each("channel", [mb.channels.Raw(), mb.channels.Local(epsilon=1)])
def test_they_cost_nobody_anything(policy, channel) -> None:
    trail = played(policy, channel, DISJOINT, 200, delay=mb.delays.Constant(3))
    assert trail.released == []
    assert trail.play.loss == ZERO
    learner = played(mb.policies.LinUCB(), channel, DISJOINT, 200)
    assert learner.released
    assert learner.play.loss != ZERO  # the negative control


def test_the_value_of_fixed_weights_is_known() -> None:
    weights = DISJOINT.parameters().weights
    best = played(FixedWeights(weights), mb.channels.Raw(), DISJOINT, 2000)
    assert best.regret == 0
    mean_is([each.reward - weights[each.arm] @ each.x for each in best.served], 0.0)
    assert played(FixedWeights(-weights), mb.channels.Raw(), DISJOINT, 2000).regret > 400


@for_each("weights", [[], [[]], [[1.0], [1.0, 2.0]], [[float("nan")]], [1.0], None, [["a"]]])
def test_what_is_no_table_is_refused(weights) -> None:
    with pytest.raises(InvalidValue, match="weights"):
        FixedWeights(weights)


@for_each("weights", [[[1.0]], [[1.0, 2.0]] * 2])
def test_weights_of_another_shape_are_refused(weights) -> None:
    with pytest.raises(InvalidValue, match="3 rows of 2 numbers"):
        FixedWeights(weights).init(3, AIM)
