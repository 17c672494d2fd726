"""Levels at which to stop, against published numbers, other formulas and simulations of how often they are passed.

A correct threshold fails a simulation with probability at most ALPHA = 1e-9, because what is counted has probability at
most delta (`at_most`); each comes with a threshold that is too low, and that the same simulation rejects.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import betaln, gammaln, lambertw, xlogy
from scipy.special import zeta as riemann

from maskedbandit.theory.thresholds import (
    c_gaussian,
    gaussian_base,
    gaussian_threshold,
    highest_likelihood,
    redundancy,
    w_bar,
    zeta,
)
from tests.for_each import for_each
from tests.statistics import at_most

W_BAR = {1: 1.0, 2: 3.146193, 3: 4.505241, 5: 6.936847, 10: 12.527963, 20: 23.141633}
C_GAUSSIAN = {1: 2.507095, 2: 3.582930, 3: 4.648365, 5: 6.757320, 10: 11.954646, 20: 22.203253}


@for_each("x", W_BAR)
def test_w_bar_has_published_values(x):
    assert w_bar(x) == pytest.approx(W_BAR[x], abs=6e-7)


@given(st.floats(1.0001, 600))
def test_w_bar_is_the_other_branch_of_lambert(x):
    assert w_bar(x) == pytest.approx(-lambertw(-math.exp(-x), -1).real, rel=1e-6)


@given(st.floats(1.0, 1e9))
def test_w_bar_is_a_root(x):
    y = w_bar(x)
    assert y >= 1
    assert y - math.log(y) == pytest.approx(x, rel=1e-13)


def test_w_bar_below_one_is_one():
    assert [w_bar(x) for x in (-math.inf, 0.0, 1.0)] == [1.0, 1.0, 1.0]


@given(st.floats(1 + 1e-6, 2))
def test_zeta_is_riemanns(s):
    assert zeta(s) == pytest.approx(riemann(s), rel=1e-10)


@for_each("x", C_GAUSSIAN)
def test_c_gaussian_has_published_values(x):
    assert c_gaussian(x) == pytest.approx(C_GAUSSIAN[x], abs=6e-7)


@pytest.mark.slow
@given(st.floats(0.01, 1e4))
def test_c_gaussian_is_the_minimum(x):
    def value(log_u: float) -> float:
        u = math.exp(log_u)
        shape = 2 * (1 - u) * (1 - math.log(4 * (1 - u))) + math.log(riemann(2 * (1 - u))) - log_u / 2
        return (shape + x) / (1 - u)

    grid = np.linspace(math.log(1e-7), math.log(0.4999999), 400)
    i = int(np.argmin([value(u) for u in grid[1:-1]])) + 1
    found = minimize_scalar(value, bounds=(grid[i - 1], grid[i + 1]), method="bounded", options={"xatol": 1e-10})
    assert c_gaussian(x) == pytest.approx(found.fun, rel=1e-8)


def test_what_code_puts_in_its_place_is_lower():
    """x + ln x, which is used instead, is too low for the x that occur."""
    assert all(x + math.log(x) < c_gaussian(x) for x in np.linspace(1, 6, 20))


def test_gaussian_levels():
    assert gaussian_base(5, 0.01) == pytest.approx(9.287673, abs=6e-7)
    base = gaussian_base(2, 0.1)
    assert gaussian_threshold(base, 50, 200) < base + 4 * math.log(4 + math.log(125))


# --- coins ----------------------------------------------------------------------------------------------------


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_redundancies_are_those_of_the_mixture_and_between_their_bounds(n, fraction):
    for ones in (round(n * fraction), n * fraction):  # sums of bits, and of rewards
        best = xlogy(ones, ones / n) + xlogy(n - ones, 1 - ones / n)
        assert highest_likelihood(ones, n) == pytest.approx(best, rel=1e-9, abs=1e-9)
        exact = best - betaln(ones + 0.5, n - ones + 0.5) + math.log(math.pi)
        assert redundancy(ones, n) == pytest.approx(exact, rel=1e-6, abs=1e-6)
        assert math.log(math.pi * n / 2) / 2 - 1e-6 <= exact <= math.log(2 * math.sqrt(n)) + 1e-6


@given(st.integers(1, 10**5), st.integers(1, 10**5), st.floats(0, 1), st.floats(0, 1))
def test_the_published_level_is_higher(n_a, n_b, p, q):
    both = redundancy(p * n_a, n_a) + redundancy(q * n_b, n_b)
    assert both <= math.log(2 * (n_a + n_b)) + 1e-6


@given(st.floats(0, 1), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_rewards_are_no_worse_than_coins(x, q, mu):
    """The factor of a reward lies below the chord of those of 0 and 1, whose mean is 1."""
    u, v = q / mu, (1 - q) / (1 - mu)
    assert u**x * v ** (1 - x) <= x * u + (1 - x) * v + 1e-12


LONG, RUNS, DELTA = 600, 2000, 0.1


def passes(threshold: float, redundancies: bool, beta: bool = False) -> int:
    """Runs in which two arms with one mean look as different as this at any time, pulled by turns of growing length."""
    rng = np.random.Generator(np.random.PCG64(1))
    draw = rng.beta(0.6, 1.4, (RUNS, LONG)) if beta else (rng.random((RUNS, LONG)) < 0.3).astype(float)
    to_a = np.floor(np.log2(np.arange(1, LONG + 1))) % 2 == 0
    n = np.stack([np.cumsum(to_a), np.cumsum(~to_a)])
    ones = np.stack([np.cumsum(draw * to_a, axis=1), np.cumsum(draw * ~to_a, axis=1)])
    keep = (n > 0).all(axis=0)
    n, ones = n[:, None, keep], ones[:, :, keep]

    def likely(ones: np.ndarray, n: np.ndarray) -> np.ndarray:
        return xlogy(ones, ones / n) + xlogy(n - ones, np.maximum(0, 1 - ones / n))

    excess = likely(ones, n).sum(axis=0) - likely(ones.sum(axis=0), n.sum(axis=0))
    if redundancies:
        mixture = gammaln(ones + 0.5) + gammaln(n - ones + 0.5) - gammaln(n + 1) - math.log(math.pi)
        excess -= (likely(ones, n) - mixture).sum(axis=0)
    return int((excess >= threshold).any(axis=1).sum())


@pytest.mark.slow
@pytest.mark.parametrize("beta", [False, True], ids=["bits", "rewards"])
def test_the_level_of_coins_is_passed_rarely_at_all_times(beta):
    at_most(passes(math.log(1 / DELTA), redundancies=True, beta=beta), RUNS, DELTA)


def test_a_threshold_without_redundancies_is_rejected():
    with pytest.raises(AssertionError, match="more than"):
        at_most(passes(math.log(1 / DELTA), redundancies=False), RUNS, DELTA)


def far(extra: float) -> int:
    """Runs in which two Gaussian arms with one mean pass the Gaussian threshold less `extra`, pulled in turns."""
    rng = np.random.Generator(np.random.PCG64(2))
    n = np.arange(1, LONG + 1)
    gap = np.cumsum(rng.normal(size=(RUNS, LONG)) - rng.normal(size=(RUNS, LONG)), axis=1) / n
    threshold = gaussian_base(2, DELTA) + 4 * np.log(4 + np.log(n)) - extra
    return int((gap * gap * n / 4 >= threshold).any(axis=1).sum())


def test_the_gaussian_level_is_passed_rarely_at_all_times():
    at_most(far(0.0), RUNS, DELTA)
    with pytest.raises(AssertionError, match="more than"):  # negative control
        at_most(far(gaussian_base(2, DELTA) + 4 * math.log(4) - math.log(1 / DELTA) / 2), RUNS, DELTA)
