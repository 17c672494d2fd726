"""The loss of a sum under more than one draw of discrete Laplace noise, or under less than one.

R draws, R any number above 0, are the difference Z of two Pólya(R, b) variables, b = exp(-1 / scale). The Fourier
series of their probabilities is (1 - 2 b cos t + b^2)^-R, up to a constant. Its derivative in t gives

    x (1 + b^2) P(x) = b (x - 1 + R) P(x - 1) + b (x + 1 - R) P(x + 1),        x >= 1,

so the ratios r(x) = P(x) / P(x - 1) follow from the far end, where an error soon fades:

    r(x) = b (x - 1 + R) / (x (1 + b^2) - b (x + 1 - R) r(x + 1)).

**More than one draw.** P is log-concave, as is that of a draw. So the ratio P(z) / P(z + s) grows with z, towards
e^(s / scale): the pure loss is that of one draw, and no less. The Rényi divergence falls as 1 / R.

**Less than one.** ln P is convex on x >= 0 (theory/noise_pmf.py has the proof), so the pure loss for a shift s is
f(s) = ln P(0) / P(s), which is concave in s. If k numbers move by s in sum, their losses add up to k f(s / k) at most.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maskedbandit.privacy.renyi_divergences import ORDERS, Exact, discrete_laplace_curve, outward

LONGEST_SUM = 2**17  # values on one side of 0 that are summed; beyond them fewer draws stand for all
LEFT_OUT = 60.0  # a part of about exp(-LEFT_OUT) of a divergence is not summed, but added as a bound


def log_ratios(scale: Fraction, draws: Fraction, size: int, settled: int) -> Any:
    """ln P(x) / P(x - 1) for x = 1, ..., size, from a start so much further out."""
    import numpy as np

    b, count = math.exp(-1 / scale), float(draws)
    square = 1 + b * b
    start = size + settled
    a, c = b * (start + 1 - count), b * (start - 1 + count)
    middle = start * square
    ratio = 2 * c / (middle + math.sqrt(max(0.0, middle * middle - 4 * a * c)))  # as if r(x + 1) were r(x)
    ratios = np.empty(start)
    for x in range(start, 0, -1):
        ratios[x - 1] = ratio = b * (x - 1 + count) / (x * square - b * (x + 1 - count) * ratio)
    return np.log(ratios[:size])


def find_end(scale: Fraction, draws: float, rare: float) -> tuple[int, int]:
    """A number that |Z| exceeds with probability e^-rare at most, and so many beyond it in which an error fades.

    By Chernoff with the tilt u / scale, as E e^(u Z / scale) <= (1 - u^2)^-R: sinh(x u) <= u sinh(x) for u in [0, 1].
    """
    tilt = math.sqrt(rare / (rare + draws))
    end = (rare + math.log(2) - draws * math.log1p(-tilt * tilt)) / tilt
    return math.ceil(end * scale) + 1, math.ceil(LEFT_OUT / 4 * scale / tilt) + 10


@lru_cache(maxsize=256)
def laplace_sum_curve(scale: Fraction, draws: Fraction, shift: int) -> tuple[Exact, ...]:
    """Divergences of the sum of so many draws, one or more, from its copy that is shifted: an upper bound.

    As for Skellam noise, R(α) = ln(1 + S) / (α - 1), where all terms of S are positive:

        S = sum over z < Δ/2 of  4 sqrt(P Q) sinh(α x/2) sinh((α-1) x/2),      x = ln P(z)/Q(z).

    A term left out is below P(z) e^((α-1) x), and x is at most Δ / scale.
    """
    import numpy as np

    if draws == 1:
        return discrete_laplace_curve(scale, shift)
    epsilon = float(shift / scale)
    small = LEFT_OUT + max(0.0, math.log(32 * float(draws) / epsilon**2))
    ends = [find_end(scale, float(draws), float(order - 1) * epsilon + small) for order in ORDERS]
    within = sum(end <= LONGEST_SUM for end, _ in ends)  # the first orders: ends grow with them
    rest: tuple[Exact, ...] = ()
    if within < len(ORDERS):
        rest = laplace_sum_curve(scale, max(Fraction(1), draws / 4), shift)[within:]
    if not within:
        return rest
    size, settled = ends[within - 1]
    log_ratio = log_ratios(scale, draws, size + shift, settled)
    log_law = np.concatenate(([0.0], np.cumsum(log_ratio)))
    log_law -= np.logaddexp.reduce(np.concatenate((log_law, log_law[1:])))
    found: list[Exact] = []
    for order, (end, _) in zip(ORDERS[:within], ends, strict=False):
        a = float(order)
        z = np.arange(-end, (shift + 1) // 2)
        log_p, log_q = log_law[abs(z)], log_law[shift - z]
        x = log_p - log_q
        terms = log_q + a * x + np.log(np.expm1(-a * x) * np.expm1((1 - a) * x))
        log_s = np.logaddexp(np.logaddexp.reduce(terms), -small)
        found.append(min(shift / scale, outward(float(np.logaddexp(0, log_s)) / (a - 1))))
    return (*found, *rest)


@lru_cache(maxsize=256)
def shortfall_loss(scale: Fraction, draws: Fraction, shift: int) -> Fraction:
    """The pure loss of a sum under less than one draw, for numbers that move by `shift`: rounded upwards.

    >>> round(float(shortfall_loss(Fraction(32), Fraction(1, 2), 32)), 3)
    2.578
    """
    _, settled = find_end(scale, 1.0, LEFT_OUT)
    return outward(-float(log_ratios(scale, draws, shift, settled).sum()))
