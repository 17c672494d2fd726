"""The likelihood of wide releases, against all terms added up in extended precision, and what it costs."""

import math
from typing import Any

import numpy as np
import pytest

from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import COINS, GAUSSIAN, LAPLACE, SKELLAM, Law
from maskedbandit.theory.line_integral import log_peak, of_wide_release, sum_on_line, tilt_mean, turn_bits
from maskedbandit.theory.noise_pmf import log_pmf_of_draws
from tests.for_each import for_each
from tests.policies.mutants import mutant

LAWS = {
    "laplace": Law(LAPLACE, scale=20.0, grid=1, per_release=1),
    "loud laplace": Law(LAPLACE, scale=3000.0, grid=1, per_release=1),
    "quiet laplace": Law(LAPLACE, scale=0.7, grid=1, per_release=1),
    "gaussian": Law(GAUSSIAN, scale=50.0, grid=1, per_release=1),
    "skellam": Law(SKELLAM, scale=25.0, grid=1, per_release=1),
    "coins": Law(COINS, scale=0.5, grid=1, per_release=5001),
}
N = 12_000
AWAY = (-500, -180, -60, -20, 0, 7, 60, 170, 450)  # of a release from its mean
MEANS = (0.03, 0.5, 0.84, 0.999)


def written_out(law: Law, n: int, r: float, mu: float) -> tuple[float, float]:
    """ln of the sum over x of P(x of n bits are one) h(r - x), h(0) = 1 but for Skellam noise and coins; its slope."""
    x, mean = np.arange(n + 1, dtype=np.longdouble), np.longdouble(mu)
    terms = np.zeros(n + 1, np.longdouble)
    terms[1:] = np.cumsum(np.log((n - x[:-1]) / x[1:]) + np.log(mean) - np.log1p(-mean))
    terms += n * np.log1p(-mean)
    if law.kind == LAPLACE:
        terms -= np.abs(r - x) / law.scale
    elif law.kind == GAUSSIAN:
        terms -= (r - x) ** 2 / (2 * np.longdouble(law.scale) ** 2)
    else:
        terms += [log_pmf_of_draws(law, law.scale, law.per_release, float(r - each)) for each in x]
    top = terms.max()
    weights = np.exp(terms - top)
    total = weights.sum()
    return float(top + np.log(total)), float(((x * weights).sum() / total - n * mean) / (mean * (1 - mean)))


def list_releases(law: Law, mu: float) -> list[float]:
    """Releases near and far from the mean, and below 0 and above n."""
    odd = 0.5 if law.kind == COINS else 0.0
    return [round(N * mu) + away + odd for away in AWAY]


def check_values(name: str, kernel: Any = of_wide_release, means: tuple[float, ...] = MEANS) -> int:
    """What the kernel knows is what is written out; how many values it knows."""
    law, known = LAWS[name], 0
    for mu in means:
        for r in list_releases(law, mu):
            value, slope = kernel(law, law.scale, law.per_release, N, r, mu)
            if not math.isnan(value):
                right, steep = written_out(law, N, r, mu)
                assert value == pytest.approx(right, rel=1e-11, abs=1e-11), (mu, r)
                assert slope == pytest.approx(steep, rel=1e-9, abs=1e-9 * N), (mu, r)
                known += 1
    return known


@pytest.mark.slow
@for_each("name", ["laplace", "loud laplace", "quiet laplace", "gaussian"])
def test_it_is_what_is_written_out(name):
    assert check_values(name) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["skellam", "coins"])
def test_it_is_what_is_written_out_for_noise_that_is_a_sum_itself(name):
    assert check_values(name) >= 9


@for_each(
    ("old", "new", "names"),
    [
        ("value += more", "value += 0.0", {}),  # no correction for the poles
        ("side * tau + step >= rate", "side * tau >= rate", {}),  # none for a pole that is near on the other side
        ("cos(angle - r * t)", "cos(angle - r * t - t)", {}),
        ("", "", {"DEEP": 12.0}),  # fewer points
    ],
)
def test_a_broken_line_is_rejected(old, new, names):
    broken = mutant(of_wide_release, sum_on_line=mutant(sum_on_line, old, new, **names))
    with pytest.raises((AssertionError, ValueError)):  # the second: of the logarithm of a sum below 0
        check_values("laplace", broken) + check_values("loud laplace", broken)


@for_each("name", ["laplace", "loud laplace", "gaussian"])
@for_each("deep", [3.0, 6.0, 12.0])
def test_the_error_is_below_its_bound(name, deep):
    """With so few points that it is seen: in units of peak e^-DEEP."""
    law, mu, found = LAWS[name], 0.5, 0.0
    rough = mutant(sum_on_line, "top + math.log(value)", "value", DEEP=deep)
    for away in (0, 60, 170):
        r = round(N * mu) + float(away)
        right, _ = written_out(law, N, r, mu)
        for tau in (-0.07, -0.02, 0.003, 0.02, 0.06):
            q = tilt_mean(mu, tau)
            step = max(math.sqrt(2 * deep / (N * q * (1 - q))), abs(tau) - 1 / law.scale)
            top = log_peak(law, law.scale, 1.0, N, r, mu, tau)
            top += math.log(2 * math.pi * law.scale**2) / 2 if name == "gaussian" else 0.0
            error = abs(rough(law, law.scale, 1.0, N, r, mu, tau, step)[0] - math.exp(right - top)) * math.exp(deep)
            largest = largest_factor(law, tau) if name != "gaussian" else 1.0
            assert error <= 2 / (1 - math.exp(-deep)) + largest, (away, tau)
            found = max(found, error)
    assert found > 1e-3  # or the test looks at nothing


def largest_factor(law: Law, tau: float) -> float:
    """The largest modulus of H on the line, which is left out of the peak where the noise is Laplace's."""
    rate = 1 / law.scale
    return abs(math.sinh(rate) / (math.cosh(rate) - math.cosh(tau)))


@for_each("name", ["laplace", "loud laplace", "gaussian", "skellam", "coins"])
def test_its_cost_does_not_grow(name):
    """Points of the integrand that are looked at, up to 10^14 rewards."""
    law, calls = LAWS[name], []

    def turn(*given: float) -> tuple[float, float]:
        calls.append(given)
        return turn_bits(*given)

    counting = mutant(of_wide_release, sum_on_line=mutant(sum_on_line, turn_bits=turn))
    for power in range(4, 15):
        for away in (0.0, 0.3, 1.0, 5.0):
            calls.clear()
            wide = math.sqrt(10**power / 4 + 2 * law.per_release * law.scale**2)
            r = math.floor(10**power / 2 + away * wide) + (0.5 if name == "coins" else 0.0)
            value, _ = counting(law, law.scale, law.per_release, 10**power, r, 0.5)
            assert not math.isnan(value)
            assert len(calls) <= 80
    assert calls or name == "laplace"


def fill_values(laws: Any, means: Any, sums: Any, out: Any) -> None:
    for i in range(means.size):
        for j in range(sums.size):
            law = laws[i % len(laws)]
            out[i, j] = find(law, law.scale, law.per_release, 10**6, sums[j], means[i])[0]


find: Any = of_wide_release


@pytest.mark.slow
def test_it_is_the_same_compiled_to_the_last_bit():
    """Its cosines and arcs too, which no other kernel uses."""
    rng = np.random.default_rng(1)
    means, sums = rng.uniform(0.49, 0.51, 60), np.round(rng.normal(500_000, 3000, 60))
    laws = tuple(LAWS[name] for name in ("laplace", "loud laplace", "gaussian", "skellam"))
    compiled, python = np.zeros((2, 60, 60))
    fill_values(laws, means, sums, python)
    compile_loop(fill_values, find=of_wide_release)(laws, means, sums, compiled)
    np.testing.assert_array_equal(compiled, python)
    assert np.isfinite(python).all()
