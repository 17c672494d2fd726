"""The noise-aware index covers the mean as often as it says on every channel, and pays off.

Random tests have fixed seeds; under a new seed each assertion on a rate fails with probability ALPHA = 1e-9.
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import kernel
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import count_draws, count_steps
from maskedbandit.policies.regret.noise_aware_klucb import (
    FIRST_BATCH,
    MOST_KEPT,
    NoiseAwareKLUCB,
    choose_arm,
    exploration_rate,
    index,
    level,
)
from maskedbandit.theory.bet import bet_bound
from maskedbandit.theory.chernoff import chernoff_bound
from maskedbandit.theory.divergences import private_upper
from maskedbandit.theory.likelihood import ArmReleases, is_known
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.mutants import mutant
from tests.statistics import at_most

C1, C2 = mb.Bernoulli([0.75, 0.7, 0.7, 0.7, 0.7]), mb.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])
POLICY = NoiseAwareKLUCB()
perturb = noise = judge = None  # stand for kernels, see `misses`


def count(parameters, memory, law, batches, mu, f, epsilon, runs, rng):
    bad, totals = 0, np.empty(batches.size)
    for _ in range(runs):
        for i in range(batches.size):
            g, size = count_steps(law, batches[i]), batches[i]
            z = noise(law.scale * g, count_draws(law, 1, size), rng)
            totals[i] = perturb(parameters, memory, law, 0, max(g, 1.0) * rng.binomial(size, mu), size, z, rng)
        bad += judge(law, ArmReleases(totals, batches, batches.size), f, epsilon) < mu
    return bad


@kernel
def by_chernoff(law, known, f, epsilon):
    return chernoff_bound(law, known.total.sum(), known.m, known.n.sum(), f)


@kernel
def by_bets(law, known, f, epsilon):
    return bet_bound(law, known, known.n.sum(), f, 1.0)


@kernel
def forgetful(law, known, f, epsilon):
    n = known.n.sum()
    return private_upper(min(max(known.total.sum() / n, 0.0), 1.0), f / n, epsilon)


def misses(channel, batches, f, by=by_chernoff, mu=0.75, runs=200_000, seed=1):
    """How often the index of these batches lies below the mean."""
    go = compile_loop(count, perturb=channel.perturb, noise=channel.draws, judge=by)
    rng = np.random.Generator(np.random.PCG64(seed))
    epsilon = float(getattr(channel, "epsilon", 1))
    return go(channel.parameters(), channel.memory(1), channel.law(), np.array(batches), mu, f, epsilon, runs, rng)


BATCHES = [20, 20, 40, 80]


@pytest.mark.slow
class TestCoverage:
    """P(index < mean) <= exp(-f), for every channel; the exploration rate is low so that failures are seen."""

    @pytest.mark.parametrize(
        "channel",
        [
            mb.channels.Central(epsilon=0.1),
            mb.channels.Central(epsilon=1),
            mb.channels.Central(epsilon=0.2, noise=mb.noises.DiscreteGaussian()),
            mb.channels.Distributed(epsilon=0.2, noise=mb.noises.Skellam()),
            mb.channels.Distributed(epsilon=0.5, honest=0.8),
            mb.channels.Distributed(epsilon=0.5, noise=mb.noises.Skellam(), grid="paper"),
            mb.channels.Shuffled(epsilon=1),
            mb.channels.PureShuffled(epsilon=0.5),
            mb.channels.Local(epsilon=1),
            mb.channels.Response(epsilon=1),
            mb.channels.Raw(),
        ],
        ids=lambda channel: f"{type(channel).__name__}-{type(getattr(channel, 'noise', None)).__name__}",
    )
    @pytest.mark.parametrize("mu", [0.05, 0.75])
    def test_index_covers_the_mean(self, channel, mu):
        """Rates of failure may be 0.37 and 0.05: so many runs would show 0.39 and 0.061, and of bets 0.44 and 0.086.

        But for one time in a thousand.
        """
        for f in (1.0, 3.0):
            for by in (by_chernoff, by_bets) if is_known(channel.law()) else (by_chernoff,):
                runs = 4000 if by is by_bets else 40_000  # the likelihood of Skellam noise takes long
                at_most(misses(channel, BATCHES, f, by=by, mu=mu, runs=runs), runs, math.exp(-f))

    def test_an_index_that_forgets_the_noise_of_releases_is_caught(self):
        channel, batches = mb.channels.Central(epsilon=0.1), [1, 1, 2, 4, 8, 16, 32, 64, 128, 256]
        f, runs = math.log(1000), 100_000
        for by in (by_chernoff, by_bets):
            at_most(misses(channel, batches, f, by=by, runs=runs), runs, 1e-3)
        with pytest.raises(AssertionError, match="more than"):
            at_most(misses(channel, batches, f, by=forgetful, runs=runs), runs, 1e-3)


class TestSchedule:
    def test_first_batches_carry_little_noise(self):
        s, law, rng = POLICY.init(3, 10**6), mb.channels.Central(epsilon=0.1).law(), np.random.default_rng(1)
        asked = [POLICY.ask(s, law, rng) for _ in range(4)]
        assert sorted(each.arm for each in asked[:3]) == [0, 1, 2]
        assert asked[3].n == 3 * asked[0].n
        n = asked[0].n
        assert n >= 20 * math.log1p(10**6 / n)
        assert n - 1 < 20 * math.log1p(10**6 / (n - 1))

    def test_exploration_rate_is_the_cost_of_a_failure(self):
        s = POLICY.init(3, 10**6)
        for n in (1, 1000, 10**6):
            assert exploration_rate(s, n, 60) == math.log1p(10**6 / n)
        s = NoiseAwareKLUCB(anytime=True).init(3, 10**6)
        s.clock[0] = 99
        assert exploration_rate(s, 1, 1) == exploration_rate(s, 50, 10**5) == math.log(100)

    def test_it_is_less_where_first_batches_take_much_of_the_horizon(self):
        s = POLICY.init(3, 10**6)
        assert exploration_rate(s, 9000, 1666) == exploration_rate(s, 9000, 1) == math.log1p(10**6 / 9000)
        assert exploration_rate(s, 9000, 20_000) == pytest.approx(math.log1p(10**6 / 9000 / 12))
        n = POLICY.ask(s, mb.channels.Central(epsilon=0.001).law(), np.random.default_rng(1)).n
        assert n >= 2000 * math.log1p(10**12 / (600 * n**2))
        assert n - 1 < 2000 * math.log1p(10**12 / (600 * (n - 1) ** 2))

    def test_it_is_less_for_many_arms_at_horizons_that_are_longer(self):
        ten, many = POLICY.init(10, 10**6), POLICY.init(100, 10**6)
        assert exploration_rate(ten, 9000, 500) == exploration_rate(many, 9000, 5) == math.log1p(10**6 / 9000)
        assert exploration_rate(many, 9000, 50) == pytest.approx(math.log1p(10**6 / 9000 / 10))

    def test_batches_grow_by_the_ratio(self):
        found = interpreted(POLICY, mb.channels.Central(epsilon=0.5), C2, 10**5, seed=3)
        n = [0] * 5
        for arm, users, close in found.decisions:
            assert close == 1
            if n[arm]:
                assert users == math.ceil(1.5 * n[arm]) - n[arm]
            n[arm] += users

    def test_least_is_the_smallest_cohort(self):
        found = interpreted(NoiseAwareKLUCB(least=64), mb.channels.Raw(), C2, 10**4)
        assert min(users for _, users, _ in found.decisions) == 64
        assert sum(users == 64 for _, users, _ in found.decisions) > 5  # of every arm the first two

    def test_short_horizons_leave_users_for_what_was_learned(self):
        found = interpreted(POLICY, mb.channels.Central(epsilon=0.1), C2, 1000)
        assert sum(users for _, users, _ in found.decisions[:5]) < 500

    def test_anytime_does_what_it_would_do_at_any_later_horizon(self):
        policy, channel = NoiseAwareKLUCB(anytime=True), mb.channels.Central(epsilon=0.5)
        for horizon in (1000, 5000):
            short, long = (interpreted(policy, channel, C2, T, seed=5) for T in (horizon, 20_000))
            assert short.decisions == long.decisions[: len(short.decisions)]

    @for_each(
        ("wrong", "name"),
        [({"ratio": 1}, "ratio"), ({"ratio": 1e300}, "ratio"), ({"least": 0}, "least"), ({"anytime": 2}, "anytime")],
    )
    def test_bad_parameters_are_named(self, wrong, name):
        with pytest.raises(mb.errors.InvalidValue, match=name):
            NoiseAwareKLUCB(**wrong)


class TestIndex:
    """Which bound is the index, and at which level."""

    @staticmethod
    def told(law, releases, horizon=10**6, policy=POLICY):
        """The state after these releases of arm 0."""
        s = policy.init(2, horizon)
        s.clock[FIRST_BATCH] = releases[0][0]
        for n, total in releases:
            s.asked[0] += n
            s.flight[0] += 1
            policy.tell(s, 0, n, total)
        return s

    def test_it_is_by_bets_where_the_likelihood_is_known(self):
        releases, law = [(200, 90.0), (100, 41.0)], mb.channels.Central(epsilon=0.5).law()
        s = self.told(law, releases)
        known = ArmReleases(np.array([90.0, 41.0]), np.array([200, 100]), 2)
        dropouts = mb.channels.Distributed(epsilon=0.5, honest=0.8).law()
        indices = [index(s, noise, 0, 1.0) for noise in (law, dropouts)]
        assert indices == [bet_bound(noise, known, 300, level(s, 0), 1.0) for noise in (law, dropouts)]
        assert indices[0] < indices[1]
        many = self.told(law, [(10, 4.0)] * (MOST_KEPT + 1))
        anytime = self.told(law, releases, policy=NoiseAwareKLUCB(anytime=True))
        for state, noise in ((many, law), (anytime, law), (s, mb.channels.Raw().law())):
            n, m = state.n[0], state.m[0]
            assert index(state, noise, 0, 1.0) == chernoff_bound(
                noise, state.total[0], m, n, exploration_rate(state, n, 200 if m == 2 else 10)
            )

    @for_each(("n", "more"), [(60, 0.0), (100, 0.0), (700, math.log(7))])
    def test_a_large_first_batch_needs_more_and_further_ones_less(self, n, more):
        law = mb.channels.Central(epsilon=0.02).law()
        for m in (1, 2, 5):
            s = self.told(law, [(n, n / 2)] * m)
            assert level(s, 0) == pytest.approx(exploration_rate(s, n * m, n) + more / m)

    def test_users_in_flight_count_as_if_they_showed_the_same(self):
        s = self.told(mb.channels.Central(epsilon=0.5).law(), [(50, 20.0)])
        s.asked[0] += 25
        assert level(s, 0) == pytest.approx(exploration_rate(s, 75, 50) * 50 / 75)

    def test_the_first_batch_is_that_which_was_asked_for(self):
        """In whichever order releases come, and also where the second batch is smaller."""
        law, levels = mb.channels.Central(epsilon=0.1).law(), list[float]()
        for order in ((118, 59), (59, 118)):
            s = POLICY.init(100, 10**6)
            arm, users, _ = POLICY.ask(s, law, np.random.default_rng(1))
            assert (users, s.clock[FIRST_BATCH]) == (118, 118)
            for n in order:
                POLICY.tell(s, arm, n, n / 2)
            s.asked[arm] = 177
            levels.append(level(s, arm))
        rate = math.log1p(10**6 / 177 * 10**6 / (20 * 100 * 100 * 118))
        assert levels == pytest.approx([rate + math.log(1.18) / 2] * 2)

    @for_each(("of_the_other", "arm"), [(0.2, 0), (0.9, 1)])
    def test_one_index_is_sought_up_to_the_largest_of_the_others(self, of_the_other, arm):
        law = mb.channels.Central(epsilon=1).law()
        s = self.told(law, [(200, 90.0)])
        s.value[1] = of_the_other
        assert choose_arm(s, law, None) == arm
        assert s.value[0] == pytest.approx(index(s, law, 0, 1.0), rel=0.01) if arm == 1 else math.isnan(s.value[0])
        s.value[0] = math.nan
        assert (
            mutant(choose_arm, "if value >= known", "if value > 0.0")(s, law, None) == 0
        )  # whatever the other one shows


class TestRegret:
    """Means over 200 runs; the allowance is five standard errors, so a bound that holds fails with chance < 1e-6."""

    @pytest.mark.parametrize(("epsilon", "most"), [(0.1, 1300), (0.5, 320), (1, 210)])
    @pytest.mark.slow
    def test_of_the_reference_instance(self, epsilon, most):
        last = mb.simulate(POLICY, mb.channels.Central(epsilon=epsilon), C2, 10**6, runs=200, seed=1).regret[:, -1]
        assert last.mean() + 5 * last.std() / math.sqrt(200) < most
        assert last.max() < 3 * last.mean()

    @pytest.mark.slow
    def test_distributed_trust_costs_nothing_more_than_central(self):
        central, distributed = (
            mb.simulate(POLICY, channel, C1, 10**6, runs=200, seed=seed).regret[:, -1]
            for seed, channel in enumerate((mb.channels.Central(epsilon=0.5), mb.channels.Distributed(epsilon=0.5)))
        )
        error = math.hypot(central.std(), distributed.std()) / math.sqrt(200)
        assert abs(central.mean() - distributed.mean()) < 6 * error

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("means", "most"), [("easy", (0.00302, 0.00094, 0.00075)), ("hard", (0.00364, 0.00220, 0.00210))]
    )
    def test_over_distributed_trust_on_clipped_gaussian_rewards(self, means, most):
        """Time-average regret over twenty instances at a million users, cohorts of 64 or more."""
        for epsilon, bound in zip((0.1, 0.5, 1), most, strict=True):
            channel = mb.channels.Distributed(epsilon=epsilon)
            found = [
                mb.simulate(
                    NoiseAwareKLUCB(least=64),
                    channel,
                    mb.ClippedGaussian(mb.uniform_means(means, 10, seed), sd=0.1),
                    10**6,
                    runs=5,
                    seed=seed,
                )
                .regret[:, -1]
                .mean()
                for seed in range(20)
            ]
            assert np.mean(found) / 10**6 < 0.75 * bound

    @pytest.mark.slow
    def test_grows_with_the_logarithm_of_the_horizon(self):
        channel = mb.channels.Central(epsilon=0.1)
        means = [mb.simulate(POLICY, channel, C2, T, runs=100, seed=2).regret[:, -1].mean() for T in (10**6, 10**9)]
        assert means[1] < 1.75 * means[0]  # ln 10^9 / ln 10^6 = 1.5
