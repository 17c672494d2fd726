"""The standard deviation and the cumulant of the noise, and a confidence radius for it."""

import math

from maskedbandit.core import large_kernel, lean_kernel
from maskedbandit.law import (
    COINS,
    GAUSSIAN,
    LAPLACE,
    SKELLAM,
    SUB_GAMMA,
    Law,
    count_draws,
    count_steps,
    is_laplace,
    is_response,
    unit_variance,
    widest_scale,
)


@lean_kernel
def deviation(law: Law, m: int, n: int) -> float:
    """Standard deviation of the noise in the sum of m releases over n pulls in all, to within a step.

    >>> deviation(Law(LAPLACE, scale=10.0, grid=1, per_release=1), 2, 100)
    20.0
    """
    if is_response(law):
        return math.sqrt(n * law.flip * (1 - law.flip)) / (1 - 2 * law.flip)
    wide = widest_scale(law, m)
    return wide * math.sqrt(unit_variance(law) * count_draws(law, m, n))


@lean_kernel
def cumulant(law: Law, scale: float, count: float, g: int, lam: float) -> float:
    """log E exp(lam Z), Z the sum of `count` draws of this scale in steps of 1/g; a bound if Gaussian or sub-gamma."""
    if count == 0.0 or lam == 0.0:
        return 0.0
    if law.kind == LAPLACE:  # discrete Laplace, rate 1/scale
        rate, tilt = 1.0 / (scale * g), abs(lam) / g
        if tilt >= rate:
            return math.inf
        ratio = math.exp((tilt - rate) / 2) * math.expm1(-tilt) / math.expm1(-rate)  # sinh(tilt/2) / sinh(rate/2)
        return math.inf if ratio >= 1.0 else -count * math.log1p(-ratio * ratio)
    if law.kind == SKELLAM:
        wide, half = scale * g, math.sinh(lam / (2 * g))  # products, as Python's ** 2 may differ in the last digit
        return 2 * count * wide * wide * half * half
    if law.kind == COINS:  # ln cosh(lam / 2g)
        tilt = abs(lam) / g
        if tilt < 1.0:  # 1 + 2 sinh^2 of half of it: here the other form would cancel
            half = math.sinh(tilt / 4)
            return count * math.log1p(2 * half * half)
        return count * (tilt / 2 + math.log1p(math.exp(-tilt)) - math.log(2.0))
    if law.kind == GAUSSIAN:
        return count * scale * scale * lam * lam / 2  # [CKS20, Cor. 17]: the discrete Gaussian is sub-Gaussian
    if law.kind == SUB_GAMMA:
        left = 1.0 - law.tail * scale * abs(lam)
        return count * law.variance * scale * scale * lam * lam / (2 * left) if left > 0.0 else math.inf
    return math.nan


@lean_kernel
def log_mgf(law: Law, n: int, lam: float) -> float:
    """At least log E exp(lam Z), Z the noise in one released sum of n rewards; infinite where that is infinite.

    >>> log_mgf(Law(GAUSSIAN, scale=2.0, grid=1, per_release=1), 10, 0.5)
    0.5
    """
    if is_response(law):  # n independent errors, each of mean 0 in an interval of length 1/(1-2 flip)
        wide = lam / (1 - 2 * law.flip)
        return n * wide * wide / 8  # [Hoe63, Lem. 1]
    return cumulant(law, law.scale, count_draws(law, 1, n), count_steps(law, n), lam)


@lean_kernel
def log_mgf_of_sum(law: Law, m: int, n: int, lam: float) -> float:
    """At least log E exp(lam Z), Z the noise of m releases over n pulls in all."""
    if is_response(law):
        return log_mgf(law, n, lam)
    # the grids of m cohorts may differ: Laplace noise has heavier tails on a finer one, Skellam on a coarser one
    g = count_steps(law, n) if m == 1 or is_laplace(law) else count_steps(law, 1)
    return cumulant(law, widest_scale(law, m), count_draws(law, m, n), g, lam)


@large_kernel
@lean_kernel
def radius(law: Law, m: int, n: int, x: float) -> float:
    """A confidence radius: the noise of m releases over n pulls in all exceeds it with probability <= 2 exp(-x).

    On a tree, the m releases are the first m of an arm.

    >>> radius(Law(LAPLACE, scale=10.0, grid=1, per_release=1), 1, 500, 3.0)
    30.0
    """
    if is_response(law):
        return math.sqrt(n * x / 2) / (1 - 2 * law.flip)
    count, scale = count_draws(law, m, n), widest_scale(law, m)
    if count == 0.0:
        return 0.0
    if law.kind == GAUSSIAN:
        return scale * math.sqrt(2 * count * x)
    if law.kind == LAPLACE and count == 1.0:
        return scale * x  # P(|Z| >= y) = 2 b^y / (1 + b) on whole steps, b = exp(-1/scale)
    if law.kind == SUB_GAMMA:
        return scale * (math.sqrt(2 * count * law.variance * x) + law.tail * x)  # [BLM13, Sec. 2.4]
    if law.kind != LAPLACE and law.kind != SKELLAM and law.kind != COINS:
        return math.nan
    # Chernoff: the least (cumulant(lam) + x) / lam; it falls, then rises, so a golden section finds it
    # the grids of m cohorts may differ: Laplace noise has heavier tails on a finer one, Skellam on a coarser one
    g = count_steps(law, n) if m == 1 or law.kind == LAPLACE else count_steps(law, 1)
    low, high = 0.0, 1.0 / scale
    if law.kind == SKELLAM:
        high = 1.0 / g
        while cumulant(law, scale, count, g, high) < x:  # at the minimum the cumulant is below about x
            high *= 2.0
        high *= 2.0
    if law.kind == COINS:
        if x >= count * math.log(2.0) * (1 - 1e-12):  # the probability that all coins agree: their largest sum
            return count / (2 * g)
        high = 1.0 * g
        while count * high / (2 * g) * math.tanh(high / (2 * g)) < cumulant(law, scale, count, g, high) + x:
            high *= 2.0
    golden = 0.6180339887498949
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a = (cumulant(law, scale, count, g, a) + x) / a
    at_b = (cumulant(law, scale, count, g, b) + x) / b
    for _ in range(36):  # to 3e-8 of the interval; every value is a valid bound
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = (cumulant(law, scale, count, g, a) + x) / a
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = (cumulant(law, scale, count, g, b) + x) / b
    return min(at_a, at_b)
