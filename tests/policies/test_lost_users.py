"""Fewer rewards than asked for: radii are those of the users told, and nothing waits for those who were lost.

All tests are exact.
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import WAIT
from maskedbandit.law import LAPLACE, NO_NOISE, Law
from maskedbandit.policies.parts.known_releases import MOST_RELEASES
from maskedbandit.policies.regret.dp_thompson import FIRST, PILOT, STEP, THEN
from maskedbandit.policies.regret.gaussian_thompson import DRAWS
from maskedbandit.policies.regret.successive_elimination import confidence, fewest_users
from tests.for_each import for_each
from tests.policies.mutants import mutant

P, RAW = mb.policies, Law(NO_NOISE)
NOISY = Law(LAPLACE, scale=20.0, grid=1, per_release=1)
HORIZON = 10**9
ROUNDS = [
    P.SuccessiveElimination(),
    P.SuccessiveElimination(radius="paper"),
    P.DPSE(),
    P.BestArmDPSE(),
    P.BestArmDPSE(counts="published"),
]
each_rounds = for_each("policy", ROUNDS, ids=str)


def aim(policy):
    return HORIZON if policy.goal == "regret" else 0.01


def asked(policy, s, law):
    """All that is asked for before it waits."""
    found = []
    while (decision := policy.ask(s, law, np.random.default_rng(1))) != WAIT:
        found.append(decision)
    return found


def least_gap(policy, fractions, law=RAW, before=()):
    """The least gap of two means, told by so few of the users of each arm, at which the worse arm is dropped.

    `before` are rounds that drop nobody.
    """
    low, high = 0.0, 1000.0
    for _ in range(60):
        gap = (low + high) / 2
        s = policy.init(2, aim(policy))
        for round_fractions, apart in [*((each, 0.0) for each in before), (fractions, gap)]:
            users = s.users.copy() if hasattr(s, "users") else None
            for arm, n, _ in asked(policy, s, law):
                left = int(n * round_fractions[arm])
                count = left + users[arm] if users is not None and s.published else left
                policy.tell(s, arm, left, count * apart * (1 - arm))
        policy.ask(s, law, np.random.default_rng(1))
        if s.left.sum() == 1:
            high = gap
        else:
            low = gap
    return high


@each_rounds
class TestElimination:
    @pytest.mark.slow
    def test_the_radius_is_that_of_the_fewest_users_told(self, policy):
        """Without noise it falls with the root of their number."""
        whole = least_gap(policy, (1, 1))
        n = asked(policy, policy.init(2, aim(policy)), RAW)[0].n
        for fraction in (0.75, 0.25):
            left = int(n * fraction)
            for fractions in ((fraction, 1), (1, fraction), (fraction, fraction)):
                assert least_gap(policy, fractions) == pytest.approx(whole * math.sqrt(n / left), rel=1e-9)

    def test_noise_is_spread_over_the_users_told(self, policy):
        whole, less = least_gap(policy, (1, 1), NOISY), least_gap(policy, (1, 0.25), NOISY)
        assert 2 < less / whole <= 4.1

    def test_the_next_round_forgets_who_was_lost(self, policy):
        one, other = (least_gap(policy, (1, 1), before=[fractions]) for fractions in ((0.25, 1), (1, 1)))
        assert one == other

    def test_the_size_asked_for_does_not_change(self, policy):
        """A cohort that is told before the others are asked for."""
        s, rng = policy.init(3, aim(policy)), np.random.default_rng(1)
        first = policy.ask(s, RAW, rng)
        policy.tell(s, 0, first.n // 2, 1.0)
        assert {policy.ask(s, RAW, rng).n for _ in range(2)} == {first.n}


def test_the_radius_of_the_users_asked_for_drops_arms_too_early():
    """The control."""

    class Planned(P.SuccessiveElimination):
        ask = mutant(P.SuccessiveElimination.ask, confidence=mutant(confidence, "fewest_users(s)", "s.clock[1]"))

    policy = P.SuccessiveElimination()
    assert least_gap(Planned(), (0.25, 1)) == pytest.approx(least_gap(policy, (1, 1)))
    assert least_gap(policy, (0.25, 1)) > 1.9 * least_gap(policy, (1, 1))
    s = policy.init(2, HORIZON)
    for (arm, n, _), left in zip(asked(policy, s, RAW), (10, 30), strict=True):
        assert n == 64
        policy.tell(s, arm, left, 0.0)
    assert fewest_users(s) == 10


class TestDPThompson:
    def pilot(self, fractions, gap, law=RAW):
        """The step after one epoch of the pilot, and the gap that is estimated then."""
        policy = P.DPThompson()
        s = policy.init(2, 10**6)
        for arm, n, _ in asked(policy, s, law):
            left = int(n * fractions[arm])
            policy.tell(s, arm, left, left * gap * (1 - arm))
        policy.ask(s, law, np.random.default_rng(1))
        return s.clock[STEP], s.gap[0]

    def test_a_gap_must_be_larger_where_fewer_users_were_told(self):
        assert self.pilot((1, 1), 0.51)[0] != PILOT
        assert self.pilot((1, 1), 0.49) == (PILOT, 0.5)
        for fractions in ((0.75, 1), (1, 0.75)):
            assert self.pilot(fractions, 0.6) == (PILOT, 0.5)
            step, gap = self.pilot(fractions, 0.7)
            assert step != PILOT
            assert gap == pytest.approx(0.5 / 0.75, rel=1e-3)

    def test_every_arm_gets_the_users_of_the_next_epoch(self):
        """Whichever was told of fewest: also if it is not the first arm."""
        policy = P.DPThompson()
        s = policy.init(2, 10**6)
        for arm, n, _ in asked(policy, s, RAW):
            policy.tell(s, arm, n - 100 * arm, 0.0)
        short = s.n.min()
        sizes = {n for _, n, _ in asked(policy, s, RAW)}
        assert len(sizes) == 1
        whole = policy.init(2, 10**6)
        for arm, n, _ in asked(policy, whole, RAW):
            policy.tell(whole, arm, n, 0.0)
        assert short + sizes.pop() == whole.n[0] + asked(policy, whole, RAW)[0].n

    def test_the_first_users_are_asked_for_until_all_are_told(self):
        policy, left, rng = P.DPThompson(pilot=100), [100, 100], np.random.default_rng(1)
        s = policy.init(2, 10**6)
        while max(left) > 0:
            decisions = asked(policy, s, RAW)
            assert [decision.n for decision in decisions] == [max(left)] * 2
            assert s.clock[STEP] == FIRST
            for arm, n, _ in decisions:
                left[arm] -= (lost := (n + 1 + arm) // 2)
                policy.tell(s, arm, lost, 0.0)
        assert policy.ask(s, RAW, rng).n == 1
        assert s.clock[STEP] == THEN


class TestGaussianThompson:
    def test_the_initial_users_are_all_told_before_the_first_draw(self):
        """Its loss counts on them."""
        policy, rng = P.GaussianThompson(initial=50), np.random.default_rng(1)
        s = policy.init(2, 10**4)
        for arm, n, _ in asked(policy, s, RAW):
            assert n == 50
            policy.tell(s, arm, 30 + 20 * arm, 0.0)
        assert asked(policy, s, RAW) == [(0, 20, 1)]
        policy.tell(s, 0, 15, 0.0)
        assert asked(policy, s, RAW) == [(0, 5, 1)]
        assert s.clock[DRAWS] == 0
        policy.tell(s, 0, 5, 0.0)
        assert policy.ask(s, RAW, rng).n == 1
        assert (s.clock[DRAWS], s.n.tolist()) == (1, [50, 50])


def test_released_likelihood_keeps_what_it_has_room_for():
    """If most users are lost every time, counts grow too slowly: the rest is not written elsewhere."""
    policy = P.ReleasedLikelihood()
    s = policy.init(2, 0.01)
    for i in range(MOST_RELEASES + 5):
        policy.tell(s, 1, 1, float(i % 2))
    assert (s.m.tolist(), s.n.tolist()) == ([0, MOST_RELEASES], [0, MOST_RELEASES])
    assert s.total[1].sum() == MOST_RELEASES / 2
    assert not s.total[0].any()


@for_each(("lost", "enough"), [(1, True), (2, True), (8, True), (16, False)])
def test_the_parts_of_delta_add_up_while_an_eighth_of_every_phase_is_told(lost, enough):
    """Those of all phases of an arm of AdaP-TT, of 1, 1, 2, 4, ... users, of k = 2 + log2 of those who are left."""
    phases = [1, *(2**j for j in range(2000))]
    fractions = [1 / (2 + max(0, math.log2(size) - math.log2(lost))) ** 2 for size in phases]
    assert (sum(fractions) <= math.pi**2 / 6) == enough
