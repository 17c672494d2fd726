"""AdaC-OFUL: its ellipsoids hold the truth, its cohorts follow the determinant, and contexts are all that it keeps."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.contextual.ada_c_oful import LEAST_COHORT, AdaCOFUL, largest, length, refresh_models
from maskedbandit.policies.contextual_policy import Aim
from tests.for_each import for_each
from tests.policies.contextual_play import played
from tests.statistics import at_most

GAUSSIAN = mb.noises.DiscreteGaussian()
CONTEXTS = mb.LinearContexts(d=3, k=4, model="shared", seed=1)
THETA = CONTEXTS.parameters().weights[0]
LAW, AIM = Law(NO_NOISE), Aim(d=3, horizon=1000)


@dataclass(frozen=True)
class Watched(AdaCOFUL):
    """Writes down after every release how far off the weights are, and the width; a mutant forgets the noise."""

    log: ClassVar[list[tuple[float, float]]] = []
    forgets: ClassVar[bool] = False

    @classmethod
    def tell(cls, s, law, model, n, sums):
        AdaCOFUL.tell(s, law, model, n, sums)
        if cls.forgets:
            refresh_models(s, LAW)
        off = s.model.weights[0] - THETA
        v = s.model.gram[0] + s.model.ridge * np.eye(3)
        cls.log.append((math.sqrt(off @ v @ off), s.width[0]))


class Forgetful(Watched):
    log: ClassVar[list[tuple[float, float]]] = []
    forgets: ClassVar[bool] = True


@pytest.mark.slow
@pytest.mark.parametrize(
    "channel",
    [
        mb.channels.Central(epsilon="0.1", noise=GAUSSIAN),
        mb.channels.Central(epsilon="0.1"),
        mb.channels.Local(epsilon="0.5", noise=mb.noises.Skellam()),
        mb.channels.Tree(epsilon="0.2", noise=GAUSSIAN, length=64),
    ],
    ids=["gaussian", "laplace", "local", "tree"],
)
def test_ellipsoids_hold_the_truth(channel) -> None:
    """All ellipsoids of a run miss it with a chance of at most 1/20."""
    missed = {}
    for kind in (Watched, Forgetful):
        missed[kind] = 0
        for run in range(8):
            kind.log.clear()
            played(kind(norm=1.21, failure=0.05), channel, CONTEXTS, 150, seed=4, run=run)
            assert kind.log
            missed[kind] += any(off > width for off, width in kind.log)
    at_most(missed[Watched], 8, 0.05)
    with pytest.raises(AssertionError):
        at_most(missed[Forgetful], 8, 0.05)


@pytest.mark.slow
@for_each("noise", [GAUSSIAN, mb.noises.DiscreteLaplace(), mb.noises.Skellam()])
@for_each(("m", "d"), [(1, 1), (1, 6), (5, 3)])
def test_the_norm_of_noise_is_bounded(noise, m: int, d: int) -> None:
    channel = mb.channels.Central(epsilon=1, noise=noise).carrying(AdaCOFUL().statistics(d, True))
    law, rng, n = channel.law(), np.random.default_rng(5), 1500
    draws = [noise.draws(law.scale * law.grid, 1.0, rng) for _ in range(n * m * d)]
    norms = np.linalg.norm(np.reshape(draws, (n, m, d)).sum(axis=1) / law.grid, axis=1)
    at_most(int((norms > length(law, m, 100, d, 1.0)).sum()), n, math.exp(-1.0))
    with pytest.raises(AssertionError):
        at_most(int((norms > length(law, m, 100, d, 1.0) / 3).sum()), n, math.exp(-1.0))


@pytest.mark.slow
@for_each("d", [1, 2, 6, 30])
def test_the_largest_eigenvalue_is_bounded_closely(d: int) -> None:
    for seed in range(5):
        a = np.random.default_rng(seed).standard_normal((d, d))
        true = np.linalg.eigvalsh(a @ a.T)[-1]
        assert true * (1 - 1e-12) <= largest(a @ a.T) <= true * d ** (1 / 128) * (1 + 1e-12)
    np.testing.assert_allclose(largest(np.eye(d) * 1e-9), 1e-9 * d ** (1 / 128))


def test_the_determinant_is_followed_as_contexts_come() -> None:
    s, rng, open_, before = AdaCOFUL().init(4, AIM), np.random.default_rng(6), 0, 3 * math.log(0.1)
    for _ in range(400):
        z = rng.standard_normal(3) / 3
        AdaCOFUL.arrived(s, 0, z)
        open_ += 1
        v = s.model.gram[0] + 0.1 * np.eye(3)
        grown = np.linalg.slogdet(v)[1] - before
        np.testing.assert_allclose(s.grown[1], grown, rtol=1e-6)
        np.testing.assert_allclose(s.inverse @ v, np.eye(3), atol=1e-9)
        assert bool(AdaCOFUL.due(s, LAW, 0, open_)) == (open_ >= LEAST_COHORT and grown > math.log(2))
        if AdaCOFUL.due(s, LAW, 0, open_):
            AdaCOFUL.tell(s, LAW, 0, open_, np.ones(3))
            before, open_ = before + grown, 0
    assert 3 <= s.model.releases[0] <= 12


def test_bounds_are_those_of_the_last_release() -> None:
    s, x, rng = AdaCOFUL(norm=2).init(2, AIM), np.array([[0.6, 0.2, 0.1], [0.5, -0.4, 0.3]]), np.random.default_rng(7)
    z = rng.standard_normal((50, 3)) / 3
    for each in z:
        AdaCOFUL.arrived(s, 0, each)
    AdaCOFUL.tell(s, LAW, 0, 50, z.sum(axis=0))
    v = z.T @ z + 0.1 * np.eye(3)
    beta = math.sqrt((np.log(np.linalg.det(v) / 0.001) / 2 + math.log(2 / 0.001)) / 2) + 2 * math.sqrt(0.1)
    np.testing.assert_allclose(s.width[0], beta)
    bounds = x @ np.linalg.solve(v, z.sum(axis=0)) + beta * np.sqrt(np.sum(x * np.linalg.solve(v, x.T).T, axis=1))
    AdaCOFUL.arrived(s, 0, z[0])  # tells nothing before the release
    assert AdaCOFUL.ask(s, x, np.arange(2), LAW, rng) == bounds.argmax()


@for_each(
    ("channel", "draws"),  # in a release
    [
        (mb.channels.Central(epsilon="0.5", noise=GAUSSIAN), 1),
        (mb.channels.Local(epsilon="0.5", noise=GAUSSIAN), 40),
        (mb.channels.Central(epsilon="0.5"), 1),
    ],
    ids=["gaussian", "local", "laplace"],
)
def test_noise_widens_bounds_by_its_norm_over_the_root_of_the_least_eigenvalue(channel, draws: int) -> None:
    """Of all releases together, each with its own part of the failures: 1/2, 1/6, 1/12 and so on."""
    s, rng, v = AdaCOFUL().init(2, AIM), np.random.default_rng(9), 0.1 * np.eye(3)
    law = channel.carrying(AdaCOFUL().statistics(3, True)).law()
    for m in range(1, 5):
        z = rng.standard_normal((40, 3)) / 3 * [1, 0.5, 0.2]
        for each in z:
            AdaCOFUL.arrived(s, 0, each)
        v += z.T @ z
        AdaCOFUL.tell(s, law, 0, 40, np.zeros(3))
        beta = math.sqrt((np.log(np.linalg.det(v) / 0.001) / 2 + math.log(2 / 0.001)) / 2) + math.sqrt(0.1)
        x = math.log(2 * m * (m + 1) / 0.001)
        if channel.noise == GAUSSIAN:
            y = law.scale * math.sqrt(m * draws) * math.sqrt(3 + 2 * math.sqrt(3 * x) + 2 * x)
        else:
            y = math.sqrt(3) * radius(law, m, 40 * m, x + math.log(6))
        gamma = y / math.sqrt(np.linalg.eigvalsh(v)[0])
        assert gamma * (1 - 1e-9) <= s.width[0] - beta <= gamma * 3 ** (1 / 256) * (1 + 1e-9)


def test_what_rewards_are_multiplied_with_is_in_the_ball_and_on_the_grid() -> None:
    s, z = AdaCOFUL().init(2, AIM), np.zeros(3)
    for x in ([3.0, -4.0, 0.0], [0.5, 0.5, 0.5], [0.123, -0.456, 0.3], [1e300, math.nan, 1.0]):
        AdaCOFUL.direction(s, 0, np.array(x), z)
        steps = z * 256
        np.testing.assert_array_equal(steps, steps.round())
        assert sum(int(each) ** 2 for each in steps) <= 2**16


def test_cohorts_are_told_of_once_and_contexts_are_all_that_is_kept() -> None:
    trail = played(AdaCOFUL(), mb.channels.Raw(), CONTEXTS, 600, delay=mb.delays.Constant(5))
    begin, seen = 0, [z.reward * z.x for z in trail.served]
    for released in trail.released:
        np.testing.assert_allclose(released.sums, np.sum(seen[begin : begin + released.n], axis=0), atol=1e-12)
        begin += released.n
        assert released.users == begin + 5
    s = trail.play.state
    arrived = np.array([each.x for each in trail.served[: 600 - 6]])
    np.testing.assert_allclose(s.model.gram[0], arrived.T @ arrived, rtol=1e-9)


@pytest.fixture(scope="module")
def by_chance() -> float:
    """What random choice loses."""
    return played(mb.policies.RandomChoice(), mb.channels.Raw(), CONTEXTS, 2500, seed=8).regret


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channel", "fraction"),
    [
        (mb.channels.Raw(), 0.05),
        (mb.channels.Central(epsilon=1, noise=GAUSSIAN), 0.1),
        (mb.channels.Distributed(epsilon=1, noise=GAUSSIAN), 0.1),
        (mb.channels.SplitAndMix(epsilon=2), 0.2),
        (mb.channels.Tree(epsilon=1, noise=GAUSSIAN, length=64), 0.2),
        (mb.channels.Local(epsilon=2, noise=GAUSSIAN), 0.3),
    ],
    ids=lambda part: type(part).__name__,
)
def test_it_loses_far_less_than_random_choice(channel, fraction: float, by_chance: float) -> None:
    trail = played(AdaCOFUL(), channel, CONTEXTS, 2500, seed=8)
    assert trail.regret < fraction * by_chance
    assert len(trail.released) < 25


@for_each("wrong", [{"ridge": 0}, {"growth": -1}, {"norm": math.inf}, {"failure": 1}, {"failure": 0}])
def test_parameters_are_checked(wrong) -> None:
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        AdaCOFUL(**wrong)


def test_it_needs_a_context_for_every_arm() -> None:
    assert AdaCOFUL().lacks(1, False)
    assert not AdaCOFUL().lacks(4, False)
