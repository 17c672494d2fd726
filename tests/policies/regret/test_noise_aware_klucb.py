"""The noise-aware index is the Chernoff bound it says it is, covers the mean as often as it says, and pays off.

Random tests have fixed seeds; under a new seed each assertion on a rate fails with probability ALPHA = 1e-9.
"""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import maskedbandit as mb
from maskedbandit.core import kernel
from maskedbandit.lab.engine.compiler import compiled
from maskedbandit.law import LAPLACE, NO_NOISE, Law, draws, log_mgf_of_sum, steps
from maskedbandit.policies.regret.noise_aware_klucb import NoiseAwareKLUCB, exploration_rate, index
from maskedbandit.theory.divergences import kl_upper, private_upper
from tests.golden import interpreted
from tests.statistics import at_most

C1, C2 = mb.Bernoulli([0.75, 0.7, 0.7, 0.7, 0.7]), mb.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])
CONTINUOUS = 10**6  # steps: discrete Laplace noise is Laplace noise to within 1e-12 of its cumulant
POLICY = NoiseAwareKLUCB()


def laplace(epsilon):
    return Law(LAPLACE, scale=1 / epsilon, grid=CONTINUOUS, per_release=1)


def evidence(law, x, m, n, q, most):
    """I(q), by maximizing the bracket itself."""

    def bracket(lam):
        return lam * x + n * math.log1p(q * math.expm1(-lam)) + log_mgf_of_sum(law, m, n, lam)

    return max(0.0, -minimize_scalar(bracket, bounds=(0, most), method="bounded", options={"xatol": 1e-12}).fun)


def by_definition(law, x, m, n, f, most):
    """max{q : I(q) <= f}, by bisection; None if there is none."""
    if evidence(law, x, m, n, 1e-12, most) > f:
        return None
    if evidence(law, x, m, n, 1 - 1e-12, most) <= f:
        return 1.0
    return brentq(lambda q: evidence(law, x, m, n, q, most) - f, 1e-12, 1 - 1e-12, xtol=1e-12)


class TestIndex:
    def test_numbers_known_beforehand(self):
        batches = [1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
        luck = [0.5, -1, 2, 0, 0.3, -0.7, 1.1, -2, 0.4, 0.6, -0.2]
        x, n = 0.3 * sum(batches) + sum(luck), sum(batches)
        assert index(laplace(0.5), x, 11, n, math.log(1e5)) == pytest.approx(0.387355, abs=1e-6)
        assert index(laplace(1.0), 5.5, 4, 8, 0.04335359) == pytest.approx(0.8, abs=1e-6)

    @pytest.mark.parametrize(
        ("channel", "most"),
        [
            (mb.channels.Central(epsilon=0.5), 0.5),
            (mb.channels.Central(epsilon=0.5, noise=mb.noises.Skellam()), 30),
            (mb.channels.Central(epsilon=0.2, noise=mb.noises.DiscreteGaussian()), 30),
            (mb.channels.Local(epsilon=2), 2),
            (mb.channels.Distributed(epsilon=0.5, honest=0.5), 0.5),
        ],
        ids=lambda value: type(value).__name__,
    )
    @pytest.mark.parametrize(("fraction", "n", "m"), [(0.0, 64, 1), (0.3, 200, 3), (0.9, 5000, 9), (-0.2, 100, 2)])
    def test_is_the_bound_that_defines_it(self, channel, most, fraction, n, m):
        law = channel.law()
        for f in (0.5, 5.0, 12.0):
            expected = by_definition(law, fraction * n, m, n, f, most * (1 - 1e-12))
            value = index(law, fraction * n, m, n, f)
            assert value < 1e-9 if expected is None else value == pytest.approx(expected, abs=2e-6)

    @pytest.mark.parametrize(
        ("channel", "n", "fraction", "f", "value"),
        [
            (
                mb.channels.Central(epsilon=0.1, noise=mb.noises.DiscreteGaussian()),
                81,
                0.25,
                math.log1p(1e5 / 81),
                0.7517,
            ),
            (mb.channels.Shuffled(epsilon=1), 15, 0.0, math.log1p(100 / 15), 0.8687),
        ],
    )
    def test_search_comes_down_from_bounds_above_one(self, channel, n, fraction, f, value):
        """Where noise is wide, most lam bound the mean by more than 1, and less so the larger they are."""
        found = index(channel.law(), fraction * n, 1 if fraction else 2, n, f)
        assert found == pytest.approx(value, abs=1e-4)

    @pytest.mark.parametrize(("x", "n", "f"), [(0.0, 10, 3.0), (3.0, 10, 1.0), (900.0, 1000, 10.0), (1e7, 10**8, 20.0)])
    def test_without_noise_it_is_that_of_kl_ucb(self, x, n, f):
        assert index(Law(NO_NOISE), x, 1, n, f) == pytest.approx(kl_upper(x / n, f / n), abs=2e-6)

    def test_on_randomized_response_it_is_that_of_kl_ucb_on_bits(self):
        law = mb.channels.Response(epsilon=1).law()
        bits, n, f = 420, 1000, 7.0
        released = (bits - n * law.flip) / (1 - 2 * law.flip)
        expected = (kl_upper(bits / n, f / n) - law.flip) / (1 - 2 * law.flip)
        assert index(law, released, 3, n, f) == pytest.approx(expected, abs=2e-6)

    def test_lies_above_the_index_that_forgets_the_number_of_releases(self):
        """d_epsilon is the same bound with one release, whose noise counts for nothing."""
        for x, n in ((10.0, 64), (100.0, 512), (3000.0, 4096)):
            assert index(laplace(0.5), x, 6, n, 9.0) > private_upper(x / n, 9.0 / n, 0.5)

    @pytest.mark.parametrize("x", [-1e6, -50.0, 0.0, 150.0, 1e6])
    def test_is_finite_whatever_was_released(self, x):
        value = index(laplace(0.1), x, 3, 100, 10.0)
        assert math.isfinite(value)
        assert value <= 1.0
        if x >= 100:
            assert value == 1.0

    def test_rises_with_the_sum_and_the_exploration_rate_and_the_noise(self):
        values = [index(laplace(0.5), x, 3, 400, 8.0) for x in (-50.0, 0.0, 100.0, 200.0)]
        assert values == sorted(values)
        values = [index(laplace(0.5), 100.0, 3, 400, f) for f in (0.1, 1.0, 5.0, 10.0)]
        assert values == sorted(values)
        values = [index(laplace(0.5), 100.0, m, 400, 8.0) for m in (1, 2, 5, 9)]
        assert values == sorted(values)


perturb = noise = judge = None  # stand for kernels, see `misses`


def count(parameters, memory, law, batches, mu, f, epsilon, runs, rng):
    bad = 0
    for _ in range(runs):
        x, n, m = 0.0, 0, 0
        for size in batches:
            g = steps(law, size)
            z = noise(law.scale * g, draws(law, 1, size), rng)
            x += perturb(parameters, memory, law, 0, max(g, 1.0) * rng.binomial(size, mu), size, z, rng)
            n, m = n + size, m + 1
        bad += judge(law, x, m, n, f, epsilon) < mu
    return bad


@kernel
def honest(law, x, m, n, f, epsilon):
    return index(law, x, m, n, f)


@kernel
def forgetful(law, x, m, n, f, epsilon):
    return private_upper(min(max(x / n, 0.0), 1.0), f / n, epsilon)


def misses(channel, batches, f, by=honest, mu=0.75, runs=200_000, seed=1):
    """How often the index of these batches lies below the mean."""
    go = compiled(count, perturb=channel.perturb, noise=channel.draws, judge=by)
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
        for f in (1.0, 3.0):
            at_most(misses(channel, BATCHES, f, mu=mu, runs=40_000), 40_000, math.exp(-f))

    def test_an_index_that_forgets_the_noise_of_releases_is_caught(self):
        channel, batches = mb.channels.Central(epsilon=0.1), [1, 1, 2, 4, 8, 16, 32, 64, 128, 256]
        f, runs = math.log(1000), 100_000
        at_most(misses(channel, batches, f, runs=runs), runs, 1e-3)
        with pytest.raises(AssertionError, match="more than"):
            at_most(misses(channel, batches, f, by=forgetful, runs=runs), runs, 1e-3)


class TestSchedule:
    def test_first_batches_carry_little_noise(self):
        s, law, rng = POLICY.init(3, 10**6), mb.channels.Central(epsilon=0.1).law(), np.random.default_rng(1)
        asked = [POLICY.ask(s, law, rng) for _ in range(4)]
        assert [each.arm for each in asked] == [0, 1, 2, 0]
        assert asked[3].n == 3 * asked[0].n
        n = asked[0].n
        assert n >= 20 * math.log1p(10**6 / n)
        assert n - 1 < 20 * math.log1p(10**6 / (n - 1))

    def test_exploration_rate_is_the_cost_of_a_failure(self):
        s = POLICY.init(3, 10**6)
        assert [exploration_rate(s, n) for n in (1, 1000, 10**6)] == [math.log1p(10**6 / n) for n in (1, 1000, 10**6)]
        s = NoiseAwareKLUCB(anytime=True).init(3, 10**6)
        s.clock[0] = 99
        assert exploration_rate(s, 1) == exploration_rate(s, 50) == math.log(100)

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

    @pytest.mark.parametrize(
        ("wrong", "name"),
        [({"ratio": 1}, "ratio"), ({"ratio": 1e300}, "ratio"), ({"least": 0}, "least"), ({"anytime": 2}, "anytime")],
    )
    def test_bad_parameters_are_named(self, wrong, name):
        with pytest.raises(mb.errors.InvalidValue, match=name):
            NoiseAwareKLUCB(**wrong)


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
        ("means", "most"),
        [("easy", (0.00302, 0.00094, 0.00075)), ("hard", (0.00364, 0.00220, 0.00210))],
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

    def test_grows_with_the_logarithm_of_the_horizon(self):
        channel = mb.channels.Central(epsilon=0.1)
        means = [mb.simulate(POLICY, channel, C2, T, runs=100, seed=2).regret[:, -1].mean() for T in (10**6, 10**9)]
        assert means[1] < 1.75 * means[0]  # ln 10^9 / ln 10^6 = 1.5
