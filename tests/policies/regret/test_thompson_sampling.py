"""Thompson sampling: the lazily drawn decision has exactly the distribution of the argmax of Beta draws.

Seeds are fixed; a correct sampler fails under a new seed with probability ALPHA = 1e-9 per assertion, if nothing else
is stated.
"""

import math
from functools import cache

import numba
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaincc, betaincinv, betaln, xlog1py, xlogy
from scipy.stats import beta, binom

import maskedbandit as mb
from maskedbandit.core import OPTIONS, Kernel
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.thompson_sampling import (
    ThompsonSampling,
    challenge_leader,
    count_successes,
    peak_density,
    propose_theta,
    sample_arm,
    stretch_of,
    update_mode,
)
from tests.for_each import for_each
from tests.policies.mutants import mutant
from tests.statistics import at_most, mean_is, same_distribution

RAW, LAW = mb.channels.Raw(), Law(NO_NOISE)
N = 200_000

# (released totals, pulls) of each arm
STATES = {
    "nothing known": ([0, 0, 0], [0, 0, 0]),
    "equal arms": ([30, 30, 30, 30], [60, 60, 60, 60]),
    "equal arms, few rewards": ([1, 1, 1], [2, 2, 2]),
    "apart": ([90, 40, 10], [100, 100, 100]),
    "far apart": ([900, 100], [1000, 1000]),
    "a close second": ([530, 500, 10], [1000, 1000, 40]),
    "one unknown": ([80, 0, 30], [100, 0, 100]),
    "no success": ([0, 0, 1], [20, 5, 3]),
    "all successes": ([20, 5, 30], [20, 5, 60]),
    "totals outside [0, n]": ([-7, 25, 12], [10, 20, 20]),
    "many arms": ([55, 50, 45, 40, 35, 30, 25, 20, 15, 10], [100] * 10),
    "a leader that is little known": ([3, 300, 280], [4, 600, 600]),
}


def state(totals: list[float], n: list[int]):
    """A state that was told these totals."""
    s = ThompsonSampling().init(len(n), 1000)
    for arm, (total, users) in enumerate(zip(totals, n, strict=True)):
        if users > 0:
            ThompsonSampling.tell(s, arm, users, float(total))
    return s


def chances(totals: list[float], n: list[int]) -> np.ndarray:
    """P(theta_a is the largest) = E prod_b F_b(theta_a), by quadrature."""
    good = np.clip(totals, 0, n)
    a, b = 1 + good, 1 + np.array(n) - good
    posteriors = [beta(*pair) for pair in zip(a, b, strict=True)]

    def integrand(u: float, arm: int) -> float:
        x = betaincinv(a[arm], b[arm], u)
        return math.prod(each.cdf(x) for other, each in enumerate(posteriors) if other != arm)

    points = [1e-9, 1e-6, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-6]
    answer = np.array(
        [quad(integrand, 0, 1, (arm,), points=points, limit=200, epsabs=1e-9)[0] for arm in range(len(n))]
    )
    assert abs(answer.sum() - 1) < 1e-7  # the quadrature checks itself
    return answer


@cache
def many(ask: Kernel):
    """A compiled loop that asks again and again."""
    inner = numba.njit(**OPTIONS)(ask.function)

    def loop(s, law, rng, arms):
        for i in range(arms.size):
            arms[i] = inner(s, law, rng).arm

    return numba.njit(**OPTIONS)(loop)


def compile_kernels() -> None:
    """Kernels inside `ask` are compiled with it once the compiler knows them."""
    mb.simulate(ThompsonSampling(), RAW, mb.Bernoulli([0.5, 0.5]), 1)


def draw(totals: list[float], n: list[int], ask: Kernel = ThompsonSampling.ask) -> np.ndarray:
    """Decisions of a state."""
    compile_kernels()
    arms = np.empty(N, np.int64)
    many(ask)(state(totals, n), LAW, np.random.Generator(np.random.PCG64(1)), arms)
    return arms


def check_decisions(name: str, ask: Kernel = ThompsonSampling.ask) -> None:
    totals, n = STATES[name]
    p = chances(totals, n)
    arms = draw(totals, n, ask)
    if np.sum(N * p >= 5) > 1:
        same_distribution(arms, lambda v: np.where((v >= 0) & (v < p.size), p[np.clip(v, 0, p.size - 1)], 0))
    else:  # one arm is nearly sure: too few others to fill a cell
        at_most(int(np.sum(arms != p.argmax())), N, 1 - p.max() + 1e-9)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.slow
def test_decisions_have_the_distribution_of_the_argmax(name):
    check_decisions(name)


def broken_ask(**kernels: Kernel) -> Kernel:
    """`ask` with other kernels in the place of those that `challenge_leader` calls, or of itself."""
    challenge = kernels.pop("challenge_leader", challenge_leader)
    challenge = mutant(challenge, **kernels) if kernels else challenge
    return mutant(ThompsonSampling.ask, sample_arm=mutant(sample_arm, challenge_leader=challenge))


@pytest.mark.slow
def test_accepting_every_proposal_is_rejected():
    """Negative control: a mutant that skips the acceptance step."""
    always = mutant(propose_theta, "if rng.random() < math.exp(gain):", "if rng.random() < 2.0:")
    with pytest.raises(AssertionError, match="another distribution"):
        check_decisions("a close second", broken_ask(propose_theta=always))


@pytest.mark.slow
def test_proposing_wherever_there_is_a_point_is_rejected():
    """Negative control: a mutant in which the cheap bound is the chance to propose."""
    always = mutant(propose_theta, "if rng.random() * -math.expm1(-stretch) < chance:", "if chance >= 0.0:")
    with pytest.raises(AssertionError, match="another distribution"):
        check_decisions("many arms", broken_ask(propose_theta=always))


@pytest.mark.slow
def test_a_line_that_ends_with_its_first_point_is_rejected():
    """Negative control: a mutant that looks for no point behind the first one."""
    once = mutant(challenge_leader, "left = rng.standard_exponential()", "left = math.inf")
    with pytest.raises(AssertionError, match="another distribution"):
        check_decisions("many arms", broken_ask(challenge_leader=once))


class Script:
    """A generator that gives theta and the coin, and says whether a value was proposed."""

    def __init__(self, theta: float, coin: float) -> None:
        self.theta, self.coin, self.proposed = theta, coin, False

    def beta(self, a: float, b: float) -> float:
        return self.theta

    def random(self) -> float:
        return self.coin

    def standard_exponential(self) -> float:
        self.proposed = True
        return 1e-12


def grid():
    """(successes, failures, x): posteriors of all sizes, and values from their mode to their far tail."""
    for n in (1, 2, 5, 20, 100, 1000, 100_000):
        for fraction in (0.0, 0.01, 0.2, 0.5, 0.9, 1.0):
            good = round(fraction * n)
            for tail in (0.4, 0.2, 0.05, 1e-2, 1e-4, 1e-8, 1e-12):
                x = float(beta(1 + good, 1 + n - good).isf(tail))
                if good / n < x < 1:
                    yield good, n - good, x


def check_bounds(stretching: Kernel = stretch_of, proposing: Kernel = propose_theta) -> None:
    """tail <= q <= the chance of a point on the stretch, with which the chance to propose is exactly q."""
    for good, bad, x in grid():
        n = good + bad
        s = state([0, good], [1, n])
        s.peak[1] = peak_density(s, 1)
        stretch = stretching(s.peak[1], n, x - good / n)
        log_f = xlogy(good, x) + xlog1py(bad, -x) - betaln(1 + good, 1 + bad)
        q = math.exp(log_f) / (bad / (1 - x) - good / x)
        assert betaincc(1 + good, 1 + bad, x) <= q * (1 + 1e-9)
        point = -math.expm1(-stretch)
        if stretch < math.inf:
            assert point >= q * (1 - 1e-9), (good, bad, x)
            for coin, proposes in ((q / point * (1 - 1e-7), True), (q / point * (1 + 1e-7), False)):
                script = Script(x, coin)
                proposing(s, 1, x, stretch, script)
                assert script.proposed == proposes, (good, bad, x)


@pytest.mark.slow
def test_the_bound_that_skips_arms_is_above_the_chance_that_they_win():
    check_bounds()


@for_each(("old", "new"), [("z = 2 * n * d * d", "z = 4 * n * d * d"), ("r = peak / (d", "r = 0.5 * peak / (d")])
def test_a_bound_that_is_too_low_is_rejected(old, new):
    with pytest.raises(AssertionError):
        check_bounds(mutant(stretch_of, old, new))


def test_a_chance_that_is_too_high_is_rejected():
    with pytest.raises(AssertionError):
        check_bounds(proposing=mutant(propose_theta, "chance = 4 * s.n[a]", "chance = 4.01 * s.n[a]"))


@for_each("r", [0.0, 1e-9, 0.1, 0.3, 0.49, 0.4999999])
def test_a_point_is_at_least_as_likely_as_the_bound(r):
    """1 - exp(-(r + r^2)) >= r for r <= 1/2."""
    assert -math.expm1(-(r + r * r)) >= r


def test_peak_is_the_density_at_the_mode():
    for good, n in ((0, 5), (5, 5), (3, 10), (400, 1000)):
        s = state([good], [n])
        assert 4 * n * peak_density(s, 0) == pytest.approx(beta(1 + good, 1 + n - good).pdf(good / n), rel=1e-9)


def test_totals_are_clipped():
    s = state([-7.0, 25.0, 12.0], [10, 20, 20])
    assert [count_successes(s, a) for a in range(3)] == [(0, 10), (20, 0), (12, 8)]
    assert s.mode.tolist() == [0.0, 1.0, 0.6]


def tosses(total: float, n: int, tells: int, runs: int, tell=ThompsonSampling.tell) -> np.ndarray:
    """Successes counted after some equal releases, of which each is followed by a decision."""
    rng, found = np.random.Generator(np.random.PCG64(1)), np.empty(runs)
    for run in range(runs):
        s = ThompsonSampling().init(2, 100)
        for _ in range(tells):
            tell(s, 0, n, total)
            ThompsonSampling.ask(s, LAW, rng)
        found[run] = s.success[0]
        assert s.success[0] % 1 == 0, "successes are not whole"
        assert s.parts[0] == 0
        assert s.part[0] == 0
    return found


@pytest.mark.slow
@for_each("x", [0.3, 0.95])
def test_a_reward_counts_as_one_with_its_own_probability(x):
    same_distribution(tosses(x, 1, 5, 2000).astype(int), binom(5, x).pmf)


def test_a_noisy_total_keeps_its_mean():
    found = tosses(-2.75, 4, 1, 4000)
    assert set(found) == {-3.0, -2.0}
    mean_is(found, -2.75, math.sqrt(0.25 * 0.75))


def test_rounding_down_is_rejected():
    """Negative control: a coin that is never tossed."""

    def floors(s, arm, n, total):
        ThompsonSampling.tell(s, arm, n, float(math.floor(total)))

    with pytest.raises(AssertionError):
        mean_is(tosses(-2.75, 4, 1, 4000, floors), -2.75, math.sqrt(0.25 * 0.75))


def test_a_count_that_is_not_whole_is_rejected():
    """Negative control: fractions that count as they are."""

    def as_it_is(s, arm, n, total):
        s.success[arm] += total
        s.n[arm] += n
        update_mode(s, arm)

    with pytest.raises(AssertionError, match="not whole"):
        tosses(0.3, 1, 5, 10, as_it_is)


@cache
def regret_of_ten_arms(policy: Policy, runs: int) -> np.ndarray:
    """Pseudo-regret of some runs at 10,000."""
    return mb.simulate(policy, RAW, mb.Bernoulli(np.linspace(0.1, 0.9, 10)), 10_000, runs=runs, seed=1).regret[:, -1]


def check_regret(policy: Policy, mean: float, error: float, runs: int = 500) -> None:
    """Mean pseudo-regret of ten arms at 10,000, within 4 joint standard errors: wrong with probability 6e-5."""
    regret = regret_of_ten_arms(policy, runs)
    own = regret.std(ddof=1) / math.sqrt(runs)
    assert abs(regret.mean() - mean) <= 4 * math.hypot(error, own), f"{regret.mean():.1f} ± {own:.1f}, not {mean}"


@pytest.mark.slow
def test_regret_is_that_of_the_literature():
    check_regret(ThompsonSampling(), 47.3, 0.3)


@pytest.mark.slow
def test_another_regret_is_rejected():
    with pytest.raises(AssertionError, match="not 52"):
        check_regret(ThompsonSampling(), 47.3 * 1.1, 0.3)


@pytest.mark.slow
def test_rewards_that_are_not_bits_lose_no_more_than_bits_of_the_same_means():
    """[AG12, Alg. 2]: the toss makes them bits, so regret has the same distribution; 4 joint errors, wrong: 6e-5."""
    means = np.array([0.3, 0.5, 0.7])
    found = [
        mb.simulate(ThompsonSampling(), RAW, instance, 5000, runs=400, seed=2).regret[:, -1]
        for instance in (mb.Bernoulli(means), mb.Beta(4 * means, 4 * (1 - means)))
    ]
    errors = [regret.std(ddof=1) / math.sqrt(regret.size) for regret in found]
    assert abs(found[0].mean() - found[1].mean()) <= 4 * math.hypot(*errors)
