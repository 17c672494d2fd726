"""Rényi divergences between a noise and its shifted copy, at every order of a grid.

They are rounded upwards, once, when they become fractions; `Loss` adds them up exactly from there. What each order adds
to ε at some δ is here as well.
"""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

Exact = Fraction | float  # a Fraction, or the float ∞
INF = math.inf

# Four to the octave of α - 1, whole from 17 on. For zCDP losses from 1e-4 to 10 and δ from 1e-12 to 1e-3 the best of
# them costs at most 1 % more than the best of all; a smaller loss is stated too large, never too small.
ORDERS = tuple(1 + Fraction(m, 16) * Fraction(2) ** k for k in range(-3, 10) for m in (16, 19, 23, 27))

DIVERGENCE_SLACK = Decimal("1.00000001")  # above the error of any divergence computed below
_CONSTANTS = tuple((float(a - 1), math.log1p(-1 / a) - math.log(a) / float(a - 1)) for a in ORDERS)
_MARGIN = 1e-14  # relative, above the error of the dozen float operations of one conversion


def outward(divergence: Decimal | float) -> Fraction:
    """A computed divergence, rounded upwards to twelve digits: short Fractions are fast to add."""
    return Fraction(Context(prec=12, rounding=ROUND_CEILING).multiply(Decimal(divergence), DIVERGENCE_SLACK))


def to_decimal(fraction: Fraction) -> Decimal:
    """A fraction with the digits of the context."""
    return Decimal(fraction.numerator) / fraction.denominator


def discrete_laplace_curve(scale: Fraction, shift: int) -> tuple[Exact, ...]:
    """Divergences of discrete Laplace noise from its copy, in closed form."""
    epsilon = shift / scale
    # R is near α ε²/2 and 1 - r near 1/scale: digits are lost, three times as many as the scale has.
    with localcontext(Context(prec=40 + int(scale).bit_length())):
        rate = to_decimal(1 / scale)
        b = (-rate).exp()
        curve = []
        for order in ORDERS:
            odd = to_decimal(2 * order - 1)
            r, r_shift = (-odd * rate).exp(), (-odd * rate * shift).exp()
            inner = (1 + r_shift + (1 - b) * (r - r_shift) / (1 - r)) / (1 + b)
            curve.append(min(epsilon, outward(to_decimal(epsilon) + inner.ln() / to_decimal(order - 1))))
    return tuple(curve)


@lru_cache(maxsize=1024)
def skellam_curve(variance: Fraction, shift: int) -> tuple[Exact, ...]:
    """R(α) = ln(1 + S) / (α - 1), with every term of S positive, so that nothing cancels:

        S = sum over z < Δ/2 of  4 sqrt(P Q) sinh(α x/2) sinh((α-1) x/2),      x = ln P(z)/Q(z)

    (true of every symmetric noise: pair z with Δ - z). P(n) = e^-v I_n(v) is built from its ratios,
    P(n+1)/P(n) = 1 / (2 (n+1)/v + P(n+2)/P(n+1)), from the far end, where an error soon fades. Cut off and
    normalized it is too large, and so is S. A term left out, -z > n, is below Q e^(α x), whose logarithm
    falls by `fall` a step or more: -ln P(n+1)/P(n) is from asinh((n+1/2)/v) to asinh((n+1)/v) [Amo74]:

        fall = asinh((n+1/2)/v) - (α-1) (Δ+1/2) / sqrt(v² + (n+1/2)²),      rest <= last / (e^fall - 1)
    """
    import numpy as np

    v = float(variance)
    centers = [float(order - 1) * (shift + 0.5) for order in ORDERS]
    ends = [math.ceil(center + 10 * math.sqrt(math.hypot(v, center)) + 40) for center in centers]
    log_law = skellam_log_pmf(v, ends[-1] + shift)

    curve: list[Exact] = []
    for order, center, end in zip(ORDERS, centers, ends, strict=True):
        a = float(order)
        z = np.arange(-end, (shift + 1) // 2)
        log_p, log_q = log_law[abs(z)], log_law[shift - z]
        x = log_p - log_q
        terms = log_q + a * x + np.log(np.expm1(-a * x) * np.expm1((1 - a) * x))
        fall = math.asinh((end + 0.5) / v) - center / math.hypot(v, end + 0.5)
        rest = log_q[0] + a * x[0] - math.log(math.expm1(fall))
        log_s = np.logaddexp(np.logaddexp.reduce(terms), rest)
        curve.append(outward(float(np.logaddexp(0, log_s)) / (a - 1)))
    return tuple(curve)


def skellam_log_pmf(v: float, size: int) -> Any:
    """ln P(n) for n = 0, ..., size, from the ratios of neighbours, cut off and normalized."""
    import numpy as np

    start = size + math.isqrt(int(v)) + 50
    ratio = v / (start + 0.5 + math.hypot(start + 0.5, v))
    ratios = np.empty(start)
    for n in range(start, 0, -1):
        ratios[n - 1] = ratio = 1 / (2 * n / v + ratio)
    log_law = np.concatenate(([0.0], np.cumsum(np.log(ratios[:size]))))
    return log_law - np.log1p(2 * np.exp(log_law[1:]).sum())


def skellam_bound(variance: Fraction, l1: Fraction | int, square: Fraction | int) -> tuple[Exact, ...]:
    """Bounds for an integer vector whose entries are shifted by at most `l1` in sum and `square` in squares."""

    def rise(n: int) -> Fraction:  # (α - 1) R(α) at α = n
        excess = min(((2 * n - 1) * square + 6 * l1) / (4 * variance**2), 3 * l1 / (2 * variance))
        return (n - 1) * (n * square / (2 * variance) + excess)

    floors = ((order, math.floor(order)) for order in ORDERS)
    return tuple(((n + 1 - a) * rise(n) + (a - n) * rise(n + 1)) / (a - 1) for a, n in floors)


def round_up(bound: Exact) -> float:
    """The least float that is not below.

    >>> from fractions import Fraction
    >>> round_up(Fraction(1, 2)), round_up(Fraction(1, 3)) > Fraction(1, 3), round_up(Fraction(10) ** 400)
    (0.5, True, inf)
    """
    try:
        near = float(bound)
    except OverflowError:
        return INF
    return near if near >= bound else math.nextafter(near, INF)


def epsilon_additions(delta: Exact) -> tuple[float, ...]:
    """The difference between ε and R(α), for every order α: ln(1 - 1/α) - ln(δ α) / (α - 1)  [CKS20, Prop. 12].

    A float cannot represent a δ below 1e-300 precisely: it counts as 0, for which every addition is infinite.

    **Guarantee**: whatever has divergence R(α) is (R(α) + addition, δ)-private; rounded upwards.

    >>> round(min(float(order) / 200 + more for order, more in zip(ORDERS, epsilon_additions(1e-6))), 4)
    0.4301
    """
    if delta <= 1e-300:
        return (INF,) * len(ORDERS)
    x = -math.log(math.nextafter(float(delta), 0.0))
    return tuple(x / gap + constant + _MARGIN * (x / gap + abs(constant)) for gap, constant in _CONSTANTS)


def bound_epsilon(curve: Iterable[Exact], pure_epsilon: Exact, delta: Exact) -> float:
    """The smallest ε that a curve and a pure ε prove at this δ, rounded upwards; infinite below δ = 0."""
    if delta < 0:
        return INF
    sums = (round_up(bound) + more for bound, more in zip(curve, epsilon_additions(delta), strict=True))
    return max(min(round_up(pure_epsilon), math.nextafter(min(sums), INF)), 0.0)
