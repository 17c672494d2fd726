"""UCB1: its regret, and a reference that is slow and independent. Seeds are fixed; error probabilities are stated."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.lab.streams import Rewards, Streams, draw_uniform
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.ucb1 import compare_arms
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.mutants import mutant

UCB1, RAW = mb.policies.UCB1, mb.channels.Raw()
TEN = mb.Bernoulli(np.linspace(0.1, 0.9, 10))
HORIZON = 10_000


def check_regret(policy: Policy, mean: float, error: float, runs: int = 1000) -> None:
    """Mean pseudo-regret of ten arms at 10,000, within 4 joint standard errors: wrong with probability 6e-5."""
    regret = mb.simulate(policy, RAW, TEN, HORIZON, runs=runs, seed=1).regret[:, -1]
    own = regret.std(ddof=1) / math.sqrt(runs)
    assert abs(regret.mean() - mean) <= 4 * math.hypot(error, own), f"{regret.mean():.1f} ± {own:.1f}, not {mean}"


def reference(first: list[int], means: np.ndarray, horizon: int, seed: int) -> list[int]:
    """UCB1 as on paper [ACF02, Fig. 1], on the rewards of the lab's first run, with the arms in this order at first."""
    keys, of_rewards, *_ = Streams(seed, "").of(run=0)
    total, n, arms = np.zeros(means.size), np.zeros(means.size), []
    for t in range(1, horizon + 1):
        if t <= means.size:
            arm = first[t - 1]
        else:
            arm = int(np.argmax(total / n + np.sqrt(2 * np.log(t) / n)))
        with np.errstate(over="ignore"):
            total[arm] += draw_uniform(Rewards(of_rewards, keys), t - 1) < means[arm]
        n[arm] += 1
        arms.append(arm)
    return arms


@pytest.mark.slow
def test_regret_is_that_of_the_literature():
    check_regret(UCB1(), 375.6, 0.7)


@pytest.mark.slow
@for_each("seed", [1, 2, 3])
def test_pulls_are_those_of_the_reference(seed):
    found = [arm for arm, _, _ in interpreted(UCB1(), RAW, TEN, 2000, seed).decisions]
    assert sorted(found[:10]) == list(range(10))
    arms = reference(found, np.linspace(0.1, 0.9, 10), 2000, seed)
    assert found == arms
    run = mb.simulate(UCB1(), RAW, TEN, 2000, seed=seed)
    assert run.pulls[0].tolist() == np.bincount(arms, minlength=10).tolist()


def test_every_pull_is_released_at_once():
    found = interpreted(UCB1(), RAW, TEN, 100)
    assert sorted(found.decisions[:10]) == [[arm, 1, 1] for arm in range(10)]
    assert found.releases == 100


def test_the_index_is_as_documented():
    """The chosen arm has the highest index, noise included; recomputed from what was told."""
    for law in (Law(NO_NOISE), mb.channels.Central(epsilon=0.5).law(), mb.channels.Response(epsilon=1).law()):
        s, rng = UCB1().init(4, 1000), np.random.Generator(np.random.PCG64(1))
        total, n = np.zeros(4), np.zeros(4)
        for t in range(1, 200):
            arm = UCB1.ask(s, law, rng).arm
            if t > 4:
                x = 4 * math.log(t)
                index = [
                    total[a] / n[a] + math.sqrt(2 * math.log(t) / n[a]) + radius(law, n[a], n[a], x) / n[a]
                    for a in range(4)
                ]
                assert index[arm] >= max(index) - 1e-12
            reward = float(rng.integers(-2, 4))
            UCB1.tell(s, arm, 1, reward)
            total[arm] += reward
            n[arm] += 1


@pytest.mark.slow
def test_another_index_is_rejected():
    """Negative control: sqrt(ln t / n) instead of sqrt(2 ln t / n)."""

    class Half(UCB1):
        compare = mutant(compare_arms, "spread = math.sqrt(2 * math.log(t))", "spread = math.sqrt(math.log(t))")
        ask = mutant(UCB1.ask, compare_arms=compare)

    found = [arm for arm, _, _ in interpreted(Half(), RAW, TEN, 2000, 1).decisions]
    assert found != reference(found, np.linspace(0.1, 0.9, 10), 2000, 1)
    with pytest.raises(AssertionError, match="not 383"):
        check_regret(UCB1(), 375.6 * 1.02, 0.7)
