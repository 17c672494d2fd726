"""Evidence that the mean of an arm is above, or below, a value that is known; valid at all times.

A bet says that the mean is u_j, with logit u_j = logit z + 2^(1 - j), for j = 0, 1, ...; its gain is the likelihood
ratio L(u_j) / L(z). If the mean is at most z, each gain is a non-negative supermartingale from 1, however pulls and
cohorts are chosen, and so is the mean of them under weights that are fixed in advance (docs/released_likelihood.md,
Lemma 1): it ever reaches 1/alpha with probability <= alpha [Vil39]. Bets below z are the mirror image.
"""

import math

from maskedbandit.core import kernel, large_kernel
from maskedbandit.law import Law
from maskedbandit.theory.evidence import SCALES, log_sum, log_weight, scale, shift
from maskedbandit.theory.likelihood import Releases, allowance, log_likelihood


@kernel
def logit(p: float) -> float:
    """ln(p / (1 - p)), which is kept finite."""
    p = min(max(p, 1e-300), 1 - 1e-16)
    return math.log(p / (1 - p))


@large_kernel
def beyond(law: Law, known: Releases, z: float, mean: float) -> tuple[float, float]:
    """ln of the evidence that the mean is beyond z, on the side of the estimate `mean`, and the gain of the best bet.

    >>> import numpy as np
    >>> from maskedbandit.law import NO_NOISE
    >>> known = Releases(np.array([65.0]), np.array([100]), 1)
    >>> [round(float(number), 2) for number in beyond(Law(NO_NOISE), known, 0.5, 0.65)]
    [3.02, 4.41]
    """
    here, distance = logit(z), logit(mean) - logit(z)
    first, sign = scale(abs(distance) / 2), 1.0 if mean > z else -1.0
    null, found, best = log_likelihood(law, known, z)[0] + allowance(law, known), -math.inf, -math.inf
    for j in range(first, first + SCALES):  # gains of others are not negative, so leaving them out is safe
        gain = log_likelihood(law, known, 1 / (1 + math.exp(-here - 4 * sign * shift(j))))[0] - null
        found = log_sum(found, log_weight(j) + gain)
        best = max(best, gain)
    return found, max(best, 0.0)
