"""How far apart two distributions are, as privacy sees it: exactly from probabilities, or at least so far from samples.

A mechanism with loss (epsilon, delta) keeps P(event) <= e^epsilon Q(event) + delta for every event, P and Q its
distributions for two neighbours. An audit finds the smallest epsilon that the distributions allow; a loss below it is a
wrong loss.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tests.statistics import ALPHA

Law = NDArray[np.float64]


def largest_ratio(p: Law, q: Law) -> float:
    """max |ln p/q|: the pure epsilon of the two distributions."""
    if np.any((p > 0) != (q > 0)):
        return math.inf
    seen = p > 0
    return float(np.max(np.abs(np.log(p[seen]) - np.log(q[seen]))))


def excess(p: Law, q: Law, epsilon: float) -> float:
    """max over events of P - e^epsilon Q, whichever of the distributions is P: the delta that they need at epsilon."""
    grown = math.exp(epsilon)
    return float(max(np.maximum(p - grown * q, 0).sum(), np.maximum(q - grown * p, 0).sum()))


def needed_epsilon(p: Law, q: Law, delta: float) -> float:
    """The smallest epsilon at which delta is enough, from below to nine digits; infinite if none up to 100 is."""
    if excess(p, q, 100.0) > delta:
        return math.inf
    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(p, q, middle) > delta else (low, middle)
    return low


def seen_epsilon(a: Counter[Hashable], b: Counter[Hashable], events: int, delta: float = 0.0) -> float:
    """At least this epsilon separates the distributions that two samples of events come from, or a chance of ALPHA
    happened.

    Clopper-Pearson bounds, for each of `events` events that were fixed before the samples were seen, both ways. A
    sample counts every event that happened in each of its runs, under None the runs themselves.
    """
    alpha, best = ALPHA / (4 * events), 0.0
    for p, q in ((a, b), (b, a)):
        for event in p:
            if event is not None:
                low = float(beta.ppf(alpha, p[event], p[None] - p[event] + 1)) - delta
                high = float(beta.isf(alpha, q[event] + 1, q[None] - q[event])) if q[event] < q[None] else 1.0
                best = max(best, math.log(low / high) if low > 0 else 0.0)
    return best
