"""DP-UCB: its radius, its index, and the price of the paper's constants. Seeds are fixed; errors are stated."""

from __future__ import annotations

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import BINARY, HONAKER, HYBRID, KARY, LAPLACE, NO_NOISE, Law, nodes, widest_scale
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.regret.dpucb import bound_noise, compare_arms
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.mutants import mutant
from tests.statistics import at_most
from tests.thrift import thrifty

DPUCB, UCB1, Tree = mb.policies.DPUCB, mb.policies.UCB1, mb.channels.Tree
FIVE = mb.Bernoulli([0.4, 0.4, 0.4, 0.4, 0.9])
X = [0.5, 1.0, 3.0, 10.0, 30.0, 80.0]
COUNTS = [1, 2, 3, 7, 60, 1000, 2**17 - 1, 123_456]


class TestRadius:
    @for_each("x", X)
    @for_each("counter", [BINARY, HONAKER, KARY, HYBRID])
    def test_is_chernoffs_bound(self, counter, x):
        """Never below the searched minimum; nearly on it, where the steps are fine."""
        for scale in (0.3, 5.0, 200.0):
            law = Law(LAPLACE, scale, grid=1.0, counter=counter, arity=19)
            fine = law._replace(grid=1e6)
            for m in COUNTS:
                assert bound_noise(law, m, m, x) >= radius(law, m, m, x) * (1 - 1e-12)
                assert bound_noise(fine, m, m, x) <= radius(fine, m, m, x) * 1.001
                assert bound_noise(law, m, m, x) <= widest_scale(law, m) * (2 * math.sqrt(nodes(law, m) * x) + x)

    def test_of_other_noises_is_that_of_the_law(self):
        for channel in (Tree(noise=mb.noises.DiscreteGaussian()), mb.channels.Response(), mb.channels.Raw()):
            assert bound_noise(channel.law(), 5, 5, 3.0) == radius(channel.law(), 5, 5, 3.0)
        assert bound_noise(Law(LAPLACE, 1.0, grid=1.0), 5, 5, 3.0) == 0

    @pytest.mark.parametrize(
        "counter", thrifty(["binary", "honaker", "kary", "hybrid"], lambda counter: counter != "kary")
    )
    def test_covers_the_running_sums(self, counter):
        """At every count, each as its own test; wrong with probability ALPHA. Half the radius does not cover them."""
        channel, runs, missed = Tree(epsilon=1, counter=counter, length=20), 1000, 0
        law, memory, rng = channel.law(), channel.memory(runs), np.random.Generator(np.random.PCG64(1))
        perturb, parameters = channel.perturb, channel.parameters()
        changes = [[perturb(parameters, memory, law, i, 0.0, 1, 0, rng) for _ in range(20)] for i in range(runs)]
        for m, sums in enumerate(abs(np.cumsum(changes, axis=1)).T, 1):
            for x in (1.0, 4.0):
                bound = bound_noise(law, m, m, x)
                at_most(np.count_nonzero(sums > bound + 1e-9), runs, 2 * math.exp(-x))
                missed += np.count_nonzero(sums > bound / 2) > 1.5 * runs * 2 * math.exp(-x)
        assert missed > 5


def index(interval: str, law: Law, total: float, n: int, t: int, k: int, horizon: int, p: float) -> float:
    """The index as on paper."""
    if interval == "chapelle-li":
        return total / n + math.sqrt(max(total, 0) * math.log(t)) / n + math.log(t) / n
    extra = bound_noise(law, n, n, math.log(2 * k * horizon / p))
    if interval == "paper":
        log, levels = math.log(horizon), math.floor(math.log2(horizon)) + 1
        epsilon = k * levels / law.scale  # a tree has epsilon / k
        extra = k * log**2 * math.log(k * horizon * log / p) / epsilon
    return total / n + math.sqrt(2 * math.log(t) / n) + extra / n


def check_index(policy: mb.policies.Policy, interval: str) -> None:
    """The arm has the highest index, recomputed from what was told."""
    channel, k, horizon = Tree(epsilon=3, counter="binary", length=1024, divide=4), 4, 1024
    law, s, rng = channel.law(), policy.init(4, horizon), np.random.Generator(np.random.PCG64(1))
    total, n = np.zeros(k), np.zeros(k, int)
    for t in range(1, 400):
        arm = policy.ask(s, law, rng).arm
        if t <= k:
            assert n[arm] == 0
        else:
            found = [index(interval, law, total[a], int(n[a]), t, k, horizon, 0.1) for a in range(k)]
            assert found[arm] >= max(found) - 1e-9, "another arm"
        reward = float(rng.integers(-2, 4))
        policy.tell(s, arm, 1, reward)
        total[arm] += reward
        n[arm] += 1


@for_each("interval", ["corrected", "paper", "chapelle-li"])
def test_the_index_is_as_documented(interval):
    check_index(DPUCB(interval=interval, failure=0.1), interval)


def test_another_index_is_rejected():
    """Negative control: sqrt(ln t / n) instead of sqrt(2 ln t / n)."""

    class Half(DPUCB):
        ask = mutant(DPUCB.ask, compare_arms=mutant(compare_arms, "math.sqrt(2 * log_t)", "math.sqrt(log_t)"))

    with pytest.raises(AssertionError, match="another arm"):
        check_index(Half(failure=0.1), "corrected")


def test_without_noise_it_is_ucb1():
    raw = mb.channels.Raw()
    ours, ucb1 = (interpreted(policy(), raw, FIVE, 2000).decisions for policy in (DPUCB, UCB1))
    assert ours == ucb1
    assert DPUCB().init(3, 10).x == pytest.approx(math.log(2 * 3 * 10 * 10))
    assert bound_noise(Law(NO_NOISE), 5, 5, 3.0) == 0


@pytest.mark.slow
def test_with_much_epsilon_it_costs_little_more_than_ucb1():
    ours = mb.simulate(DPUCB(), Tree(epsilon=1000, length=20_000), FIVE, 20_000, runs=20, seed=1).regret[:, -1]
    ucb1 = mb.simulate(UCB1(), mb.channels.Raw(), FIVE, 20_000, runs=20, seed=1).regret[:, -1]
    assert ours.mean() < 1.1 * ucb1.mean()


@pytest.mark.slow
@pytest.mark.parametrize("counter", ["binary", "kary"])
def test_bad_arms_are_pulled_as_often_as_promised(counter):
    """n_a <= max{32 ln T / gap^2, 4 max G / gap} + 1 in every run: wrong with a probability below 1e-4 per run."""
    horizon = 100_000
    channel = Tree(epsilon=1, counter=counter, length=horizon)
    most = max(
        bound_noise(channel.law(), m, m, math.log(2 * 5 * horizon**2)) for m in range(1, 40_000, 41)
    )  # a bound that is a little too strict
    bound = max(32 * math.log(horizon) / 0.5**2, 4 * most / 0.5) + 1
    pulls = mb.simulate(DPUCB(), channel, FIVE, horizon, runs=10, seed=1).pulls
    assert pulls[:, :4].max() <= bound < horizon / 5


@pytest.mark.slow
def test_what_the_paper_pays_for_its_constants():
    """Less noise for the same loss, and less allowance for it: at epsilon 1 the regret falls to a tenth."""
    horizon = 100_000
    paper = Tree(epsilon=1, counter="binary", length=horizon, divide=5)
    literal = mb.simulate(DPUCB(interval="paper", failure=0.1), paper, FIVE, horizon, runs=5, seed=1)
    best = mb.simulate(DPUCB(), Tree(epsilon=1, length=horizon), FIVE, horizon, runs=5, seed=1)
    assert 10 * best.regret[:, -1].max() < literal.regret[:, -1].min() < 0.4 * horizon
    assert (best.loss.epsilon(), literal.loss.epsilon()) == (1.0, 0.2)


class TestPrintedRelaxation:
    """Γ = k ln² T ln(k T ln T / γ) / ε, which is to cover all running sums of all arms [MT15, Lem. 5]."""

    def printed(self, k, horizon, failure):
        """Γ in the policy, and the law of its tree at ε = 1."""
        law = Tree(epsilon=1, counter="binary", length=horizon, divide=k).law()
        relaxed = DPUCB(interval="paper", failure=failure).init(k, horizon).relaxed * law.scale
        log = math.log(horizon)
        assert relaxed == pytest.approx(k * log**2 * math.log(k * horizon * log / failure))
        return relaxed, law

    @for_each("k", [2, 5, 100])
    @for_each("failure", [0.1, 1e-6])
    def test_covers_the_sums_of_73_users_and_more(self, k, failure):
        """It is above a bound of Chernoff's that holds for all sums at once, with a failure of this probability."""
        for horizon in (73, 74, 100, 127, 128, 1000, 1023, 1024, 10**6, 2**30):
            relaxed, law = self.printed(k, horizon, failure)
            noisiest = 2 ** (horizon.bit_length() - 1) - 1  # all binary digits are 1
            assert relaxed > bound_noise(law, noisiest, noisiest, math.log(2 * k * horizon / failure))

    def test_allows_each_arm_more_pulls_than_there_are_users(self):
        """8 Γ / gap² of each of the four worse arms, in the setting of [MT15, Fig. 1] at ε = 1."""
        relaxed, _ = self.printed(k=5, horizon=10**6, failure=0.1)
        assert 4 * 8 * relaxed / 0.5**2 > 2 * 10**6

    def test_does_not_cover_those_of_two_users(self):
        """Exactly: the first release has one draw, and is off by more than Γ with four times the probability."""
        relaxed, law = self.printed(k=2, horizon=2, failure=0.1)
        noise = mb.noises.DiscreteLaplace(round(law.scale))
        assert (round(relaxed, 2), law.scale, nodes(law, 1)) == (3.19, 4.0, 1.0)
        outside = 2 * noise.pmf(np.arange(math.floor(relaxed) + 1, 400)).sum()
        assert outside == pytest.approx(0.414, abs=1e-3)
        assert outside > 4 * 0.1


class TestSettings:
    def test_the_papers_interval_is_for_binary_laplace_trees(self):
        paper = DPUCB(interval="paper")
        for channel in (Tree(), mb.channels.Central(), Tree(counter="binary", noise=mb.noises.DiscreteGaussian())):
            assert "binary" in paper.needs(channel.law())
            assert DPUCB().needs(channel.law()) == DPUCB(interval="chapelle-li").needs(channel.law()) == ""
        assert paper.needs(Tree(counter="binary").law()) == ""

    @for_each(("name", "value"), [("interval", "best"), ("failure", 0), ("failure", 1.5)])
    def test_that_mean_nothing_are_refused(self, name, value):
        with pytest.raises(InvalidValue, match=name):
            DPUCB(**{name: value})
