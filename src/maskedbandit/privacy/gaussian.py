"""The exact loss of Gaussian noise: the smallest ε at a given δ.

Two unit Gaussians whose means are μ apart are (ε, δ)-indistinguishable if and only if [BW18, Thm. 8]

    δ ≥ Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2).

Gaussian noises on the same reward add up to μ² = sum of their squared shifts, in units of their deviations. A Rényi
curve (see `Loss`) also adds up adaptive losses and other distributions, and is a little above this.
"""

import math

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, to_fraction

GAUSSIAN_SLACK = 1e-12  # relative, above the error of Φ and of e^ε Φ in floating point


def gaussian_epsilon(mu: float, delta: Number) -> float:
    """The smallest ε for which a shift of mu standard deviations is (ε, δ)-private; rounded upwards.

    With x = ε/mu - mu/2 and y = x + mu the bound is Φ(-x) - e^(-x²/2) erfcx(y/√2) / 2: no large exponents are left.

    **Guarantee**: Gaussian noise is (ε, δ)-private at the result, for every mu up to 10^4.

    >>> [round(gaussian_epsilon(mu, 1e-5), 1) for mu in (0, 1, 10, 100)]
    [0.0, 4.4, 91.8, 5425.5]
    """
    from scipy.special import erfcx, ndtr

    if not mu >= 0.0:
        raise InvalidValue("mu", mu, "a number of at least 0")
    left = float(to_fraction("delta", delta, strict=False))
    if mu == 0.0:
        return 0.0
    if left < 1e-300:  # a smaller one is not a precise float: it counts as 0
        return math.inf

    def private(x: float) -> bool:
        hidden = math.exp(-x * x / 2) * float(erfcx((x + mu) / math.sqrt(2))) / 2
        return float(ndtr(-x)) * (1 + GAUSSIAN_SLACK) - hidden * (1 - GAUSSIAN_SLACK) <= left

    low, high = -mu / 2, 38.0  # Φ(-38) < 1e-300
    if private(low):
        return 0.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if private(middle) else (middle, high)
    return mu * (high + mu / 2) * (1 + GAUSSIAN_SLACK)
