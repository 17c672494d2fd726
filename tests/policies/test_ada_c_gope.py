"""AdaC-GOPE: plans, margins and eliminations, and that users beside the plan add nothing."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import IllegalDecision, InvalidValue
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.delays.geometric import Geometric
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.contextual.ada_c_gope import (
    ARRIVED,
    PHASE,
    PLANNED,
    RANK,
    AdaCGOPE,
    State,
    chances,
    direction_noise,
    margin,
)
from maskedbandit.policies.contextual_policy import Aim
from maskedbandit.privacy.statistics import clip_context
from tests.for_each import for_each
from tests.policies.contextual_play import played
from tests.policies.mutants import mutant
from tests.statistics import at_most, same_distribution

GAUSSIAN = mb.noises.DiscreteGaussian()
CONTEXTS = mb.LinearContexts(d=3, k=10, model="shared", fixed=True, seed=1)
NUMBERS = CONTEXTS.parameters()
THETA, ARMS = NUMBERS.weights[0], NUMBERS.fixed
LAW, ALL = Law(NO_NOISE), np.arange(10)


def law_of(channel: Channel, d: int = 3) -> Law:
    return channel.carrying(AdaCGOPE().statistics(d, True)).law()


NOISY = law_of(mb.channels.Central(epsilon="0.1", noise=GAUSSIAN))
LOCAL = law_of(mb.channels.Local(epsilon=1))


def started(law: Law, arms: np.ndarray = ARMS, horizon: int = 10**6) -> State:
    """The state in its first phase."""
    k, d = arms.shape
    s = AdaCGOPE().init(k, Aim(d, horizon))
    AdaCGOPE.ask(s, arms, np.arange(k), law, np.random.default_rng(0))
    return s


def released(s: State, law: Law, rewards: np.ndarray, noise: float = 0.0) -> None:
    """A phase in which every arm pays its mean; the sum is off by some noise in every number."""
    sums = (s.pulls * rewards) @ s.z + noise
    AdaCGOPE.tell(s, law, 0, int(s.pulls.sum()), sums)


def check_first(ask=AdaCGOPE.ask) -> None:
    """Any arm may be the first, if all are as informative; wrong with probability ALPHA."""
    arms, rng = np.eye(10), np.random.default_rng(1)
    s = started(LAW, arms)
    first = [ask(s, arms, ALL, LAW, rng) for _ in range(1000)]
    same_distribution(np.array(first), lambda arm: np.isin(arm, ALL) / 10)


def test_the_first_user_is_not_that_of_the_first_arm() -> None:
    check_first()
    with pytest.raises(AssertionError):
        check_first(mutant(AdaCGOPE.ask, "float(s.open[arm])", "float(-arm)"))


@for_each("law", [LAW, NOISY, LOCAL], ids=["raw", "central", "local"])
@for_each("flat", [False, True])
def test_plans_are_in_the_ball_on_the_grid_and_as_precise_as_they_say(law: Law, flat: bool) -> None:
    arms = ARMS.copy()
    if flat:
        arms[:, 1] = -arms[:, 2]  # they span two dimensions
    s = started(law, arms, 10**9)
    for phase in range(1, 6):
        r, planned = int(s.clock[RANK]), s.pulls > 0
        assert (s.clock[PHASE], r, s.clock[PLANNED]) == (phase, 2 if flat else 3, s.pulls.sum())
        steps = s.z * 256
        np.testing.assert_array_equal(steps, steps.round())
        assert max((steps.astype(int) ** 2).sum(axis=1)) <= 2**16
        assert min(np.linalg.norm(s.z[planned], axis=1)) > 0.1
        m = (s.pulls * s.z.T) @ s.u
        np.testing.assert_allclose((s.inverse @ m)[:r, :r], np.eye(r), atol=1e-9)
        v = np.linalg.pinv((s.pulls * arms.T) @ arms)
        assert s.pulls.sum() * np.einsum("ai,ij,aj->a", arms, v, arms).max() <= 1.05 * r + planned.sum() * 0.5
        e = max(margin(s, law, int(s.pulls.sum()), a) for a in range(10))
        assert 0.5 * 0.5**phase < e < 1.03 * 0.5**phase
        released(s, law, np.full(10, 0.5))  # nothing differs, so all stay
        assert s.left.all()


def test_without_noise_estimates_are_exact_and_the_worse_arms_leave() -> None:
    s, means = started(LAW), ARMS @ THETA
    while s.clock[PLANNED] > 0:
        before, phase = s.left.copy(), int(s.clock[PHASE])
        margins = np.array([margin(s, LAW, int(s.pulls.sum()), a) for a in range(10)])
        released(s, LAW, means)
        np.testing.assert_allclose(s.value[s.left], means[s.left], atol=1e-9)
        stay = before & (means + margins >= (means - margins)[before].max())
        np.testing.assert_array_equal(s.left, stay)
        assert (means.max() - means[s.left]).max() <= 2.1 * 0.5**phase
        assert (s.value[~s.left] == -math.inf).all()
    assert s.left.tolist() == (means == means.max()).tolist()
    rng = np.random.default_rng(1)
    assert AdaCGOPE.ask(s, ARMS, ALL, LAW, rng) == means.argmax()
    z = np.ones(3)
    AdaCGOPE.direction(s, int(means.argmax()), ARMS[0], z)
    np.testing.assert_array_equal(z, 0)
    AdaCGOPE.arrived(s, 0, z)
    assert not AdaCGOPE.due(s, LAW, 0, 10**9)


@for_each("noise", [GAUSSIAN, mb.noises.DiscreteLaplace(), mb.noises.Skellam()])
def test_noise_in_any_direction_is_bounded(noise) -> None:
    """Also along a diagonal and along one axis; a third of the bound would not be one."""
    law, rng, n, x = law_of(mb.channels.Central(epsilon=1, noise=noise), 4), np.random.default_rng(2), 4000, 3.0
    draws = np.reshape([noise.draws(law.scale * law.grid, 1.0, rng) for _ in range(4 * n)], (n, 4)) / law.grid
    for direction in ([1, 0, 0, 0], [0.5, 0.5, 0.5, -0.5], [0.8, 0, 0.6, 0]):
        off = np.abs(draws @ np.array(direction))
        at_most(int((off > direction_noise(law, 50, x)).sum()), n, 2 * math.exp(-x))
        with pytest.raises(AssertionError):
            at_most(int((off > direction_noise(law, 50, x) / 3).sum()), n, 2 * math.exp(-x))


@for_each("x", [0.5, 3.0, 12.0, 40.0])
def test_combinations_of_laplace_draws_have_chernoff_s_bound(x: float) -> None:
    """The cumulant of one of unit length is at most -ln(1 - lam^2); the tail of a single draw is lighter than that."""
    law, lam = law_of(mb.channels.Central(epsilon=1)), np.linspace(1e-4, 1 - 1e-9, 10**6)
    bound = law.scale * np.min((x - np.log1p(-lam * lam)) / lam)
    assert bound * (1 - 1e-9) <= direction_noise(law, 50, x) <= 1.02 * bound
    assert radius(law, 1, 50, x) < 0.97 * bound


@for_each("k", [3, 10])
def test_failures_are_shared_by_arms_and_phases(k: int) -> None:
    s = started(LAW, ARMS[:k])
    for phase in range(1, 4):
        assert chances(s) == pytest.approx(math.log(4 * k * phase * (phase + 1) / 0.001))
        released(s, LAW, np.full(k, 0.5))


@for_each("law", [LAW, NOISY, law_of(mb.channels.Central(epsilon="0.05"))], ids=["raw", "gauss", "laplace"])
def test_margins_are_hoeffding_s_bound_and_chernoff_s(law: Law) -> None:
    s = started(law)
    for _ in range(3):
        x, n = chances(s), int(s.pulls.sum())
        m = (s.pulls * s.z.T) @ s.u
        for a in range(10):
            v = np.linalg.solve(m.T, s.u[a])
            wanted = math.sqrt(x / 2 * (s.pulls * (s.z @ v) ** 2).sum()) + np.linalg.norm(v) * direction_noise(
                law, n, x
            )
            assert margin(s, law, n, a) == pytest.approx(wanted)
        released(s, law, np.full(10, 0.5))


@for_each("law", [NOISY, law_of(mb.channels.Central(epsilon="0.05"))], ids=["gaussian", "laplace"])
def test_margins_hold_and_without_the_noise_they_would_not(law: Law) -> None:
    """Bits and noise of a first phase, drawn directly; the plan is that of a channel with little noise."""
    s, rng, means, n = started(LAW), np.random.default_rng(3), ARMS @ THETA, 2000
    off = np.zeros((n, 10))
    for i in range(n):
        totals = rng.binomial(s.pulls, means) @ s.z
        draws = rng.normal(0, law.scale, 3) if law is NOISY else rng.laplace(0, law.scale, 3)
        off[i] = s.u @ s.inverse @ (totals + draws) - means
    allowed = 4 * math.exp(-chances(s))
    for a in range(10):
        at_most(int((np.abs(off[:, a]) > margin(s, law, 1000, a)).sum()), n, allowed)
        with pytest.raises(AssertionError):
            at_most(int((np.abs(off[:, a]) > margin(s, LAW, 1000, a)).sum()), n, allowed)


@pytest.mark.slow
@for_each("delay", [Constant(0), Constant(50), Geometric(20)])
def test_a_cohort_is_the_plan_and_late_users_add_nothing(delay) -> None:
    plans: list[np.ndarray] = []
    zs: list[np.ndarray] = []

    class Watched(AdaCGOPE):
        @staticmethod
        def direction(s, arm, x, z):
            AdaCGOPE.direction(s, arm, x, z)
            zs.append(z.copy())

        @staticmethod
        def tell(s, law, model, n, sums):
            assert s.clock[PLANNED] == s.clock[ARRIVED] == s.pulls.sum()
            assert s.open.sum() == 0
            plans.append(s.pulls.copy())
            AdaCGOPE.tell(s, law, model, n, sums)

    trail = played(Watched(), mb.channels.Raw(), CONTEXTS, 1500, seed=4, delay=delay)
    assert len(plans) >= 2
    inside = [any(z != 0) for z in zs]
    arms, begin = np.array([each.arm for each in trail.served])[inside], 0
    added = [each.reward * z for each, z in zip(trail.served, zs, strict=True) if any(z != 0)]
    for plan, found in zip(plans, trail.released, strict=True):
        end = begin + int(plan.sum())
        np.testing.assert_array_equal(np.bincount(arms[begin:end], minlength=10), plan)
        np.testing.assert_allclose(found.sums, np.sum(added[begin:end], axis=0), atol=1e-9)
        assert found.n >= plan.sum()
        begin = end
    waits = delay != Constant(0)
    assert any(found.n > plan.sum() for plan, found in zip(plans, trail.released, strict=True)) == waits


def test_an_arm_out_of_reach_is_not_asked_for() -> None:
    s, rng = started(LAW), np.random.default_rng(5)
    planned, others = np.flatnonzero(s.open > 0), np.flatnonzero(s.open == 0)
    assert AdaCGOPE.ask(s, ARMS, np.array([others[0], planned[1]]), LAW, rng) == planned[1]
    assert {int(AdaCGOPE.ask(s, ARMS, others[:2], LAW, rng)) for _ in range(40)} == set(others[:2].tolist())


def test_arms_that_change_are_refused() -> None:
    changing = mb.LinearContexts(d=3, k=4, model="shared")
    with pytest.raises(IllegalDecision):
        played(AdaCGOPE(), mb.channels.Raw(), changing, 50)


def test_arms_without_features_are_all_the_same() -> None:
    s = started(LAW, np.zeros((3, 2)))
    assert s.clock[RANK] == s.clock[PLANNED] == 0
    assert not AdaCGOPE.due(s, LAW, 0, 5)


def test_clipping_is_what_keeps_plans_in_the_ball() -> None:
    """A reward counts at most as much as if it was told of by itself: the mutant that is not clipped may exceed it."""
    s = started(LAW)
    for z in s.z:
        np.testing.assert_array_equal(clip_context(z), z)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(clip_context(2 * s.z[s.pulls > 0][0]), 2 * s.z[s.pulls > 0][0])


@pytest.mark.slow
def test_it_finds_the_best_arm() -> None:
    """The best arm is lost with a chance of 1/1000 in a run."""
    lost = played(mb.policies.RandomChoice(), mb.channels.Raw(), CONTEXTS, 15_000).regret
    for channel in (mb.channels.Raw(), mb.channels.Central(epsilon=1)):
        trail = played(AdaCGOPE(), channel, CONTEXTS, 15_000, seed=6)
        assert trail.regret < 0.6 * lost
        assert trail.play.state.left[(ARMS @ THETA).argmax()]
        found = AdaCGOPE().findings(trail.play.state)
        assert found["phases"] == len(trail.released)
        assert found["arms left"] < 10


@pytest.mark.slow
def test_at_a_rho_of_one_privacy_costs_next_to_nothing() -> None:
    """rho = epsilon^2 / 2; the regret of a run is known to within three percent."""
    lost = {
        name: mb.simulate(AdaCGOPE(), channel, CONTEXTS, 10**6, seed=7).regret[:, -1].mean()
        for name, channel in (
            ("none", mb.channels.Raw()),
            ("one", mb.channels.Central(epsilon="1.4142", noise=GAUSSIAN)),
            ("little", mb.channels.Central(epsilon="0.01", noise=GAUSSIAN)),
        )
    }
    assert lost["one"] < 1.07 * lost["none"]
    assert lost["little"] > 1.5 * lost["none"]  # the negative control
    random = mb.simulate(mb.policies.RandomChoice(), mb.channels.Raw(), CONTEXTS, 10**6).regret[0, -1]
    assert lost["one"] < 0.06 * random


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ada_c_gope", "ada_c_oful", "random_choice"])
def test_compiled_runs_are_those_of_python(name: str) -> None:
    policy, channel = mb.policies.room[name](), mb.channels.Central(epsilon=1)
    run = mb.simulate(policy, channel, CONTEXTS, 1000, seed=8, delay=Constant(20))
    trail = played(policy, channel, CONTEXTS, 1000, seed=8, delay=Constant(20))
    np.testing.assert_allclose(run.regret[0, -1], trail.regret, rtol=1e-12)
    np.testing.assert_array_equal(run.pulls[0], trail.play.progress.pulls)


def test_trees_are_refused_and_so_are_contexts_of_users() -> None:
    assert AdaCGOPE().needs(law_of(mb.channels.Tree()))
    assert not AdaCGOPE().needs(NOISY)
    assert AdaCGOPE().lacks(1, True)
    assert AdaCGOPE().lacks(10, False)
    assert not AdaCGOPE().lacks(10, True)
    with pytest.raises(InvalidValue, match="failure"):
        AdaCGOPE(failure=1)
