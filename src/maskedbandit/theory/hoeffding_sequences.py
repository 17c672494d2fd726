"""The confidence sequence of Hoeffding type for randomized bits, a yardstick for the intervals of `estimate`.

Device t sends a bit z_t of mean r μ_t + (1 − r) / 2, with r = tanh(ε / 2): it has flipped a bit of mean μ_t with
probability 1 / (1 + e^ε). A bit has log-moments of at most λ² / 8 around its mean, so for weights that are fixed before

    |Σ λ_i (z_i − (1 − r) / 2) / r − Σ λ_i μ_i|  ≤  (ln(2 / α) + Σ λ_i² / 8) / r       at all times t together

with probability ≥ 1 − α [Vil39]. With λ_t = min{1, √(8 ln(2 / α) / (t ln(t + 1)))} and equal means this is the sequence
"NPRR" for bits in the program of [WSWR23]; of the paper only the beginning could be had.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from maskedbandit.checks import check_fraction, check_positive
from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue


class ConfidenceSequence(NamedTuple):
    """Ends of an interval after each bit."""

    low: Floats
    high: Floats


def hoeffding_sequence(bits: ArrayLike, epsilon: float, alpha: float = 0.05) -> ConfidenceSequence:
    """Intervals for a mean after each of the randomized bits, right at all times together with probability 1 - alpha.

    >>> found = hoeffding_sequence([1, 0] * 5_000, epsilon=1)
    >>> round(float(found.low[-1]), 3), round(float(found.high[-1]), 3)
    (0.448, 0.555)
    """
    check_positive("epsilon", epsilon)
    check_fraction("alpha", alpha)
    z = np.asarray(bits, float)
    if z.ndim != 1 or not np.isin(z, (0.0, 1.0)).all():
        raise InvalidValue("bits", bits, "a list of numbers 0 and 1, as devices sent them")
    t, r, log = np.arange(1, z.size + 1), math.tanh(epsilon / 2), math.log(2 / alpha)
    weights = np.minimum(1.0, np.sqrt(8 * log / (t * np.log(t + 1))))
    sums = r * np.cumsum(weights)
    middle = np.cumsum(weights * (z - (1 - r) / 2)) / sums
    margin = (log + np.cumsum(weights**2) / 8) / sums
    return ConfidenceSequence(np.maximum(middle - margin, 0.0), np.minimum(middle + margin, 1.0))
