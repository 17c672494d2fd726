"""Replay is unbiased: where chances are known, all estimates are of what the policy is worth, or the log is refused.

Seeds are fixed; under a new seed an estimate of a correct replay is 4 standard errors off with probability 6e-5, and a
comparison of distributions rejects it with probability ALPHA = 1e-9. Every mutant is off by much more.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import BiasedLog
from maskedbandit.lab.goals.replay import log_contexts
from maskedbandit.lab.goals.replay.replay import replay
from maskedbandit.lab.goals.replay.replayed import ReplayedContexts
from maskedbandit.lab.goals.replay.scrutiny import Scrutiny
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.logs.newsroom import Newsroom
from maskedbandit.policies.contextual.fixed_weights import FixedWeights
from maskedbandit.policies.contextual.lin_ucb import LinUCB
from tests.lab.corner import RATES, Corner, Live
from tests.statistics import at_most, mean_is, same_distribution_of_two

RAW, FAR = mb.channels.Raw(), 4.0
UNIFORM = Newsroom(events=80_000, seed=3, size=5, lifetime=60_000)
BIASED = replace(UNIFORM, bias=0.6)


# --- the value of a fixed policy on a log with known chances ---------------------------------------------------


def fixed(log: Newsroom) -> FixedWeights:
    """Weights that prefer what is clicked by some groups: the policy depends on the user."""
    rng = np.random.Generator(np.random.PCG64(5))
    return FixedWeights(rng.normal(size=(log.k, log.d)))


def value(policy: FixedWeights, log: Newsroom, seed: int = 0) -> float:
    """What the policy earns from the users of the log."""
    weights, total, start = np.array(policy.weights), 0.0, 0
    arms = log.pools()[1].reshape(-1, log.size)
    for chunk in log.chunks(seed):
        x = np.trunc(chunk.user / np.sqrt(2.0) * 256) / 256
        chosen = arms[chunk.pool, np.einsum("nad,nd->na", weights[arms[chunk.pool]], x).argmax(axis=1)]
        total += log.click_rate(chunk.user, chosen, start + np.arange(chosen.size)).sum()
        start += chosen.size
    return total / log.events


def deviations(found: ReplayedContexts, truth: float) -> list[float]:
    """How far the three estimates are off, in standard errors: of rejection, by inverse propensity, self-normalised."""
    by = (found.rate, found.rate_error), (found.weighted, found.weighted_error)
    return [float((x[0] - truth) / e[0]) for x, e in (*by, (found.normalised, found.normalised_error))]


def check_estimates(log: Newsroom, truth: float) -> None:
    off = deviations(replay(fixed(log), RAW, log, seed=1), truth)
    assert np.all(np.abs(off) < FAR), f"{np.round(off, 1)} standard errors off"


class SaidToBeUniform(Newsroom):
    """The chances of a biased log are forgotten."""

    def chunks(self, seed=0):
        for chunk in super().chunks(seed):
            yield chunk._replace(propensity=np.full(chunk.arm.size, 1 / self.size))


@pytest.mark.slow
@pytest.mark.parametrize("log", [UNIFORM, BIASED], ids=["uniform", "biased"])
def test_all_estimates_are_of_the_true_value(log):
    truth = value(fixed(log), log)
    check_estimates(log, truth)
    found = replay(fixed(log), RAW, log, seed=1)
    assert found.weighted_error[0] < truth / 15
    with pytest.raises(AssertionError, match="standard errors off"):
        check_estimates(log, 1.6 * truth)


@pytest.mark.slow
def test_a_uniform_log_is_used_to_the_last_match():
    found = replay(fixed(UNIFORM), RAW, UNIFORM, seed=1)
    assert found.users[0] == found.matched[0]
    assert found.rate[0] == pytest.approx(found.normalised[0], rel=1e-12)
    biased = replay(fixed(BIASED), RAW, BIASED, seed=1)
    assert biased.users[0] < biased.matched[0]


@pytest.mark.slow
def test_a_random_arm_is_worth_what_the_log_of_random_arms_earned():
    found = replay(fixed(BIASED), RAW, BIASED, seed=1)
    clicks = np.concatenate([chunk.click for chunk in UNIFORM.chunks(0)])
    assert abs(found.random[0] - clicks.mean()) < FAR * np.sqrt(3 * clicks.var() / clicks.size)


def test_a_biased_log_that_says_it_is_uniform_is_refused():
    broken = SaidToBeUniform(BIASED.events, BIASED.seed, BIASED.size, BIASED.lifetime, 0.6)
    with pytest.raises(BiasedLog, match="standard deviations off"):
        replay(fixed(broken), RAW, broken, seed=1)


# --- a small log, and the same users in reality -------------------------------------------------------------------

HORIZON, RUNS = 40, 700
LEARNS = LinUCB(alpha=0.5)


@pytest.fixture
def gullible(monkeypatch) -> None:
    """A replay that believes a log whose chances are below the least that it states."""
    monkeypatch.setattr(log_contexts, "refuse_impossible", lambda chunk, least: None)


@pytest.fixture(scope="module")
def lived() -> np.ndarray:
    """Clicks of so many users, in real runs of a policy that learns."""
    found = mb.simulate(LEARNS, RAW, Live(), HORIZON, RUNS, seed=5)
    return found.reward[:, -1].astype(np.int64)


def replayed(log: Log) -> np.ndarray:
    found = replay(LEARNS, RAW, log, horizon=HORIZON, runs=RUNS, seed=6)
    assert np.all(found.users == HORIZON)
    return found.clicks.astype(np.int64)


@pytest.mark.slow
@pytest.mark.parametrize("biased", [False, True], ids=["uniform", "biased"])
def test_a_policy_that_learns_lives_through_what_it_would_in_reality(lived, biased):
    """In pools of different sizes, and where what is shown depends on the user."""
    same_distribution_of_two(replayed(Corner(biased=biased)), lived)


@pytest.mark.slow
@pytest.mark.parametrize("biased", [False, True], ids=["uniform", "biased"])
def test_matches_that_are_all_taken_are_another_distribution(lived, biased, gullible):
    """Users with fewer articles to show, or who are shown what the policy prefers, would be too many."""
    with pytest.raises(AssertionError, match="two distributions"):
        same_distribution_of_two(replayed(Corner(biased=biased, least=1.0)), lived)


WEIGHTS = FixedWeights([[0.0, 0.2], [0.1, 0.0], [-0.1, 1.0]])  # article 1 for group 0; for group 1 article 2, or else 0
WORTH = (RATES[0, 1] + 0.05 * RATES[1, 0] + 0.95 * RATES[1, 2]) / 2


@pytest.mark.slow
@pytest.mark.parametrize("biased", [False, True], ids=["uniform", "biased"])
def test_estimates_hold_in_pools_of_different_sizes(biased, gullible):
    log = Corner(50_000, biased)
    off = deviations(replay(WEIGHTS, RAW, log, seed=2), WORTH)
    assert np.all(np.abs(off) < FAR), f"{np.round(off, 1)} standard errors off"
    off = deviations(replay(WEIGHTS, RAW, replace(log, least=1.0), seed=2), WORTH)
    assert abs(off[0]) > 2 * FAR
    assert np.all(np.abs(off[1:]) < FAR)


@pytest.mark.slow
@pytest.mark.parametrize("biased", [False, True], ids=["uniform", "biased"])
def test_over_many_logs_estimates_are_unbiased_and_errors_honest(biased, gullible):
    found = replay(WEIGHTS, RAW, Corner(2000, biased), runs=300, seed=3)
    for mean, error in ((found.rate, found.rate_error), (found.weighted, found.weighted_error)):
        mean_is(mean, WORTH)
        at_most(int((np.abs(mean - WORTH) > 2 * error).sum()), 300, 0.05)
    at_most(int((np.abs(found.normalised - WORTH) > 2 * found.normalised_error).sum()), 300, 0.05)
    every = replay(WEIGHTS, RAW, Corner(2000, biased, least=1.0), runs=300, seed=3)
    with pytest.raises(AssertionError, match="the mean is"):
        mean_is(every.rate, WORTH)


@dataclass(frozen=True)
class Flat(Corner):
    """Weights are ignored: every visit is told with one chance."""

    def chunks(self, seed=0):
        for chunk in super().chunks(seed):
            yield chunk._replace(propensity=np.full(chunk.arm.size, 0.4))


@pytest.mark.slow
@pytest.mark.parametrize("biased", [False, True], ids=["uniform", "biased"])
def test_without_weights_every_estimate_is_wrong_and_the_log_is_refused(biased, monkeypatch):
    log = Flat(50_000, biased, least=0.4)
    with pytest.raises(BiasedLog, match="standard deviations off"):
        replay(WEIGHTS, RAW, log, seed=2)
    monkeypatch.setattr(Scrutiny, "judge", lambda self: None)
    assert np.all(np.abs(deviations(replay(WEIGHTS, RAW, log, seed=2), WORTH)) > 2 * FAR)
