"""Losses against their definitions: brute force on the distributions, exact binomials, and accountants of others."""

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent, SelfComposedDpEvent, ZCDpEvent
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom

from maskedbandit import noises
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.renyi_divergences import INF, ORDERS, skellam_bound, skellam_curve
from tests.for_each import for_each
from tests.thrift import thrifty

fixed = settings(max_examples=50)

losses = st.sampled_from(
    [
        ZERO,
        Loss.pure(0.1),
        Loss.pure("1/3"),
        Loss.zcdp(0.001),
        Loss.gaussian(3, sensitivity=2),
        Loss.discrete_laplace(7, sensitivity=3),
        Loss.skellam(2.5),
        Loss.approximate(1, 1e-6),
        Loss.unbounded(),
    ]
)
deltas = st.floats(1e-12, 0.999)


def mp(number):
    return mpmath.mpf(number.numerator) / number.denominator if isinstance(number, Fraction) else number


# --- the algebra ------------------------------------------------------------------------------------------


@given(losses, losses, losses)
@fixed
def test_addition_is_a_commutative_monoid(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + ZERO == a


@given(losses, losses, losses)
@fixed
def test_different_users_are_a_semilattice_over_which_addition_distributes(a, b, c):
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)
    assert a | a == a == a | ZERO
    assert a + (b | c) == (a + b) | (a + c)


@given(losses, st.integers(0, 20), st.integers(0, 20))
@fixed
def test_times_k_is_k_times_added(loss, j, k):
    assert loss * k == sum([loss] * k, ZERO)
    assert j * loss + k * loss == (j + k) * loss
    assert k * (j * loss) == (j * k) * loss


@given(losses)
@fixed
def test_no_privacy_absorbs_everything(loss):
    nothing = Loss.unbounded()
    assert nothing + loss == nothing | loss == nothing == 10**400 * nothing
    assert nothing.epsilon(0.999) == INF


@given(losses, losses, deltas, deltas)
@fixed
def test_epsilon_falls_with_delta_and_grows_with_loss(a, b, delta, other):
    low, high = sorted([delta, other])
    assert 0 <= a.epsilon(high) <= a.epsilon(low) <= a.epsilon(0)
    assert a.epsilon(delta) <= (a | b).epsilon(delta) <= (a + b).epsilon(delta)


def test_sums_are_exact():
    assert 10 * Loss.pure(0.1) == sum([Loss.pure(0.1)] * 10, ZERO)
    assert (10 * Loss.pure(0.1)).pure_epsilon == 1
    assert 3 * Loss.pure("1/3") + ZERO != Loss.pure(1)  # three small steps cost no more than one large one:
    assert all(x <= y for x, y in zip((3 * Loss.pure("1/3")).curve, Loss.pure(1).curve, strict=True))
    assert 3 * Loss.zcdp("1/3") == Loss.zcdp(1)
    assert (Loss.approximate(1, 0.1) * 3).delta == Fraction(3, 10)


@given(losses)
@fixed
def test_losses_are_values(loss):
    for copied in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss)):
        assert copied == loss
        assert hash(copied) == hash(loss)
        assert copied + loss == 2 * loss
    assert len(repr(loss)) < 60


def test_repr_is_short():
    assert repr(ZERO) == "Loss(ε = 0)"
    assert repr(Loss.pure(0.1)) == "Loss(ε = 0.1)"
    assert repr(Loss.zcdp(0.005)) == "Loss(ε = 0.4301 at δ = 1e-06)"
    assert repr(Loss.zcdp(0.005) + Loss.approximate(1, 1e-6)) == "Loss(ε = 1.423 at δ = 2e-06)"
    assert repr(Loss.pure("1e400")) == "Loss(ε = inf)"


@for_each(
    ("make", "message"),
    [
        (lambda: Loss.pure(0), "epsilon is 0"),
        (lambda: Loss.pure(float("inf")), "epsilon is inf"),
        (lambda: Loss.zcdp(-1), "rho is -1"),
        (lambda: Loss.gaussian(0), "variance is 0"),
        (lambda: Loss.discrete_laplace(1, sensitivity=1.5), "sensitivity is 1.5: it must be a whole number"),
        (lambda: Loss.skellam(1, sensitivity=0), "sensitivity is 0"),
        (lambda: Loss.approximate(1, 1), "delta is 1: it must be a probability in"),
        (lambda: ZERO.epsilon(1), "delta is 1: it must be a probability in"),
        (lambda: ZERO.epsilon(-0.1), "delta is -0.1"),
        (lambda: ZERO * -1, "times is -1"),
    ],
)
def test_wrong_values_are_named(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()


def curve_with(bound):
    return (*ZERO.curve[:-1], bound)


@for_each(
    "parts",
    [
        {"curve": curve_with(Fraction(-1))},
        {"curve": curve_with(math.nan)},
        {"curve": curve_with(-INF)},
        {"curve": curve_with(0.5)},
        {"curve": curve_with(1)},
        {"curve": curve_with(Fraction(np.int64(1)))},
        {"delta": Fraction(np.int64(1), np.int64(3))},
        {"curve": curve_with("1/2")},
        {"curve": list(ZERO.curve)},
        {"curve": ZERO.curve[:-1]},
        {"curve": (*ZERO.curve, Fraction(0))},
        {"curve": ()},
        {"pure_epsilon": Fraction(-1)},
        {"pure_epsilon": math.nan},
        {"pure_epsilon": 0},
        {"pure_epsilon": True},
        {"pure_epsilon": None},
        {"delta": Fraction(-1)},
        {"delta": Fraction(-1, 10**9)},
        {"delta": math.nan},
        {"delta": Fraction(1)},
        {"delta": Fraction(3)},
        {"delta": INF},
        {"delta": 1e-6},
        {"single": None},
        {"single": {1}},
        {"single": frozenset({("skellam", Fraction(1), 1)})},
    ],
    ids=str,
)
def test_what_is_no_loss_is_refused_when_it_is_made(parts):
    """Negative parts were accepted, and a ledger took them for refunds; a NaN is above no budget."""
    with pytest.raises(InvalidValue, match=next(iter(parts))):
        replace(ZERO, **parts)


def test_a_sure_event_hides_nothing():
    half = Loss.approximate("0.1", "0.5")
    assert half + half == 2 * half == 7 * half == Loss.unbounded()
    assert half + Loss.approximate("0.1", "0.4") + Loss.approximate("0.1", "0.3") == Loss.unbounded()


def test_a_single_release_is_another_loss_than_its_curve():
    """They were equal, although their ε differ."""
    for one, curve in (
        (Loss.discrete_gaussian(1), Loss.gaussian(1)),
        (Loss.skellam(3), Loss.skellam(3).without_single()),
    ):
        assert one != curve
        assert hash(one) != hash(curve)
        assert one.epsilon(1e-6) < curve.epsilon(1e-6)
        assert one.without_single() == curve == curve.without_single()
        assert 2 * one == 2 * curve


# --- curves against brute force ---------------------------------------------------------------------------


def laplace_logs(scale, width):
    return [-mpmath.mpf(abs(z)) / mp(Fraction(scale)) for z in range(-width, width + 1)]


def gaussian_logs(variance, width):
    return [-(mpmath.mpf(z) ** 2) / (2 * variance) for z in range(-width, width + 1)]


def skellam_logs(variance, width):
    half = [mpmath.log(mpmath.besseli(n, mp(Fraction(variance)))) for n in range(width + 1)]
    return half[:0:-1] + half


def response_logs(epsilon):
    return [mpmath.mpf(0), mp(Fraction(epsilon))]


def renyi(log_p, log_q, order):
    """ln Σ P^α Q^(1-α) / (α - 1), the definition, on distributions cut to a finite support: at most the truth."""
    terms = mpmath.fsum(mpmath.exp(mp(order) * x + (1 - mp(order)) * y) for x, y in zip(log_p, log_q, strict=True))
    mass = mpmath.fsum(map(mpmath.exp, log_p))
    return mpmath.log(terms / mass) / mp(order - 1)


def shifted(logs, shift):
    """The distribution and its shift, on the values where both are kept."""
    return logs[:-shift], logs[shift:]


def assert_exact_curve(loss, log_p, log_q, largest, step=8):
    with mpmath.workdps(40):
        for order, ours in list(zip(ORDERS, loss.curve, strict=True))[::step]:
            if order <= largest:
                truth = renyi(log_p, log_q, order)
                assert truth <= mp(ours) <= truth * (1 + mpmath.mpf("1e-6")), f"order {order}"


@cache
def exact_cases():
    with mpmath.workdps(40):
        return {
            "response": (Loss.pure(0.5), response_logs(0.5), response_logs(0.5)[::-1], 1025),
            "strong response": (Loss.pure(9), response_logs(9), response_logs(9)[::-1], 1025),
            "weak response": (Loss.pure("1e-9"), response_logs("1e-9"), response_logs("1e-9")[::-1], 1025),
            "laplace": (Loss.discrete_laplace(2), *shifted(laplace_logs(2, 200), 1), 1025),
            "wide laplace": (Loss.discrete_laplace(10, 7), *shifted(laplace_logs(10, 600), 7), 1025),
            "narrow laplace": (Loss.discrete_laplace(0.5, 4), *shifted(laplace_logs(0.5, 60), 4), 1025),
            "skellam": (Loss.skellam(1), *shifted(skellam_logs(1, 1200), 1), 1025),
            "narrow skellam": (Loss.skellam("1/4", 2), *shifted(skellam_logs("1/4", 1200), 2), 300),
            "even skellam": (Loss.skellam(10, 4), *shifted(skellam_logs(10, 400), 4), 33),
            "wide skellam": (Loss.skellam(100, 7), *shifted(skellam_logs(100, 500), 7), 33),
        }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [f"{kind}response" for kind in ("", "strong ", "weak ")]
    + [f"{kind}laplace" for kind in ("", "wide ", "narrow ")]
    + [f"{kind}skellam" for kind in ("", "narrow ", "even ", "wide ")],
)
def test_curve_is_the_renyi_divergence(name):
    assert_exact_curve(*exact_cases()[name])


@pytest.mark.slow
@for_each("factor", [Fraction(999_999, 1_000_000), Fraction(1_000_002, 1_000_000)])
@for_each("name", ["response", "skellam"])
def test_the_checker_of_curves_rejects_a_wrong_one(name, factor):
    loss, *rest = exact_cases()[name]
    with pytest.raises(AssertionError, match="order"):
        assert_exact_curve(replace(loss, curve=tuple(part * factor for part in loss.curve)), *rest)


@pytest.mark.slow
@pytest.mark.parametrize(("variance", "shift"), [(1, 1), (20, 3)])
def test_discrete_gaussian_is_within_the_gaussian_curve_and_meets_it_at_whole_orders(variance, shift):
    with mpmath.workdps(40):
        p, q = shifted(gaussian_logs(variance, 400), shift)
        for order, ours in zip(ORDERS, Loss.gaussian(variance, shift).curve, strict=True):
            if order < 33:
                truth = renyi(p, q, order)
                assert truth <= mp(ours) * (1 + mpmath.mpf("1e-30"))
                assert order.denominator > 1 or mpmath.almosteq(truth, mp(ours), 1e-12)


def test_order_infinity_is_the_largest_log_ratio():
    for scale, shift in [(2, 1), ("7/3", 5)]:
        p, q = shifted(laplace_logs(scale, 50), shift)
        largest = max(abs(x - y) for x, y in zip(p, q, strict=True))
        assert mpmath.almosteq(mp(Loss.discrete_laplace(scale, shift).pure_epsilon), largest)
    assert Loss.discrete_laplace(20, 10).pure_epsilon == Fraction(1, 2)
    p, q = shifted(skellam_logs(1, 1200), 1)
    assert q[0] - p[0] > 7  # a Skellam ratio grows for ever
    assert Loss.skellam(1).pure_epsilon == Loss.zcdp(1).pure_epsilon == INF


@given(losses)
@fixed
def test_curves_grow_with_the_order_up_to_the_pure_epsilon(loss):
    path = [*loss.curve, loss.pure_epsilon]
    assert all(low <= high for low, high in pairwise(path))


@for_each("make", [Loss.discrete_laplace, Loss.skellam, Loss.gaussian])
def test_a_smaller_shift_costs_less(make):
    for small, large in zip(range(1, 6), range(2, 7), strict=True):
        assert all(x < y for x, y in zip(make(5, small).curve, make(5, large).curve, strict=True))


def test_randomized_response_is_the_worst_pure_mechanism():
    """Three outcomes, two of them with ratios e^±ε and one with a ratio between: never above `pure(ε)`."""
    for epsilon, between, mass in product((0.2, 1.0, 3.0), (-0.9, -0.3, 0.0, 0.5, 0.9), (0.01, 0.03)):
        x = epsilon * np.array([-1, 1, between])
        sums = [1 - mass, 1 - mass * math.exp(x[2])]  # what the other two outcomes have under Q and under P
        q = np.append(np.linalg.solve([[1, 1], np.exp(x[:2])], sums), mass)
        assert np.all(q > 0)
        for order, bound in zip(ORDERS, Loss.pure(epsilon).curve, strict=True):
            if order < 100:
                assert math.log(q @ np.exp(float(order) * x)) / float(order - 1) < bound


@pytest.mark.slow
@for_each("variance", [0.3, 1, 10, 1000])
@for_each("shift", [1, 2, 9, 60])
def test_the_skellam_formula_is_above_the_sum(variance, shift):
    v = Fraction(str(variance))
    for exact, bound in zip(skellam_curve(v, shift), skellam_bound(v, shift, shift**2), strict=True):
        assert exact <= bound * (1 + Fraction(1, 10**8))
    assert Loss.skellam(v, 300).curve == skellam_bound(v, 300, 300**2)
    assert Loss.skellam(2**28, shift).curve == skellam_bound(Fraction(2**28), shift, shift**2)


@for_each("shift", [1, 100])
def test_sum_and_formula_meet_at_large_variance(shift):
    v = Fraction(10**6)
    pairs = zip(ORDERS, skellam_curve(v, shift), skellam_bound(v, shift, shift**2), strict=True)
    assert all(float(bound / exact) < 1.01 for order, exact, bound in pairs if order > 17)


# --- epsilon ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(losses, deltas)
@fixed
def test_epsilon_is_rounded_outwards_and_hardly(loss, delta):
    left = Fraction(repr(delta)) - loss.delta
    if loss == Loss.unbounded() or left <= 0:
        return
    with mpmath.workdps(50):
        best = mp(loss.pure_epsilon) if loss.pure_epsilon < INF else mpmath.inf
        for order, bound in zip(ORDERS, loss.curve, strict=True):
            a = mp(order)
            best = min(best, mp(bound) + mpmath.log(1 - 1 / a) - mpmath.log(mp(left) * a) / (a - 1))
        best = max(best, mpmath.mpf(0))
        curve_alone = replace(loss, single=frozenset())
        assert best <= mpmath.mpf(curve_alone.epsilon(delta)) <= best + mpmath.mpf("1e-12") * (1 + best)
        assert loss.epsilon(delta) <= curve_alone.epsilon(delta)


# --- a single release -------------------------------------------------------------------------------------


def stick(mass, shift, epsilon):
    """The delta of an integer distribution and its shift, at epsilon: the sum of what P has above e^epsilon Q."""
    p, q = np.concatenate([mass, np.zeros(shift)]), np.concatenate([np.zeros(shift), mass])
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


@for_each("delta", [1e-3, 1e-6])
@for_each("shift", [1, 3, 10])
@for_each("scale", [Fraction(3, 4), Fraction(3), Fraction(20)])
@for_each("name", ["skellam", "discrete_gaussian"])
def test_epsilon_of_a_single_release_is_exact(name, scale, shift, delta):
    noise = noises.room[name](scale)
    mass = noise.pmf(np.arange(-2000, 2001))
    loss = noise.loss(shift)
    found = loss.epsilon(delta)
    assert stick(mass, shift, found) <= delta * (1 + 1e-9)
    assert stick(mass, shift, found - 1e-6) > delta  # and no smaller one will do: a millionth less fails


def test_numbers_known_beforehand_for_single_releases():
    """Skellam noise of standard deviation 1/epsilon at delta 1e-5, on grids of 1, 2 and 10 steps."""
    for epsilon, expected in ((1, (2.41, 3.19, 4.27)), (Fraction(1, 2), (1.52, 1.79, 1.98))):
        found = [Loss.skellam(g * g / Fraction(epsilon) ** 2, g).epsilon(1e-5) for g in (1, 2, 10)]
        assert found == pytest.approx(expected, abs=0.006)


def test_what_is_composed_has_its_curve_alone():
    """Negative control: two releases must not be taken for one."""
    one = Loss.skellam(100)
    twice = one + one
    assert not twice.single
    assert not (2 * one).single
    assert twice.epsilon(1e-6) > 1.3 * one.epsilon(1e-6)
    assert not (one + Loss.pure(1)).single
    assert not (one | Loss.pure(1)).single  # of which the second has no single noise
    assert (one + ZERO).single == (ZERO | one).single == (1 * one).single == one.single


def test_different_users_have_the_worst_of_their_single_releases():
    near, far = Loss.skellam(400, 20), Loss.skellam(1, 1)
    assert (near | far).epsilon(1e-5) == max(near.epsilon(1e-5), far.epsilon(1e-5))


@for_each("rho", [1e-4, 1e-3, 0.01, 0.1, 1, 10])
@for_each("delta", [1e-5, 1e-6, 1e-10])
def test_the_grid_of_orders_is_fine_enough(rho, delta):
    def at(log_gap):
        a = 1 + math.exp(log_gap)
        return rho * a + math.log1p(-1 / a) - math.log(delta * a) / (a - 1)

    best = minimize_scalar(at, bounds=(-3, 9), method="bounded").fun
    assert best <= Loss.zcdp(rho).epsilon(delta) <= best * (1.005 if rho == 1e-3 else 1.01)


@for_each("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_losses_are_within_the_simple_conversions(epsilon):
    """ε²/2-zCDP is (ε (√(2 ln(1/δ)) + ε/2), δ)-private, and of pure ε R(α) ≤ α ε²/2 [CZ23, Lem. 10]."""
    half, large = epsilon**2 / 2, float(epsilon)
    for delta in (1e-3, 1e-6, 1e-9):
        simple = large * (math.sqrt(2 * math.log(1 / delta)) + large / 2)
        assert Loss.zcdp(half).epsilon(delta) < simple
        assert Loss.zcdp(4 * half).epsilon(delta) > simple  # the control: of twice the ε
    pure = Loss.pure(epsilon)
    assert all(bound <= order * half for order, bound in zip(ORDERS, pure.curve, strict=True))
    assert any(bound > order * half for order, bound in zip(ORDERS, Loss.pure(2 * epsilon).curve, strict=True))


def test_delta_is_set_aside_first():
    loss = Loss.zcdp(0.1)
    aside = replace(loss, delta=Fraction(1, 10**6))
    assert aside.epsilon(2e-6) == loss.epsilon(1e-6)
    assert aside.epsilon(1e-6) == loss.epsilon(0) == aside.epsilon(0) == INF
    assert Loss.approximate(1, 1e-6).epsilon(1e-6) == 1
    assert Loss.approximate(1, 1e-6).epsilon(1e-7) == INF
    assert Loss.pure(1).epsilon("1e-400") == 1
    assert ZERO.epsilon() == ZERO.epsilon(0.5) == 0


# --- other people's accountants, and exact answers --------------------------------------------------------


def epsilon_of(log_p, log_q, delta):
    """The exact ε at which P and Q are (ε, δ)-close, from their hockey-stick divergence."""

    def excess(epsilon):
        ratio = np.minimum(epsilon + log_q - log_p, 0)
        return float(np.sum(np.exp(log_p) * -np.expm1(ratio))) - delta

    return brentq(excess, 0, 200, xtol=1e-12)


def responses(epsilon, times):
    """The distributions of the number of answers 1 among `times` randomized responses, to truth 1 and to truth 0."""
    p = 1 / (1 + math.exp(-epsilon))
    log = binom.logpmf(np.arange(times + 1), times, p)
    return log, log[::-1]


def assert_covers(claim, truth, factor):
    assert truth <= claim <= truth * factor


@for_each(
    ("epsilon", "times", "factor"),
    [(math.log(3), 50, 1.03), (0.1, 1, 1.01), (0.1, 50, 1.12), (0.5, 300, 1.06), (2, 10, 1.02)],
)
def test_composed_responses_cover_the_exact_binomial(epsilon, times, factor):
    truth = epsilon_of(*responses(epsilon, times), 1e-6)
    assert_covers((times * Loss.pure(epsilon)).epsilon(1e-6), truth, factor)


def test_the_binomial_oracle_rejects_an_accountant_that_forgets_the_count():
    truth = epsilon_of(*responses(math.log(3), 50), 1e-6)
    assert truth == pytest.approx(52.680, abs=1e-3)
    assert (50 * Loss.pure(math.log(3))).epsilon(1e-6) == pytest.approx(53.78, abs=0.05)
    forgetful = Loss.pure(math.log(3)).epsilon(1e-6)
    assert forgetful == pytest.approx(1.0986, abs=1e-3)
    with pytest.raises(AssertionError):
        assert_covers(forgetful, truth, 1.03)


def rdp_epsilon(event, times, delta):
    accountant = RdpAccountant(orders=[float(order) for order in ORDERS])
    return accountant.compose(SelfComposedDpEvent(event, times)).get_epsilon(delta)


@for_each("times", [1, 200])
@for_each("delta", [1e-6, 1e-9])
def test_gaussian_and_zcdp_agree_with_dp_accounting(times, delta):
    gauss = (Loss.gaussian(100) * times).epsilon(delta)
    assert gauss == pytest.approx(rdp_epsilon(GaussianDpEvent(10.0), times, delta), rel=1e-9)
    zcdp = (Loss.zcdp(0.02) * times).epsilon(delta)
    assert zcdp == pytest.approx(rdp_epsilon(ZCDpEvent(rho=0.02), times, delta), rel=1e-9)


@for_each("scale", [0.5, 2, 10])
def test_discrete_laplace_falls_to_the_continuous_distribution_as_the_grid_gets_finer(scale):
    accountant = RdpAccountant(orders=[float(order) for order in ORDERS])
    accountant.compose(LaplaceDpEvent(scale))
    continuous = np.array(accountant._rdp)
    curves = [np.array(Loss.discrete_laplace(scale * g, g).curve, dtype=float) for g in (1, 10, 1000)]
    assert np.all(curves[0] > curves[1])
    assert np.all(curves[1] > curves[2])
    assert np.all(curves[2] >= continuous)
    assert np.all(curves[2] <= continuous * (1 + 1e-5))


def skellam_table(variance, width):
    with mpmath.workdps(20):
        logs = skellam_logs(variance, width)
    return {z: float(log) - variance for z, log in zip(range(-width, width + 1), logs, strict=True)}


@pytest.mark.parametrize("times", thrifty([1, 100], lambda times: times > 1))
def test_losses_cover_the_privacy_loss_distributions_of_dp_accounting(times):
    log = skellam_table(100, 200)
    shift = {z + 1: x for z, x in log.items()}
    cases = [
        (Loss.gaussian(100), pld.from_discrete_gaussian_mechanism(10.0, pessimistic_estimate=False), 1.2),
        (Loss.discrete_laplace(10), pld.from_discrete_laplace_mechanism(0.1, pessimistic_estimate=False), 1.2),
        (Loss.discrete_laplace(10, 5), pld.from_discrete_laplace_mechanism(0.1, 5, pessimistic_estimate=False), 1.2),
        (Loss.skellam(100), pld.from_two_probability_mass_functions(log, shift, pessimistic_estimate=False), 1.2),
    ]
    for loss, distribution, factor in cases:
        lower = distribution.self_compose(times).get_epsilon_for_delta(1e-6)
        assert_covers((loss * times).epsilon(1e-6), lower, factor)


@pytest.mark.slow
@for_each(
    ("epsilon", "grid", "formula", "exact"),
    [
        (1, 1, 6.25, 2.41),
        (1, 2, 5.50, 3.19),
        (1, 10, 4.78, 4.27),
        (0.5, 1, 2.53, 1.52),
        (0.5, 10, 2.17, 1.98),
        (0.1, 1, 0.377, 0.336),
    ],
)
def test_skellam_is_between_the_exact_epsilon_and_the_published_formula(epsilon, grid, formula, exact):
    variance = grid**2 / epsilon**2
    width = int(12 * math.sqrt(variance)) + 60
    log = np.array(list(skellam_table(variance, width).values()))
    truth = epsilon_of(log[:-grid], log[grid:], 1e-5)
    assert truth == pytest.approx(exact, abs=0.006)
    assert truth <= Loss.skellam(variance, grid).epsilon(1e-5) <= formula
