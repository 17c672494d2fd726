"""How hard it is to identify the best arm: pulls for each nat of evidence that it is the best.

    1 / T*  =  max over proportions w of  min over rivals a of  cost(best, a; w)
    cost    =  inf over x of  w_best d(m_best, x) + w_a d(m_a, x)

A policy that is wrong with probability at most δ needs at least T* kl(δ, 1 − δ) pulls on average (samples.py). The
formula is the same, with a d for each setting:

    "KL"         kl(m, x), Bernoulli rewards without privacy                                         [GK16]
    "KL", ε      d_ε(m, x), Bernoulli rewards under central pure privacy                               [JA25]
    "gaussian"   (m − x)² / (2 variance): rewards that are Gaussian, or sub-Gaussian and handled as such
    "gaussian", ε  cost gap min{3 ε, gap} / (2 variance (1/w_best + 1/w_a)) of AdaP-TT* [Azi24, Sec. 5.4.3]
    "TV"         |m − x|: cost min{w_best, w_a} gap, so T* = 1 / least gap + sum of 1 / gap_a        [Azi24, Prop. 4.26]
    "TV2"        (m − x)²: half of "gaussian" of variance 1                                          [AJMB24]

With `beta` the best arm gets that fraction of the pulls, and only the others are optimized: top-two policies converge
to that. Then T* is larger, at β = 1/2 at most twice as large.

All costs are solved in the same way. With v_a = w_a / w_best, the cost over w_best is C_a(v) = d(m_best, x) + v d(m_a,
x), with x where the two arms meet; it grows with v, and its slope is d(m_a, x). At the optimum all C_a are y, which is
found by moving the v of the second best arm until the sum of d(m_best, x_a) / d(m_a, x_a) is 1 [GK16, Thm. 5], or, if β
is given, until 1 / (1 + sum of v_a) is β.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from maskedbandit.checks import check_fraction
from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.theory import transport
from maskedbandit.theory.bounds import to_positive
from maskedbandit.theory.transport import SAME_MEAN

KINDS = ("KL", "TV", "TV2", "gaussian")
ArmIndex = slice | npt.NDArray[np.intp]
ALL_RIVALS = slice(None)
TIME_TOLERANCE = 1e-12  # tolerance: costs are equal, and logarithms of sums 0, up to this


class Optimum(NamedTuple):
    """The answer for one instance."""

    time: float
    proportions: Floats  # of the arms, in the order of the means


def characteristic_time(
    means: Sequence[float],
    kind: str = "KL",
    beta: float | None = None,
    epsilon: float | None = None,
    variance: float = 1.0,
) -> float:
    """T*, by the formula of this module. `epsilon` is for kinds "KL" and "gaussian", `variance` for "gaussian" alone.

    >>> mu = [0.75, 0.625, 0.5, 0.375, 0.25]
    >>> [round(characteristic_time(mu, kind), 3) for kind in ("KL", "gaussian", "TV")]
    [122.843, 571.868, 24.667]
    >>> round(characteristic_time(mu, epsilon=0.1), 2)
    283.58
    """
    return optimum(means, kind, beta, epsilon, variance).time


def proportions(
    means: Sequence[float],
    kind: str = "KL",
    beta: float | None = None,
    epsilon: float | None = None,
    variance: float = 1.0,
) -> Floats:
    """w*, the proportions of pulls at which T* is reached, in the order of the means.

    >>> proportions([0.5, 0.45, 0.43, 0.4]).round(4)
    array([0.4165, 0.3903, 0.1362, 0.057 ])
    """
    return optimum(means, kind, beta, epsilon, variance).proportions


def optimum(means: Sequence[float], kind: str, beta: float | None, epsilon: float | None, variance: float) -> Optimum:
    """T* and w*."""
    if kind not in KINDS:
        raise UnknownName("kind", kind, KINDS)
    try:
        arms = np.asarray(means, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValue("means", means, "at least two numbers in [0, 1]") from None
    if arms.ndim != 1 or arms.size < 2 or not ((arms >= 0) & (arms <= 1)).all():
        raise InvalidValue("means", means, "at least two numbers in [0, 1]")
    if (arms >= arms.max() - SAME_MEAN).sum() > 1:
        raise InvalidValue("means", means, "numbers with a single largest one")
    if beta is not None:
        check_fraction("beta", beta)
    if epsilon is not None:
        if kind not in ("KL", "gaussian"):
            raise InvalidValue("epsilon", epsilon, f'None for kind "{kind}"')
        epsilon = min(to_positive("epsilon", epsilon), 200.0)  # e^-200 is negligible beside a mean
    if to_positive("variance", variance) != 1.0 and kind != "gaussian":
        raise InvalidValue("variance", variance, f'1 for kind "{kind}"')
    best = int(arms.argmax())
    rivals, where, count = np.unique(-np.delete(arms, best), return_inverse=True, return_counts=True)
    with np.errstate(all="ignore"):  # infinite values are right: they are limits of the formulas
        y, v = solve(kind, arms[best], -rivals, count, beta, epsilon, variance)
        total = 1 + float(count @ v)
        return Optimum(total / y, np.insert(v[where], best, 1.0) / total)


class CostParts(Protocol):
    """Maps the v_a of rivals to d(m_best, x_a) and d(m_a, x_a); `at` says of which, if not of all."""

    def __call__(self, v: Floats, at: ArmIndex = ALL_RIVALS) -> tuple[Floats, Floats]: ...


def parts_of_squares(cost: Floats) -> CostParts:
    """d(m, x) = cost ((m - x) / gap)^2."""
    return lambda v, at=ALL_RIVALS: (cost[at] * np.square(v / (1 + v)), cost[at] / np.square(1 + v))


def parts_under_kl(top: float, rivals: Floats) -> CostParts:
    """d = kl: arms meet at the pooled mean."""
    each = np.vectorize(transport.kl_parts, otypes=[float, float])
    return lambda v, at=ALL_RIVALS: each(top, rivals[at], v)


def parts_under_privacy(top: float, rivals: Floats, epsilon: float) -> CostParts:
    """d = d_eps: transport.py says where arms meet."""
    each = np.vectorize(transport.private_parts, otypes=[float, float])
    return lambda v, at=ALL_RIVALS: each(top, rivals[at], v, epsilon)


def solve(
    kind: str,
    top: float,
    rivals: Floats,
    count: npt.NDArray[np.intp],
    beta: float | None,
    epsilon: float | None,
    variance: float,
) -> tuple[float, Floats]:
    """The common cost y, over w_best, and v_a for each distinct rival mean, largest first; `count` rivals have it."""
    gap = top - rivals
    if kind == "TV":  # a rival gains nothing from more pulls than the best arm
        v = gap[0] / gap
        if beta is not None:
            v *= (1 / beta - 1) / float(count @ v)
        return float(gap[0] * min(1.0, v[0])), v
    if kind == "KL":
        parts = parts_under_kl(top, rivals) if epsilon is None else parts_under_privacy(top, rivals, epsilon)
    else:
        cost = gap * (gap if epsilon is None else np.minimum(3 * epsilon, gap))
        parts = parts_of_squares(cost if kind == "TV2" else cost / (2 * variance))
    v = np.full(gap.size, 1.0)

    def miss(log_v: float) -> float:
        """The error of the v of the best rival, in logarithms, in which it is nearly linear."""
        nonlocal v
        v = common(parts, math.exp(log_v), v)
        lost, kept = parts(v)
        off = count @ (lost / kept) if beta is None else count @ v * beta / (1 - beta)
        return float(np.clip(np.log(off), -700, 700))

    log_v = find_root(miss, -math.log(count.sum()) / 2 if beta is None else math.log((1 / beta - 1) / count.sum()))
    v = common(parts, math.exp(log_v), v)
    lost, kept = parts(v)
    return float(lost[0] + v[0] * kept[0]), v


def find_root(f: Callable[[float], float], start: float) -> float:
    """The root of an increasing function, by Chandrupatla's method: quadratic steps where they fit, else halves."""
    low = high = start
    at_low = at_high = f(start)
    step = 1.0
    while at_low > 0 and low > -600:
        high, at_high = low, at_low
        low, step = low - step, 2 * step
        at_low = f(low)
    while at_high < 0 and high < 600:
        low, at_low = high, at_high
        high, step = high + step, 2 * step
        at_high = f(high)
    a, at_a, b, at_b, part = low, at_low, high, at_high, 0.5  # a is the last point, and b the end beyond the root
    for _ in range(100):
        x = a + part * (b - a)
        y = f(x)
        if (y > 0) == (at_a > 0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = x, y
        least = TIME_TOLERANCE * max(1.0, abs(a)) / abs(b - a) if b != a else 1.0
        if abs(y) <= TIME_TOLERANCE or least >= 0.5:
            break
        part, along, rise = 0.5, (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        if rise * rise < along and (1 - rise) ** 2 < 1 - along:
            part = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            part += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        part = min(max(part, least), 1 - least)
    return a


def common(parts: CostParts, second: float, v: Floats) -> Floats:
    """The v of all rivals at which C_a(v) is the cost of the best rival, whose v is `second`; from the guess `v`.

    Each step goes to the root of the curve c v / (1 + b v) with the value and the slope found at v: the costs of a
    quadratic d are such curves. Later steps go to the root of the tangent: costs are concave, so a tangent leads to the
    low side, and from there on up to the root, also past a kink.
    """
    v = np.minimum(v, second)
    v[0] = second
    low, high, left, y = np.zeros(v.size), np.full(v.size, second), np.arange(v.size), 0.0  # worse rivals take less
    for turn in range(60):  # a few arms near a kink of their costs take most of the turns
        old = v[left]
        lost, kept = parts(old, left)
        cost = lost + old * kept
        y = y if turn else cost[0]
        off = cost - y
        wrong = ~(np.abs(off) <= TIME_TOLERANCE * y)
        if not wrong.any():
            break
        left = left[wrong]
        old, cost, kept, off = (part[wrong] for part in (old, cost, kept, off))
        low[left], high[left] = np.where(off < 0, old, low[left]), np.where(off > 0, old, high[left])
        least, most = low[left], high[left]
        curve = old * y / np.maximum(y + cost / (old * kept) * off, y / 10)
        guess = curve if turn < 3 else old - off / kept
        halved = np.where(least > 0, np.sqrt(least * most), most / 16)
        v[left] = np.where((guess > least) & (guess < most) & (turn < 30), guess, halved)
    return v
