"""Every contextual policy, through the loop: what a user costs, by the rules of contextual_rules.py, which are exact.

Each stands next to mutants that it must reject.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local import Local
from maskedbandit.channels.raw import Raw
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.tree import COUNTERS, Tree
from maskedbandit.core import kernel
from maskedbandit.lab.delays.constant import AT_ONCE, Constant
from maskedbandit.lab.delays.geometric import Geometric
from maskedbandit.law import LAPLACE
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.policies.contextual.ada_c_gope import AdaCGOPE
from maskedbandit.policies.contextual.ada_c_oful import AdaCOFUL
from maskedbandit.policies.contextual.centred_ucb import CentredUCB
from maskedbandit.policies.contextual.fixed_weights import FixedWeights
from maskedbandit.policies.contextual.lin_thompson import LinThompson
from maskedbandit.policies.contextual.lin_ucb import LinUCB
from maskedbandit.policies.contextual.newton_ucb import NewtonUCB
from maskedbandit.policies.contextual.random_choice import RandomChoice
from maskedbandit.privacy.loss import ZERO
from maskedbandit.privacy.statistics import Factors, linear_sums, reward_sums
from tests.audit.contextual_plays import Bare, Guests, Wild, listen
from tests.audit.contextual_rules import (
    ARMS,
    USERS,
    check,
    check_neighbours,
    check_releases,
    cohorts,
    cost,
    distance,
    generator,
    log_for,
    neighbours,
    stated,
)
from tests.audit.contextual_twins import (
    add_twice,
    count_own_cohort,
    deliver_twice,
    draw_once,
    draw_twice,
    keep_sums,
    release_unfinished,
)
from tests.for_each import for_each
from tests.thrift import thrifty

COHORTS: dict[str, Any] = {"first": 3, "growth": 0.5}
POLICIES = {
    "lin_ucb": LinUCB(**COHORTS),
    "lin_ucb, shared": LinUCB(model="shared", **COHORTS),
    "lin_thompson": LinThompson(**COHORTS, products="0.25"),
    "lin_thompson, shared": LinThompson(model="shared", **COHORTS),
    "centred_ucb": CentredUCB(**COHORTS),
    "newton_ucb": NewtonUCB(**COHORTS),
    "newton_ucb, shared": NewtonUCB(model="shared", **COHORTS, products=1),
}
CHANNELS: dict[str, Channel] = {
    "central": Central("0.5"),
    "central, gaussian": Central("0.5", DiscreteGaussian()),
    "local": Local(2),
    "distributed": Distributed(1),
    "split and mix": SplitAndMix(1),
    "kary, gaussian": Tree(1, DiscreteGaussian(), length=30),
    **{counter: Tree(1, counter=counter, length=30) for counter in COUNTERS},
}
PLENTY: dict[str, Channel] = {
    "central": Central(8),
    "central, gaussian": Central(8, DiscreteGaussian()),
    "distributed": Distributed(8),
    "binary": Tree(8, counter="binary", length=30),
}
CENTRAL = CHANNELS["central"]
DELAYS = {"at once": AT_ONCE, "constant": Constant(3), "geometric": Geometric(2)}

PUBLIC = {"ada_c_oful": AdaCOFUL(growth=0.5), "ada_c_gope": AdaCGOPE(failure=0.9)}

each_policy = for_each("policy", POLICIES.values(), ids=list(POLICIES))
each_channel = for_each("channel", CHANNELS.values(), ids=list(CHANNELS))
each_delay = for_each("delay", DELAYS.values(), ids=list(DELAYS))


@each_policy
@each_channel
def test_a_user_is_in_one_cohort_and_costs_what_is_stated(policy, channel):
    check(policy, channel, Geometric(2))


@pytest.mark.slow
@each_policy
@each_delay
def test_so_it_is_at_every_delay(policy, delay):
    check(policy, CHANNELS["central"], delay)


@pytest.mark.slow
@each_policy
@each_delay
def test_wherever_the_log_ends_nothing_open_is_released(policy, delay):
    guests = log_for(policy, generator(3))
    whole = listen(policy, CHANNELS["central"], guests, generator(1), delay)
    for horizon in (1, 4, 11, 19, USERS - 1):
        found = listen(policy, CHANNELS["central"], guests, generator(1), delay, horizon=horizon)
        check_releases(found)
        assert [(s.model, s.n) for s in found.sent] == [(s.model, s.n) for s in whole.sent][: len(found.sent)]
        assert max((max(users) for users in cohorts(found, guests)), default=0) < horizon


@each_policy
def test_without_noise_it_costs_everything(policy):
    """The control."""
    rng = generator(7)
    guests = log_for(policy, rng)
    with pytest.raises(AssertionError, match=r"betray the arm|costs inf times|cohort of others"):
        check_neighbours(policy, Raw(), guests, neighbours(policy, guests, rng, 8), AT_ONCE)


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    ("policy", "channel"),
    [
        pytest.param(policy, channel, id=f"{name}-{other}")
        for name, policy in PUBLIC.items()
        for other, channel in PLENTY.items()
        if not policy.needs(channel.law())
    ],
)
@pytest.mark.parametrize(
    "delay", thrifty(DELAYS.values(), lambda delay: delay != DELAYS["geometric"]), ids=list(DELAYS)
)
def test_a_reward_costs_what_is_stated_where_contexts_are_public(policy, channel, delay):
    check(policy, channel, delay)


@for_each("policy", [RandomChoice(), FixedWeights([[1.0, 0.0]] * ARMS)], ids=["random", "fixed"])
def test_who_costs_nothing_is_told_nothing(policy):
    heard = listen(policy, CENTRAL, log_for(policy, generator(7)), generator(1))
    assert heard.sent == heard.closed == []
    assert heard.play.loss == ZERO


# --- the worst neighbours -------------------------------------------------------------------------------------


def pair(here: Any, there: Any, arm: int, kind: type[Guests] = Guests, **how: Any) -> tuple[Guests, list[Any]]:
    """A log of users who add nothing, but for the first one, who has arm 0; and its neighbour."""
    one, two = np.array([here]), np.array([there])
    guests = kind(np.zeros((6, 1, one.size)), np.zeros((6, 2)), **how)
    return guests.instead(0, one, np.ones(2)), [(0, guests.instead(0, two, np.ones(2)), arm)]


HALF = [0.5] * 4
AT_120_DEGREES = [np.cos(np.radians(105)), np.sin(np.radians(105))], [np.cos(np.radians(-15)), np.sin(np.radians(-15))]


def cost_of(policy: Any, channel: Channel, guests: Guests, others: Any) -> float:
    """Its fraction of the loss; the first user has arm 0."""
    guided = listen(policy, channel, guests, generator(1), arms=[0] * 6)
    (user, other, arm), *_ = others
    again = listen(policy, channel, other, generator(1), like=guided, arms=[arm, *[0] * 5])
    apart, widths = distance(guided, again, user, guests)
    return cost(apart, widths, guided.play.channel) / stated(channel)


@for_each("name", [name for name, each in CHANNELS.items() if each.law().kind == LAPLACE])
@for_each("products", ["1", "0.25"])
@for_each("kind", [LinUCB, CentredUCB, NewtonUCB])
def test_two_arms_cost_the_pure_loss_exactly(name, products, kind):
    found = cost_of(kind(first=3, growth=0, products=products), CHANNELS[name], *pair(HALF, HALF, arm=1))
    assert 1 - 1e-6 < found <= 1 + 1e-9


@for_each("name", ["central, gaussian", "kary, gaussian"])
def test_two_contexts_at_120_degrees_cost_nearly_the_concentrated_loss(name):
    found = cost_of(LinUCB(first=3, growth=0), CHANNELS[name], *pair(*AT_120_DEGREES, arm=0))
    assert 0.98 < found <= 1


# --- mutants ---------------------------------------------------------------------------------------------


class ForOneNumber(Central):
    """Every number is hidden as if it were alone."""

    def carrying(self, statistics):
        return super().carrying(replace(statistics, l1=1, square=1))


@dataclass(frozen=True)
class ForgetsProducts(LinUCB):
    """Calibrated to r z alone."""

    def statistics(self, d, signed):
        return replace(linear_sums(d, signed, Fraction(self.products)), l1=reward_sums(d).l1, square=1)


class SaidToBePositive(Guests):
    """Contexts have negative numbers; the log says that they do not."""

    signed = False


class BareAndSaidToBePositive(SaidToBePositive):
    """And the loop believes it."""

    bare = True


POLICY = POLICIES["lin_ucb"]
TWINS = {
    "the shown arm's cohort alone": (count_own_cohort, "betray the arm|users who are"),
    "one draw for all numbers": (draw_once, "draws of noise"),
    "two draws for a number": (draw_twice, "draws of noise"),
    "a reward that stays in flight": (deliver_twice, "users who are|cohort|several|further"),
    "a reward that counts twice": (add_twice, "further apart|times what is stated|not the sum"),
    "sums that are kept": (keep_sums, "several cohorts|cohort of others"),
    "a cohort cut off by the horizon": (release_unfinished, "not whole"),
}


@each_delay
@for_each("wrong", TWINS)
def test_broken_loops_are_rejected(wrong, delay):
    twin, why = TWINS[wrong]
    check(POLICY, CENTRAL, delay)
    with pytest.raises(AssertionError, match=why):
        check(POLICY, CENTRAL, delay, twin)


@pytest.mark.slow
@each_policy
def test_contexts_that_are_not_clipped_are_rejected(policy):
    rng = generator(7)
    for kind in (Guests, Wild, Bare):
        guests = log_for(policy, rng, kind)
        others = list(neighbours(policy, guests, rng, 8))
        if kind is Bare:
            with pytest.raises(AssertionError, match="further apart"):
                check_neighbours(policy, CENTRAL, guests, others, AT_ONCE)
        else:
            check_neighbours(policy, CENTRAL, guests, others, AT_ONCE)


@for_each("noise", [mb.noises.DiscreteLaplace(), DiscreteGaussian()], ids=["laplace", "gaussian"])
def test_too_little_noise_costs_more_than_is_stated(noise):
    plain, quarter = LinUCB(first=3, growth=0), ForgetsProducts(first=3, growth=0, products="0.25")
    worst = pair(HALF, HALF, arm=1)
    for policy, channel in ((plain, Central(1, noise)), (LinUCB(**vars(quarter)), Central(1, noise))):
        assert cost_of(policy, channel, *worst) <= 1
    assert cost_of(plain, ForOneNumber(1, noise), *worst) > 3
    assert cost_of(quarter, Central(1, noise), *worst) > 2
    assert cost_of(plain, Central(1, noise), *pair(HALF, HALF, arm=1, kind=Bare)) > 3


def test_noise_for_contexts_without_negative_numbers_is_too_little_for_others():
    policy, channel = LinUCB(first=3, growth=0), CHANNELS["central, gaussian"]
    assert cost_of(policy, channel, *pair(*AT_120_DEGREES, arm=0)) <= 1
    assert cost_of(policy, channel, *pair(*AT_120_DEGREES, arm=0, kind=SaidToBePositive, signed=False)) <= 1
    assert cost_of(policy, channel, *pair(*AT_120_DEGREES, arm=0, kind=BareAndSaidToBePositive, signed=False)) > 1.1


class Learns(LinUCB):
    """Asking is remembered."""

    @staticmethod
    @kernel
    def ask(s, x, pool, law, rng):
        s.weights[0, 0] += x[0, 0]
        return pool[0]


def test_a_policy_that_remembers_who_asked_is_rejected():
    with pytest.raises(AssertionError, match="the state of the policy has changed"):
        check(Learns(**COHORTS), CENTRAL, AT_ONCE)


class KnowsTheNewest(NewtonUCB):
    """The model is fitted to a reward before it is released."""

    @staticmethod
    @kernel
    def factors(s, model, z, reward):
        s.weights[model] += reward * z
        return NewtonUCB.factors(s, model, z, reward)


def test_a_model_that_knows_rewards_before_their_release_is_rejected():
    with pytest.raises(AssertionError, match="the state of the policy has changed"):
        check(KnowsTheNewest(**COHORTS), CENTRAL, AT_ONCE)


class ForgetsTheMiddle(CentredUCB):
    """The reward is added, and not what it is above 1/2."""

    factors = LinUCB.factors


class ForgetsTheRange(NewtonUCB):
    """The residual is not divided by its range, nor cut."""

    @staticmethod
    @kernel
    def factors(s, model, z, reward):
        of = NewtonUCB.factors(s, model, z, reward)
        return Factors(of.products, 2 * of.reward)


def test_residuals_that_are_not_divided_by_their_range_are_rejected():
    for right, wrong in ((NewtonUCB, ForgetsTheRange), (CentredUCB, ForgetsTheMiddle)):
        policy, broken = right(first=3, growth=0), wrong(first=3, growth=0)
        assert cost_of(policy, CENTRAL, *pair(HALF, HALF, arm=1)) <= 1 + 1e-9
        assert cost_of(broken, CENTRAL, *pair(HALF, HALF, arm=1)) > 1.3
        with pytest.raises(AssertionError, match="further apart"):
            check_neighbours(broken, CENTRAL, *pair(HALF, HALF, arm=1), AT_ONCE)


class Stretches(AdaCOFUL):
    """Multiplies rewards with vectors of up to three times the length that is allowed."""

    @staticmethod
    @kernel
    def direction(s, arm, x, z):
        z[:] = 3 * x


def test_a_reward_that_is_multiplied_with_too_much_is_rejected():
    with pytest.raises(AssertionError, match="not the sum of the vectors of a cohort"):  # the loop clips them
        check(Stretches(growth=0.5), PLENTY["central"], AT_ONCE)


def test_every_contextual_policy_is_audited():
    found = {name for name in mb.policies.room if mb.policies.room[name].goal == "contextual"}
    assert found == {"lin_ucb", "lin_thompson", "centred_ucb", "newton_ucb", *PUBLIC, "random_choice", "fixed_weights"}
