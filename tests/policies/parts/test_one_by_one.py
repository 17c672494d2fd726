"""Policies of single users against plain programs, decision by decision, and mutants that these must reject."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskedbandit as mb
from maskedbandit.core import WAIT, Decision
from maskedbandit.errors import InvalidValue
from maskedbandit.law import GAUSSIAN, NO_NOISE, Law
from maskedbandit.policies.identify import eb_tci, track_and_stop, ttucb
from maskedbandit.policies.parts.choice import begin_turns, take_turn
from maskedbandit.policies.parts.one_by_one import count_ones, is_certain, passes_tests
from tests.for_each import for_each
from tests.policies.identify.plain import (
    PlainCumulative,
    PlainElimination,
    PlainLeaders,
    PlainTracking,
    PlainTTUCB,
    PlainUniform,
    check_replay,
)
from tests.policies.mutants import mutant
from tests.statistics import same_distribution

P = mb.policies
ALL = [P.TTUCB, P.EBTCI, P.TrackAndStop, P.UniformGLR, P.BestArmElimination]
RAW, RESPONSE = Law(NO_NOISE), mb.channels.Response(epsilon=1).law()
NOISY = Law(GAUSSIAN, scale=1.0, grid=1.0, per_release=1.0)
THREE, FAR, SURE = (0.55, 0.35, 0.2), (0.9, 0.3, 0.1, 0.3), (1.0, 0.0, 0.3)

CASES = [
    (P.TTUCB(), PlainTTUCB, {}, RAW, THREE),
    (P.TTUCB(), PlainTTUCB, {}, RAW, SURE),
    (P.TTUCB(beta=0.3, threshold="heuristic"), PlainTTUCB, {"beta": 0.3, "threshold": "heuristic"}, RAW, FAR),
    (P.TTUCB(), PlainTTUCB, {}, RESPONSE, FAR),
    (P.TTUCB(threshold="heuristic"), PlainTTUCB, {"variance": 1.25, "threshold": "heuristic"}, NOISY, FAR),
    (P.EBTCI(), PlainLeaders, {}, RAW, THREE),
    (P.EBTCI(), PlainLeaders, {}, RAW, SURE),
    (P.EBTCI(threshold="published", beta=0.7), PlainLeaders, {"threshold": "published", "beta": 0.7}, RAW, FAR),
    (P.EBTCI(threshold="heuristic"), PlainLeaders, {"threshold": "heuristic"}, RESPONSE, FAR),
    (P.UniformGLR(), PlainUniform, {}, RAW, THREE),
    (P.UniformGLR(), PlainUniform, {}, RESPONSE, FAR),
    (P.BestArmElimination(), PlainElimination, {}, RAW, THREE),
    (P.BestArmElimination(), PlainElimination, {}, RESPONSE, FAR),
    (P.BestArmElimination(threshold="published"), PlainElimination, {"threshold": "published"}, RAW, SURE),
    (P.TrackAndStop(), PlainTracking, {}, RAW, FAR),
    pytest.param(P.TrackAndStop(tracking="cumulative"), PlainCumulative, {}, RAW, FAR, marks=pytest.mark.slow),
    pytest.param(
        P.TrackAndStop(threshold="published"),
        PlainTracking,
        {"threshold": "published"},
        RESPONSE,
        SURE,
        marks=pytest.mark.slow,
    ),
]


def check_replays(policy, plain, how, law, means) -> None:
    for seed in range(1 if plain in (PlainTracking, PlainCumulative) else 2):  # of those, the plain program is slow
        stopped = check_replay(
            policy, plain(len(means), 0.05, **how), law, means, seed, most=500 if law.kind == NO_NOISE else 250
        )
        assert law.kind != NO_NOISE or means is THREE or stopped < 500, "an easy search takes long"


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "plain", "how", "law", "means"), CASES, ids=range(len(CASES)))
def test_decisions_are_those_of_a_plain_program(policy, plain, how, law, means):
    check_replays(policy, plain, how, law, means)


COINS = {
    "a low threshold": {
        "passes_tests": mutant(passes_tests, is_certain=mutant(is_certain, "s.z[b] - s.sure", "s.z[b] - 2.0"))
    },
    "no redundancy": {
        "passes_tests": mutant(
            passes_tests, is_certain=mutant(is_certain, "excess -= redundancy", "excess -= 0 * redundancy")
        )
    },
    "the first rival alone": {"passes_tests": mutant(passes_tests, "0 <= b < s.n.size", "0 <= b < 1")},
}
BROKEN = [
    *[(P.UniformGLR, PlainUniform, names) for names in COINS.values()],
    (P.EBTCI, PlainLeaders, {"challenger": mutant(eb_tci.challenger, "s.z[b] + s.log_n[b]", "s.z[b]")}),
    (P.EBTCI, PlainLeaders, {"take_turn": mutant(take_turn, "s.led[leader] += 1", "s.led[leader] += 2")}),
    (P.TTUCB, PlainTTUCB, {"leader": mutant(ttucb.leader, "math.log(s.clock[RELEASED] + 1.0)", "2.0")}),
    (P.TTUCB, PlainTTUCB, {"challenger": mutant(ttucb.challenger, "apart(s, best, b)", "s.inverse[b]")}),
    (
        P.TTUCB,
        PlainTTUCB,
        {"passes_all_tests": mutant(ttucb.passes_all_tests, far=mutant(ttucb.far, "4 * math.log(4", "2 * math.log(4"))},
    ),
    (
        P.TrackAndStop,
        PlainTracking,
        {"furthest_behind": mutant(track_and_stop.furthest_behind, "math.sqrt(t) - k / 2", "-1.0")},
    ),
    (
        P.TrackAndStop,
        PlainTracking,
        {"furthest_behind": mutant(track_and_stop.furthest_behind, "t * s.proportion[a]", "s.proportion[a]")},
    ),
]


@for_each(("policy", "plain", "names"), BROKEN, ids=range(len(BROKEN)))
def test_mutants_are_rejected(policy, plain, names):
    broken = type("Broken", (policy,), {"ask": mutant(policy.ask, **names)})
    with pytest.raises(AssertionError, match=r"not one of|may not"):
        check_replays(broken(), plain, {}, RAW, THREE if policy is P.TrackAndStop else FAR)


@for_each("beta", [0.5, 0.2])
def test_the_fraction_of_a_leader_is_tracked(beta):
    """-1/2 <= N - L/2 <= 1 at all times [JD23, Lem. 1]; for other fractions the bounds are theirs."""
    rng, s = np.random.Generator(np.random.PCG64(1)), begin_turns(3, beta)
    for _ in range(3000):
        take_turn(s, int(rng.integers(3)))
        behind = s.own - beta * s.led
        assert behind.min() >= min(-beta, beta - 1) - 1e-9
        assert behind.max() <= 1 + 1e-9


def test_tracking_half_as_often_is_rejected():
    s, wrong = begin_turns(1, 0.5), mutant(take_turn, "s.beta * s.led", "s.beta / 2 * s.led")
    for _ in range(100):
        wrong(s, 0)
    assert s.own[0] - 0.5 * s.led[0] < -0.5


def second(policy) -> np.ndarray:
    """Who is served after every arm gave a 1."""
    found = []
    for seed in range(600):
        rng, s = np.random.Generator(np.random.PCG64(seed)), policy.init(3, 0.1)
        for arm in range(3):
            assert policy.ask(s, RAW, rng) == Decision(arm, 1, 1)
            policy.tell(s, arm, 1, 1.0)
        found.append(policy.ask(s, RAW, rng).arm)
    return np.array(found)


@for_each("policy", [P.TTUCB(), P.EBTCI(), P.TrackAndStop()], ids=str)
def test_equal_arms_are_served_alike(policy):
    same_distribution(second(policy), lambda v: ((v >= 0) & (v < 3)) / 3)


@for_each("policy", ALL)
def test_a_release_is_awaited(policy):
    rng, s = np.random.Generator(np.random.PCG64(1)), policy().init(3, 0.1)
    assert [policy.ask(s, RAW, rng).arm for _ in range(3)] == [0, 1, 2]
    assert policy.ask(s, RAW, rng) == WAIT
    for arm in (2, 0):
        policy.tell(s, arm, 1, float(arm == 0))
        assert policy.ask(s, RAW, rng) == WAIT
    policy.tell(s, 1, 1, 0.0)
    assert policy.ask(s, RAW, rng).n == 1


@for_each("policy", ALL)
def test_channels_that_will_not_do_are_refused(policy):
    """Gaussian noise in each release is sub-Gaussian, so TTUCB allows for it; nobody else can read coins in it."""
    laplace, gaussian = (mb.channels.Local(epsilon=1), mb.channels.Local(epsilon=1, noise=mb.noises.DiscreteGaussian()))
    for channel in (laplace, mb.channels.Central(epsilon=1), mb.channels.Distributed(epsilon=1)):
        assert policy().needs(channel.law())
    assert bool(policy().needs(gaussian.law())) == (policy is not P.TTUCB)
    assert not policy().needs(RAW)
    assert not policy().needs(RESPONSE)


@given(st.integers(0, 10**6), st.floats(0.01, 10))
def test_bits_are_counted_without_a_rounding_error(n, epsilon):
    law = mb.channels.Response(epsilon=round(epsilon, 3)).law()
    for bits in (0, n // 3, n):
        assert count_ones(law, (bits - n * law.flip) / (1 - 2 * law.flip), float(n)) == bits


@for_each(
    ("policy", "wrong"),
    [
        *[(policy, {"threshold": "Proved"}) for policy in ALL],
        *[(policy, {"beta": beta}) for policy in (P.TTUCB, P.EBTCI) for beta in (0, 1, math.nan)],
        (P.TTUCB, {"threshold": "published"}),
        (P.BestArmElimination, {"threshold": "heuristic"}),
        (P.TrackAndStop, {"tracking": "C"}),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused(policy, wrong):
    (name,) = wrong
    with pytest.raises(InvalidValue, match=f"^{name} is "):
        policy(**wrong)
