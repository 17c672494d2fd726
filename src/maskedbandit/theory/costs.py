"""What it takes to make each of many rivals look as good as the best arm: transport.py for a whole instance, in arrays.

A `Parts` turns v_a = w_a / w_best of each rival into two parts, d(m_best, x_a) and d(m_a, x_a), at the x_a where arms
meet. The cost over w_best is C_a(v) = d(m_best, x_a) + v d(m_a, x_a); it grows with v, and part two is its slope.
All that is small is computed as such, so that means may be a millionth apart, or from 0 or 1. `at` says which rivals
the v are of, if not of all.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Arms = slice | npt.NDArray[np.intp]
ALL = slice(None)


class Parts(Protocol):
    """See the top of the file."""

    def __call__(self, v: Floats, at: Arms = ALL) -> tuple[Floats, Floats]: ...


def quadratic_parts(cost: Floats) -> Parts:
    """d(m, x) = cost ((m - x) / gap)^2."""
    return lambda v, at=ALL: (cost[at] * np.square(v / (1 + v)), cost[at] / np.square(1 + v))


def kl_parts(top: float, rivals: Floats) -> Parts:
    """d = kl: arms meet at the pooled mean."""

    def parts(v: Floats, at: Arms = ALL) -> tuple[Floats, Floats]:
        gap = top - rivals[at]
        down, up = gap * v / (1 + v), gap / (1 + v)
        x, y = rivals[at] + up, 1 - top + down
        return near(y, x, down), near(x, y, up)

    return parts


def private_parts(top: float, rivals: Floats, epsilon: float) -> Parts:
    """d = d_eps: transport.py says where arms meet. `down` leads there from the best arm, and `up` from the rivals."""
    q, odds = -math.expm1(-epsilon), math.exp(-epsilon)
    edge_down, edges_up = edge(1 - top, q, odds), edge(rivals, q, odds)

    def half_way(m: Floats | float, w: Floats | float, other: Floats | float) -> Floats:
        """How far below m the x is if it is at the price of kl for an arm of mean m alone."""
        linear, difference = w * (1 + q * m) + other * q, w * (1 - q * m) - other * q
        x = 2 * w * m / (linear + np.sqrt(np.square(difference) + 4 * w * other * q * (1 - m)))
        answer: Floats = other * q * x * (1 - x) / (w * (1 - q * x))
        return answer

    def parts(v: Floats, at: Arms = ALL) -> tuple[Floats, Floats]:
        low, edge_up = rivals[at], edges_up[at]
        gap = top - low
        touch = edge_down + edge_up >= gap  # there are x that are at the price of kl for both
        x = np.where(touch, top + v * low, (1 - v * odds) / q) / (1 + v)
        down = np.where(touch, gap * v / (1 + v), top - x)
        up = np.where(touch, gap / (1 + v), x - low)
        by_rival = np.where(touch, up > edge_up, down < edge_down)
        by_best = np.where(touch, down > edge_down, up < edge_up)
        step_down, step_up = half_way(top, 1.0, v), half_way(1 - low, v, 1.0)
        down = np.where(by_rival, step_down, np.where(by_best, gap - step_up, down))
        up = np.where(by_best, step_up, np.where(by_rival, gap - step_down, up))
        down, up = np.clip(down, 0.0, gap), np.clip(up, 0.0, gap)
        x, y = low + up, 1 - top + down
        return raised(1 - top, y, x, down, edge_down), raised(low, x, y, up, edge_up)

    def raised(m: Floats | float, x: Floats, y: Floats, gap: Floats, limit: Floats) -> Floats:
        """d_eps(m, x) with x = m + gap, y = 1 - x: kl up to a limit, and from there on what is left of the line."""
        steep = m + (1 - m) * odds
        kl = near(np.minimum(x, m + limit), np.maximum(y, (1 - m) * odds / steep), np.minimum(gap, limit))
        return kl - np.log1p(-np.maximum(0.0, q * (gap - limit) * steep / odds))

    return parts


def edge(m: Floats | float, q: float, odds: float) -> Floats:
    """How far above m the x is whose odds are e^eps times those of m."""
    return np.asarray(m * (1 - m) * q / (m + (1 - m) * odds))


def near(x: Floats, y: Floats, gap: Floats) -> Floats:
    """kl(x - gap, x) where y = 1 - x."""
    return np.where(gap > 0, x * excess(-gap / x) + y * excess(gap / y), 0.0)


def excess(u: Floats) -> Floats:
    """(1+u) ln(1+u) - u."""
    series = np.square(u) * (0.5 - u * (1 / 6 - u * (1 / 12 - u * (1 / 20 - u * (1 / 30 - u * (1 / 42 - u / 56))))))
    return np.where(np.abs(u) < 0.01, series, np.where(u > -1, (1 + u) * np.log1p(u) - u, 1.0))
