"""Upper bounds on the sample complexity of published searches, to first order: of E τ / ln(1/δ) as δ goes to 0.

    ctb_tt          ((e^ε + 1) / (e^ε − 1))² T*_TV2                                                         [AJMB24]
    ada_p_tt        4 T*_β (1 + √(1 + 8 gap_max² / ε²))                                           [Azi24, Thm. 5.20]
    ada_p_tt_star   4 T*_β g(4 gap_max / ε)                                   if gap_max < 3 ε,   [Azi24, Thm. 5.23]
                    48 T*_{ε,β} (1 + 2 / (√(1 + 1/y) − 1)),  y = 3 ε² T*_{ε,β} / 4              otherwise

T*_β and T*_{ε,β} are characteristic times of kind "gaussian", of variance 1/4 and β = 1/2; the second has ε. g(y) is
the largest x with x² ≤ x + y √(2 x) + y²/4. All are for instances of which no two means are equal, and are infinite on
others. At a finite δ thresholds have further terms, which are large at δ = 0.01: runs exceed these curves.

The bound of CTB-TT follows from that of TTUCB, E τ ≤ T*_β ln(1/δ) (1 + o(1)) [JD23]: randomized bits have gaps that are
(e^ε − 1) / (e^ε + 1) times as large and the same variance proxy 1/4, and T*_β is at most twice T* = T*_TV2 / 2.
"""

import math
from collections.abc import Callable, Sequence

from maskedbandit.checks import check_fraction
from maskedbandit.errors import UnknownName
from maskedbandit.theory.bounds import to_positive
from maskedbandit.theory.characteristic_times import characteristic_time

BETA, VARIANCE = 0.5, 0.25


def rate_of_ctb_tt(means: Sequence[float], epsilon: float) -> float:
    """Pulls for each nat under randomized response."""
    return characteristic_time(means, "TV2") / math.tanh(epsilon / 2) ** 2


def rate_of_ada_p_tt(means: Sequence[float], epsilon: float) -> float:
    """Pulls for each nat under central trust."""
    gap = max(means) - min(means)
    time = characteristic_time(means, "gaussian", BETA, variance=VARIANCE)
    return 4 * time * (1 + math.sqrt(1 + 8 * (gap / epsilon) ** 2))


def rate_of_ada_p_tt_star(means: Sequence[float], epsilon: float) -> float:
    """The same with costs that are cut at 3 ε."""
    gap = max(means) - min(means)
    if gap < 3 * epsilon:
        time = characteristic_time(means, "gaussian", BETA, variance=VARIANCE)
        return 4 * time * largest_inflation(4 * gap / epsilon)
    time = characteristic_time(means, "gaussian", BETA, epsilon, VARIANCE)
    y = 3 * epsilon**2 * time / 4
    return 48 * time * (1 + 2 / (math.sqrt(1 + 1 / y) - 1))


def largest_inflation(y: float) -> float:
    """g(y).

    >>> largest_inflation(0), round(largest_inflation(12), 2)
    (1.0, 9.98)
    """
    x = 1.0 + 2 * y + y ** (2 / 3) * 2
    for _ in range(200):  # from above, where the left side is larger, down to the root
        x = math.sqrt(x + y * math.sqrt(2 * x) + y * y / 4)
    return x


RATES: dict[str, Callable[[Sequence[float], float], float]] = {
    "ctb_tt": rate_of_ctb_tt,
    "ada_p_tt": rate_of_ada_p_tt,
    "ada_p_tt_star": rate_of_ada_p_tt_star,
}


def most_samples(name: str, means: Sequence[float], delta: float, epsilon: float) -> float:
    """The upper bound of the search `name`, "ctb_tt", "ada_p_tt" or "ada_p_tt_star", to first order as delta goes to 0.

    >>> [round(most_samples(name, [0.75, 0.625, 0.5, 0.375, 0.25], 0.01, 1.0)) for name in RATES]
    [6166, 7271, 7920]
    """
    if name not in RATES:
        raise UnknownName("guarantee", name, RATES)
    check_fraction("delta", delta)
    to_positive("epsilon", epsilon)
    if len(set(means)) < len(means):
        return math.inf
    return RATES[name](means, epsilon) * math.log(1 / delta)
