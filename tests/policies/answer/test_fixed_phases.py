"""Phases of fixed sizes: who gets how many users, what a score is, and what late rewards do."""

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import TOGETHER, WAIT
from maskedbandit.errors import InvalidValue
from maskedbandit.law import GAUSSIAN, LAPLACE, NO_NOISE, RESPONSE, Law
from maskedbandit.policies.answer.equal_split import EqualSplit
from maskedbandit.policies.answer.pooled_elimination import PooledElimination, growth
from maskedbandit.policies.answer.sequential_halving import SequentialHalving
from maskedbandit.policies.parts.fixed_phases import score
from tests.for_each import for_each
from tests.policies.mutants import mutant

QUIET, LOUD = Law(NO_NOISE), Law(LAPLACE, scale=100.0, grid=1, per_release=1)
RESPONSES = Law(RESPONSE, grid=1, flip=0.4)
POLICIES = [PooledElimination(), EqualSplit(), SequentialHalving()]


def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(1))


@for_each("policy", POLICIES, ids=lambda each: type(each).__name__)
@for_each("law", [QUIET, LOUD, RESPONSES], ids=["quiet", "loud", "response"])
def test_a_plan_uses_nearly_all_people_and_ends_with_one_arm(policy, law):
    for k in (2, 3, 4, 5, 8, 9, 30, 100):
        for people in (k, 3 * k, 1000, 10**6, 10**15):
            if people < k:
                continue
            plan = policy.plan(k, people, law)
            arms = (k, *plan.keep[:-1])
            used = sum(n * s for n, s in zip(plan.sizes, arms, strict=True))
            assert used <= people
            assert plan.keep[-1] == 1
            assert all(after < before for before, after in zip(arms, plan.keep, strict=True))
            if not isinstance(policy, SequentialHalving):
                assert used > people - max(k, 3)
                assert min(plan.sizes) >= 1


def test_fewer_phases_where_each_release_is_dear():
    """Noise per reward, as that of randomized response, costs nothing more in several releases."""
    policy = PooledElimination()
    assert policy.plan(100, 10**5, QUIET).keep == (40, 16, 7, 3, 2, 1)
    assert policy.plan(100, 10**5, RESPONSES).keep == (40, 16, 7, 3, 2, 1)
    assert policy.plan(100, 10**5, LOUD).keep == (20, 4, 2, 1)
    assert policy.plan(100, 10**9, LOUD).keep == (40, 16, 7, 3, 2, 1)


def test_users_of_an_arm_grow_as_the_formula_says():
    plan = PooledElimination().plan(32, 10**9, QUIET)
    arms = np.array((32, *plan.keep[:-1]))
    had = np.cumsum(plan.sizes) / plan.sizes[0]
    np.testing.assert_allclose(had, (32 / arms) ** 0.75, rtol=1e-6)
    assert growth(16.0) == 8.0


def asked(policy, s, law):
    found = []
    while (decision := policy.ask(s, law, rng())) != WAIT and decision.n > 0:
        found.append(decision)
    return found


def test_the_cohorts_of_a_phase_are_dealt_together():
    policy = PooledElimination()
    s = policy.init(4, 1000)
    assert [each.close for each in asked(policy, s, QUIET)] == [TOGETHER, TOGETHER, TOGETHER, 1]


def test_a_score_weighs_releases_by_their_precision():
    law, s = Law(GAUSSIAN, scale=10.0, grid=1, per_release=1), PooledElimination().init(2, 1000)
    s.clock[0] = 1
    s.n[:2, 0], s.total[:2, 0] = (40, 200), (30.0, 90.0)
    weights = [n * n / (n / 4 + 100) for n in (40, 200)]
    assert score(s, law, 0) == pytest.approx((weights[0] * 0.75 + weights[1] * 0.45) / sum(weights))
    forgetful = s._replace(pooled=0)
    assert score(forgetful, law, 0) == pytest.approx(0.45)
    assert score(s, law, 1) == 0.0


def left_after_two_days(shift: float) -> list[int]:
    """Who is left after two phases, if the second day adds so much to every mean."""
    policy = PooledElimination()
    s = policy.init(8, 8000)
    for day, means in enumerate(([0.5, 0.45, 0.44, 0.43, 0.2, 0.1, 0.1, 0.1], [0.47, 0.5, 0.2, 0.2, 0, 0, 0, 0])):
        for arm, n, _ in asked(policy, s, QUIET):
            policy.tell(s, arm, n, n * (means[arm] + shift * day))
    policy.ask(s, QUIET, rng())
    return np.flatnonzero(s.left).tolist()


def test_what_a_day_adds_to_all_means_drops_nobody_else():
    assert all(left_after_two_days(shift) == [0, 1] for shift in (-0.2, 0.0, 0.3))


def test_ties_are_broken_at_random():
    policy, answers = EqualSplit(), set()
    for seed in range(40):
        s, chance = policy.init(3, 30), np.random.Generator(np.random.PCG64(seed))
        for arm, n, _ in asked(policy, s, QUIET):
            policy.tell(s, arm, n, 5.0)
        answers.add(policy.ask(s, QUIET, chance).arm)
    assert answers == {0, 1, 2}


def test_fewer_people_than_arms_are_no_reason_not_to_answer():
    for policy in POLICIES:
        decision = policy.ask(policy.init(5, 3), QUIET, rng())
        assert decision.n == 0
        assert 0 <= decision.arm < 5


def test_who_comes_while_rewards_are_late_is_planned_for():
    instance, delay = mb.Bernoulli([0.9, 0.5, 0.5, 0.4, 0.3]), mb.delays.Constant(200)
    prepared = mb.answer(PooledElimination(late=200), mb.channels.Raw(), instance, 1000, 50, seed=1, delay=delay)
    assert prepared.stopped.all()
    assert (prepared.pulls.sum(axis=1) <= 1000 + 201).all()
    assert prepared.correct.all()
    surprised = mb.answer(PooledElimination(), mb.channels.Raw(), instance, 1000, 50, seed=1, delay=delay)
    assert not surprised.stopped.any()
    assert (surprised.answer >= 0).all(), "the leader is the answer of a study that is over"


def test_more_people_late_than_there_are_leave_one_phase():
    assert PooledElimination(late=10**6).plan(5, 1000, QUIET).keep == (1,)


@for_each("late", [-1, 0.5, "1"])
def test_a_number_of_late_people_that_is_none_is_refused(late):
    with pytest.raises(InvalidValue, match="late"):
        PooledElimination(late=late)


def check_forgets_nothing(policy) -> None:
    """An arm that was best in two phases of three is the answer, if the others are close to it in the last one."""
    s = policy.init(8, 80_000)
    for means in ([0.9, 0.6, 0.5, 0.5, 0, 0, 0, 0], [0.9, 0.6, 0.5, 0.5, 0, 0, 0, 0], [0.5, 0.51, 0, 0, 0, 0, 0, 0]):
        for arm, n, _ in asked(policy, s, QUIET):
            policy.tell(s, arm, n, n * means[arm])
    assert policy.ask(s, QUIET, rng()).arm == 0, "it forgot"


class Forgetful(PooledElimination):
    tell = mutant(PooledElimination.tell, "s.total[", "s.n[:, arm] = 0; s.total[")


def test_no_release_is_forgotten():
    check_forgets_nothing(PooledElimination())
    for broken in (Forgetful(), SequentialHalving()):
        with pytest.raises(AssertionError, match="forgot"):
            check_forgets_nothing(broken)
