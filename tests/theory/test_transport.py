"""Costs of a pair of arms, and fractions of pulls, against brute force, published numbers and the compiler."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.theory.characteristic_times import proportions
from maskedbandit.theory.divergences import kl, private_divergence
from maskedbandit.theory.transport import (
    SAME_MEAN,
    entropy_excess,
    kl_cost,
    kl_proportions,
    meeting,
    near,
    private_cost,
)
from tests.for_each import for_each

means = st.floats(0.001, 0.999) | st.sampled_from([0.0, 1.0])
weights = st.floats(1e-3, 1e6)
losses = st.floats(1e-3, 30)


def infimum(d, m_a, m_b, w_a, w_b):
    """The cost by its definition."""
    if m_a <= m_b:
        return 0.0

    def price(x):
        return w_a * d(m_a, x) + w_b * d(m_b, x)

    pooled = (w_a * m_a + w_b * m_b) / (w_a + w_b)
    found = [
        minimize_scalar(price, bounds=side, method="bounded", options={"xatol": 1e-13}).fun
        for side in ((m_b, pooled), (pooled, m_a), (m_b, m_a))  # a minimum far to one side is missed by one of them
    ]
    return min(*found, price(pooled), price(m_a), price(m_b))


@given(means, means, weights, weights)
def test_kl_cost_is_the_infimum(m_a, m_b, w_a, w_b) -> None:
    assert kl_cost(m_a, m_b, w_a, w_b) == pytest.approx(infimum(kl, m_a, m_b, w_a, w_b), rel=1e-6, abs=1e-9)


@pytest.mark.slow
@given(means, means, weights, weights, losses)
@example(0.9, 0.1, 1.0, 1.0, 0.1)
@example(0.9, 0.1, 1.0, 30.0, 1.0)
@example(0.9, 0.1, 30.0, 1.0, 1.0)
@example(1.0, 0.0, 1.0, 1.0, 0.5)
def test_private_cost_is_the_infimum(m_a, m_b, w_a, w_b, epsilon) -> None:
    found = private_cost(m_a, m_b, w_a, w_b, epsilon)
    brute = infimum(lambda x, y: private_divergence(x, y, epsilon), m_a, m_b, w_a, w_b)
    assert found == pytest.approx(brute, rel=1e-6, abs=1e-9 * (w_a + w_b))


def test_arms_meet_in_four_ways() -> None:
    """At the price of kl for both, for one alone, or for none; the slopes there are those at the top of the file."""
    seen = set()
    for m_a, m_b, epsilon in ((0.9, 0.1, 0.5), (0.9, 0.1, 1.0), (0.7, 0.6, 0.3), (0.97, 0.5, 2.0)):
        q = -math.expm1(-epsilon)
        for w_b in (0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0):
            x = m_b + meeting(m_a, m_b, w_b, q, math.exp(-epsilon))[1]
            logits = [math.log(m / (1 - m)) for m in (m_a, x, m_b)]
            kl_a, kl_b = logits[0] - logits[1] <= epsilon, logits[1] - logits[2] <= epsilon
            down = (m_a - x) / (x * (1 - x)) if kl_a else q / (1 - q * (1 - x))
            up = (x - m_b) / (x * (1 - x)) if kl_b else q / (1 - q * x)
            assert down == pytest.approx(w_b * up, rel=1e-9)
            seen.add((kl_a, kl_b))
    assert len(seen) == 4


@given(means, means, weights, weights, losses)
def test_privacy_hides_differences(m_a, m_b, w_a, w_b, epsilon) -> None:
    """0 <= cost <= min{kl_cost, epsilon min(w) gap}; more with more epsilon and with more pulls."""
    found = private_cost(m_a, m_b, w_a, w_b, epsilon)
    slack = 1e-11 * (w_a + w_b)
    if m_a <= m_b:
        assert found == 0.0
        return
    assert 0 <= found <= min(kl_cost(m_a, m_b, w_a, w_b), epsilon * min(w_a, w_b) * (m_a - m_b)) + slack
    assert found <= private_cost(m_a, m_b, w_a, w_b, 1.5 * epsilon) + slack
    assert found <= private_cost(m_a, m_b, 2 * w_a, w_b, epsilon) + slack
    assert private_cost(m_a, m_b, 3 * w_a, 3 * w_b, epsilon) == pytest.approx(3 * found, rel=1e-9, abs=slack)
    assert private_cost(1 - m_b, 1 - m_a, w_b, w_a, epsilon) == pytest.approx(found, rel=1e-6, abs=slack)


@given(means, means, weights, weights)
def test_limits_of_much_and_of_little_privacy(m_a, m_b, w_a, w_b) -> None:
    if m_a > m_b + 1e-3:
        for epsilon in (100.0, 1e3, math.inf):
            assert private_cost(m_a, m_b, w_a, w_b, epsilon) == pytest.approx(kl_cost(m_a, m_b, w_a, w_b), rel=1e-6)
        least = 1e-6 * min(w_a, w_b) * (m_a - m_b)
        assert private_cost(m_a, m_b, w_a, w_b, 1e-6) == pytest.approx(least, rel=2e-3)


@for_each("p", [0.0, 1e-6, 0.3, 0.998])
@for_each("gap", [1e-12, 1e-7, 1e-6, 1e-3, -1e-7])
def test_close_means_lose_no_digits(p, gap) -> None:
    x = p + gap
    if 0 < x < 1:
        with mpmath.workdps(60):
            a, b = mpmath.mpf(p), mpmath.mpf(x)
            exact = (a * mpmath.log(a / b) if p else 0) + (1 - a) * mpmath.log((1 - a) / (1 - b))
        # for x below p the coins are turned over
        found = near(x, 1 - x, x - p) if x > p else near(1 - x, x, p - x)
        assert found == pytest.approx(float(exact), rel=1e-11)
    assert not math.isclose(kl(0.5, 0.5 + 1e-7), near(0.5 + 1e-7, 0.5 - 1e-7, 1e-7), rel_tol=1e-6)  # what it is for


def test_excess_is_smooth_where_its_formula_changes() -> None:
    for u in (0.02, -0.02):
        assert entropy_excess(u * (1 - 1e-12)) == pytest.approx(entropy_excess(u * (1 + 1e-12)), rel=1e-11)


# --- fractions of pulls ----------------------------------------------------------------------------------------


def fractions(*means: float) -> np.ndarray:
    out = np.empty(len(means))
    kl_proportions(np.array(means), out)
    return out


@for_each(
    ("means", "numbers"),
    [
        ((0.5, 0.45, 0.43, 0.4), (0.4165, 0.3903, 0.1362, 0.0570)),
        ((0.3, 0.21, 0.2, 0.19, 0.18), (0.3359, 0.2515, 0.1766, 0.1324, 0.1036)),
        ((0.95, 0.9, 0.9, 0.9, 0.5), (0.3904, 0.2021, 0.2021, 0.2021, 0.0031)),
        ((0.75, 0.7, 0.7, 0.7, 0.7), (0.3376, 0.1656, 0.1656, 0.1656, 0.1656)),
        ((0.75, 0.625, 0.5, 0.375, 0.25), (0.4569, 0.4338, 0.0660, 0.0279, 0.0154)),
    ],
)
def test_fractions_are_the_published_ones(means, numbers) -> None:
    assert fractions(*means).round(4).tolist() == list(numbers)


@pytest.mark.slow
@given(st.lists(st.floats(0.01, 0.99) | st.sampled_from([0.0, 1.0, 0.5, 1e-6, 1 - 1e-6]), min_size=2, max_size=6))
@example([1.0, 0.0])
@example([1.0, 0.0, 0.0, 0.5])
@example([1.0, 0.999999, 0.0])
@example([0.5, 0.499999, 0.499999, 0.0])
@example([1e-11, 0.0])
@example([math.nextafter(0.01, 1), 0.01])
def test_the_kernel_agrees_with_the_solver(means) -> None:
    found = fractions(*means)
    assert found.sum() == pytest.approx(1)
    best = np.asarray(means) >= max(means) - SAME_MEAN
    if best.sum() > 1:  # the limit of ever closer arms
        assert found.tolist() == (best / best.sum()).tolist()
    else:
        np.testing.assert_allclose(found, proportions(means), rtol=1e-6, atol=1e-12)


# --- compiled -----------------------------------------------------------------------------------------------

CORNERS = [
    (0.9, 0.5, 100.0, 30.0, 0.1),
    (0.9, 0.5, 100.0, 30.0, 1.0),
    (0.9, 0.5, 100.0, 3000.0, 1.0),
    (0.9, 0.5, 3000.0, 3.0, 2.0),
    (1.0, 0.0, 10.0, 10.0, 1e3),
    (1.0, 0.0, 1e12, 1.0, 1e3),
    (1.0, 0.0, 1.0, 1e18, 1e3),
    (1.0, 0.0, 1e18, 1.0, 0.1),
    (1.0, 1e-12, 1.0, 1e18, 1e-6),
    (1e-300, 0.0, 1.0, 1.0, 1.0),
    (1 - 1e-12, 0.0, 1.0, 1.0, 50.0),
    (0.5, 0.499999, 1e6, 1e6, 1e-6),
    (0.5, 0.5, 10.0, 10.0, 1.0),
    (0.9, 0.5, 0.0, 10.0, 1.0),
    (0.9, 0.5, 10.0, 0.0, 1.0),
]


def everything(rows: np.ndarray, out: np.ndarray, w: np.ndarray) -> None:
    """All kernels at once, to be compiled or not."""
    for i in range(rows.shape[0]):
        out[i, 0] = kl_cost(rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3])
        out[i, 1] = private_cost(rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4])
        if rows[i, 0] - rows[i, 1] > 1e-9:
            kl_proportions(rows[i, :2], w[i])


@pytest.mark.slow
def test_corners_are_finite_and_compiled_kernels_give_the_same_numbers() -> None:
    rows = np.array(CORNERS)
    plain, fast = np.empty((len(CORNERS), 2)), np.empty((len(CORNERS), 2))
    w, w_fast = np.zeros((len(CORNERS), 2)), np.zeros((len(CORNERS), 2))
    everything(rows, plain, w)
    compile_loop(everything, kl_cost=kl_cost, private_cost=private_cost, kl_proportions=kl_proportions)(
        rows, fast, w_fast
    )
    assert np.isfinite(plain).all()
    assert (plain >= 0).all()
    assert plain.tolist() == fast.tolist()
    assert w.tolist() == w_fast.tolist()
    assert plain[-3:].tolist() == [[0, 0]] * 3
