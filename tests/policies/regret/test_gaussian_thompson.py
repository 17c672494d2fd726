"""Gaussian Thompson sampling: decisions have the distribution of an argmax of normals, and its privacy is what is
proved.

Seeds are fixed; a correct sampler fails under a new seed with probability ALPHA = 1e-9 per assertion, if nothing else
is stated.
"""

import math
from functools import cache

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import maskedbandit as mb
from maskedbandit.core import OPTIONS, WAIT, Kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.regret.gaussian_thompson import DRAWS, GaussianThompson, challenge
from maskedbandit.privacy.gaussian import gaussian_epsilon
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.mutants import mutant
from tests.statistics import at_most, same_distribution

RAW, LAW = mb.channels.Raw(), Law(NO_NOISE)
C2 = mb.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])
N = 200_000

# (sums of rewards, pulls) of each arm, and the inflation
STATES = {
    "nothing known": ([0, 0, 0], [0, 0, 0], 1),
    "equal arms": ([30, 30, 30, 30], [60, 60, 60, 60], 1),
    "apart": ([90, 40, 10], [100, 100, 100], 1),
    "far apart": ([900, 100], [1000, 1000], 1),
    "apart, and wide": ([90, 40, 10], [100, 100, 100], 30),
    "a close second": ([530, 500, 10], [1000, 1000, 40], 1),
    "one unknown": ([80, 0, 30], [100, 0, 100], 1),
    "no success": ([0, 0, 1], [20, 5, 3], 1),
    "many arms": ([55, 50, 45, 40, 35, 30, 25, 20, 15, 10], [100] * 10, 2),
    "a leader that is little known": ([3, 300, 280], [4, 600, 600], 1),
}


def state(totals, n, inflation=1):
    """A state that was told these sums."""
    s = GaussianThompson(inflation=inflation).init(len(n), 1000)
    for arm, (total, users) in enumerate(zip(totals, n, strict=True)):
        if users > 0:
            GaussianThompson.tell(s, arm, users, float(total))
    return s


def chances(totals, n, inflation=1) -> np.ndarray:
    """P(theta_a is the largest) = E prod_b F_b(theta_a), by quadrature."""
    posteriors = [norm(x / (m + 1), math.sqrt(inflation / (m + 1))) for x, m in zip(totals, n, strict=True)]

    def integrand(u: float, arm: int) -> float:
        x = posteriors[arm].ppf(u)
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


def check_decisions(name: str, ask: Kernel = GaussianThompson.ask) -> None:
    mb.simulate(GaussianThompson(), RAW, C2, 1)  # kernels inside `ask` compile once the compiler knows them
    totals, n, inflation = STATES[name]
    p, arms = chances(totals, n, inflation), np.empty(N, np.int64)
    many(ask)(state(totals, n, inflation), LAW, np.random.Generator(np.random.PCG64(1)), arms)
    if np.sum(N * p >= 5) > 1:
        same_distribution(arms, lambda v: np.where((v >= 0) & (v < p.size), p[np.clip(v, 0, p.size - 1)], 0))
    else:  # one arm is nearly sure: too few others to fill a cell
        at_most(int(np.sum(arms != p.argmax())), N, 1 - p.max() + 1e-9)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.slow
def test_decisions_have_the_distribution_of_the_argmax(name):
    check_decisions(name)


@pytest.mark.slow
def test_accepting_every_proposal_is_rejected():
    """Negative control: a mutant that skips the acceptance step."""
    always = mutant(challenge, "if rng.random() < math.exp(-d * d / 2):", "if rng.random() < 2.0:")
    with pytest.raises(AssertionError, match="another distribution"):
        check_decisions("equal arms", mutant(GaussianThompson.ask, challenge=always))


@pytest.mark.slow
def test_a_line_that_ends_with_its_first_point_is_rejected():
    """Negative control: a mutant that looks for no point behind the first one."""
    once = mutant(challenge, "left = rng.standard_exponential()", "left = math.inf")
    with pytest.raises(AssertionError, match="another distribution"):
        check_decisions("many arms", mutant(GaussianThompson.ask, challenge=once))


class Script:
    """A generator that gives the coin, and says how often an exponential was drawn: for the line, and for a value."""

    def __init__(self, coin: float) -> None:
        self.coin, self.exponentials = coin, 0

    def standard_normal(self) -> float:
        return -99.0

    def random(self) -> float:
        return self.coin

    def standard_exponential(self) -> float:
        self.exponentials += 1
        return 1e-12


def check_bounds(challenging: Kernel = challenge) -> None:
    """tail <= q = phi(z) / z <= the chance of a point on the stretch, with which the chance to propose is exactly q."""
    s = state([0, 0], [0, 0])

    def proposes(z: float, left: float, coin: float) -> bool:
        script = Script(coin)
        challenging(s, 0, z, left, script)
        return script.exponentials == 2

    for z in np.linspace(0.8, 35, 300):
        q = math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / z
        assert norm.sf(z) <= q
        low, high = 0.0, 1.0
        for _ in range(60):  # the length of the stretch
            middle = (low + high) / 2
            low, high = (middle, high) if proposes(z, middle, 0.0) else (low, middle)
        point = -math.expm1(-low)
        assert point >= q * (1 - 1e-9), z
        if q / point > 1e-9:
            assert proposes(z, low / 2, q / point * (1 - 1e-7)), z
            assert not proposes(z, low / 2, q / point * (1 + 1e-7)), z


def test_the_bound_that_skips_arms_is_above_the_chance_that_they_win():
    check_bounds()


def test_a_bound_that_is_too_low_is_rejected():
    with pytest.raises(AssertionError):
        check_bounds(mutant(challenge, "r = PHI / (z *", "r = PHI / (z * (1 + y * y) *"))


def test_first_users_come_before_all_draws():
    s, rng = GaussianThompson(initial=5).init(3, 100), np.random.Generator(np.random.PCG64(1))
    asked = [GaussianThompson.ask(s, LAW, rng) for _ in range(3)]
    assert sorted(asked) == [(0, 5, 1), (1, 5, 1), (2, 5, 1)]
    assert GaussianThompson.ask(s, LAW, rng) == WAIT
    for arm in (2, 0):
        GaussianThompson.tell(s, arm, 5, 2.0)
        assert GaussianThompson.ask(s, LAW, rng) == WAIT
    GaussianThompson.tell(s, 1, 5, 2.0)
    assert s.clock[DRAWS] == 0
    assert GaussianThompson.ask(s, LAW, rng).n == 1


# --- what a run exposed --------------------------------------------------------------------------------------


def exposed(decisions, k: int, inflation: float, initial: int) -> float:
    """mu of the reward exposed most, reward by reward and draw by draw."""
    n, rewards = [0] * k, []  # (arm, mu^2) of every reward
    for arm, users, _ in decisions:
        if initial == 0 or min(n) > 0:  # a round of draws
            rewards = [(a, square + 1 / (inflation * (n[a] + 1))) for a, square in rewards]
        n[arm] += users
        rewards += [(arm, 0.0)] * users
    return math.sqrt(max(square for _, square in rewards))


@for_each(("inflation", "initial"), [(1, 0), (5, 0), (2, 7)])
def test_mu_is_that_of_the_reward_exposed_most(inflation, initial):
    policy, where = GaussianThompson(inflation=inflation, initial=initial), (RAW, mb.Bernoulli([0.3, 0.5, 0.6]), 300)
    found = mb.simulate(policy, *where, seed=3).findings
    mu = exposed(interpreted(policy, *where, seed=3).decisions, 3, inflation, initial)
    assert found["mu"][0] == pytest.approx(mu, rel=1e-12)
    assert found["realised_epsilon"][0] == gaussian_epsilon(found["mu"][0], 1e-5)
    assert found["claimed_epsilon"][0] == pytest.approx(math.log(300) ** 2 / inflation)


@pytest.mark.slow
def test_exposure_and_regret_are_those_of_another_implementation():
    """That one draws all normals in every round: 118.4 ± 0.3 and 18.78 ± 0.03 (4000 runs); wrong with 6e-5 each."""
    run = mb.simulate(GaussianThompson(), RAW, C2, 10_000, runs=400, seed=1)
    for found, mean, error in ((run.regret[:, -1], 118.4, 0.3), (run.findings["mu"], 18.78, 0.03)):
        assert abs(found.mean() - mean) <= 4 * math.hypot(error, found.std(ddof=1) / 20)


@pytest.mark.slow
@given(st.integers(1, 60), st.sampled_from([1, "0.3", 40]), st.integers(0, 9), st.integers(0, 99))
@settings(max_examples=60)
def test_no_run_exposes_more_than_the_loss(horizon, inflation, initial, seed):
    policy = GaussianThompson(inflation=inflation, initial=initial)
    run = mb.simulate(policy, RAW, mb.Bernoulli([0.9, 0.1]), horizon, runs=3, seed=seed)
    rho = run.loss.curve[0] / ORDERS[0]
    assert np.all(run.findings["mu"] ** 2 / 2 <= float(rho) * (1 + 1e-12))
    assert np.all(run.findings["realised_epsilon"] <= run.loss.epsilon(1e-5))


@for_each(("inflation", "initial"), [(1, 0), (3, 1), (2, 7)])
def test_an_arm_that_rests_exposes_a_reward_to_the_whole_loss(inflation, initial):
    horizon, policy = 100, GaussianThompson(inflation=inflation, initial=initial)
    s, rng = policy.init(2, horizon), np.random.Generator(np.random.PCG64(1))
    while (t := int(s.n.sum())) < horizon:
        arm, n, _ = policy.ask(s, LAW, rng)
        arm = int(t > 0) if initial == 0 else arm if t < 2 * initial else 1  # the first user had arm 0, no one after it
        policy.tell(s, arm, n, 0.5 * n)
    rho = policy.loss(Loss.unbounded(), horizon).curve[0] / ORDERS[0]
    assert policy.findings(s)["mu"] ** 2 / 2 == pytest.approx(float(rho))


def test_the_loss_is_known_beforehand():
    assert GaussianThompson().loss(Loss.unbounded(), 10_001) == Loss.zcdp(2500)
    assert GaussianThompson(inflation="2.5", initial=4).loss(Loss.unbounded(), 1008) == Loss.zcdp(40)
    assert GaussianThompson(initial=50).loss(Loss.unbounded(), 100) == ZERO
    assert GaussianThompson(epsilon=1).loss(Loss.unbounded(), 1) == ZERO


# --- what was claimed ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_sum_of_the_published_proof_is_far_below_what_a_run_exposes():
    """Negative control: mu^2 added up as if k grew by one in every round."""
    horizon = 10_000
    found = mb.simulate(GaussianThompson(), RAW, C2, horizon, runs=10, seed=2).findings
    published = math.sqrt(sum(1 / (k + 1) for k in range(1, horizon + 1)))
    assert published < 3.1
    assert np.all(found["mu"] > 4 * published)
    assert np.all(found["realised_epsilon"] > 2 * found["claimed_epsilon"])


def excess(policy: GaussianThompson, horizon: int, epsilon: float) -> float:
    """P - e^ε Q of the event that two users get arm 0, if the first one's reward is 1 or 0 there: exactly."""
    inflation, _ = policy.variance(horizon)
    p, q = (chances([0, 0], [0, 0])[0] * chances([reward, 0], [1, 0], inflation)[0] for reward in (1, 0))
    return p - math.exp(epsilon) * q


@pytest.mark.slow
def test_two_decisions_refute_the_published_theorem():
    policy, horizon, delta = GaussianThompson(epsilon="0.01"), 16, 16**-4
    assert excess(policy, horizon, 0.01) > 20 * delta
    proved = policy.loss(Loss.unbounded(), horizon).epsilon(delta)
    assert excess(policy, horizon, proved) < delta
    assert proved == pytest.approx(0.36, abs=0.01)


@pytest.mark.slow
def test_the_regret_of_inflated_draws_is_far_above_the_published_one():
    """[TD18, Thm. 2] has ln² T / ε + √(k T ln k): a variance c times as large costs c times the leading term."""
    horizon = 10_000
    published = math.log(horizon) ** 2 + math.sqrt(5 * horizon * math.log(5))
    plain, inflated = (
        mb.simulate(policy, RAW, C2, horizon, runs=10, seed=1).regret[:, -1]
        for policy in (GaussianThompson(), GaussianThompson(epsilon=1))
    )
    assert plain.max() < published
    assert inflated.min() > 2 * published


def test_claims_set_the_inflation():
    square = math.log(1000) ** 2
    assert GaussianThompson(epsilon="0.5").init(2, 1000)[-3:] == pytest.approx((2 * square, 0, 0.5))
    assert GaussianThompson().init(2, 1000)[-3:] == pytest.approx((1, 0, square))


def test_the_condition_for_one_draw_is_misprinted():
    """sigma >= w sqrt(2 ln(1/(2 delta)) + 2 epsilon) / epsilon; with w below the line crowds would hide less."""
    delta = 1e-5
    x = 2 * math.log(1 / (2 * delta))
    for k in (1, 10, 1000):
        w, sigma = 1 / (k + 1), 1 / math.sqrt(k + 1)
        epsilon = w + math.sqrt(w * w + x * w)
        assert w * math.sqrt(x + 2 * epsilon) / epsilon == pytest.approx(sigma)
        assert gaussian_epsilon(w / sigma, delta) <= epsilon <= math.sqrt(w) + math.sqrt((1 + x) * w)
        assert math.sqrt(x + 2 * epsilon) / (w * epsilon) > 4 * sigma  # as printed: not even this draw would do


# --- parameters ----------------------------------------------------------------------------------------------


@for_each("channel", [mb.channels.Central(), mb.channels.Response(), mb.channels.Local()])
def test_noisy_sums_are_refused(channel):
    with pytest.raises(InvalidValue, match="sums without noise"):
        mb.simulate(GaussianThompson(), channel, C2, 100)


@for_each(
    ("wrong", "name"),
    [
        ({"inflation": 0}, "inflation"),
        ({"initial": -1}, "initial"),
        ({"initial": 1.5}, "initial"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": 1, "inflation": 2}, "inflation"),
    ],
)
def test_wrong_values_are_named(wrong, name):
    with pytest.raises(InvalidValue, match=name):
        GaussianThompson(**wrong)
