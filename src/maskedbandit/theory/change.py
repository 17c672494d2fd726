"""Whether the mean of an arm has changed between two sets of its releases, under the noise of both.

For a mean q let I(q) be the Chernoff exponent of the sum that is lower, J(q) that of the one that is higher
(chernoff.py): sums so low, and so high, have probabilities <= e^-I and e^-J if q is the mean. A change is found if

    I(q) + J(q) > level     for all q in [0, 1].

The two sums share no reward and no noise. So without a change, where q is the mean of both, I + J exceeds the level
with probability <= (1 + level) e^-level, for either order of the two, and a change is found with probability
<= 2 (1 + level) e^-level: whatever the mean is, and for every distribution of rewards in [0, 1].
docs/changing_arms.md has the proof.

Both exponents are convex in q, I rises and J falls, and outside the two means one of them is zero: the least sum lies
between the means, and a golden-section search finds it. It may lie very near one of them, where that set is by far the
larger one, so the search is for the logarithm of (q - low) / (high - q). Without noise the least sum is the likelihood
ratio of [BKMS22].
"""

import math
from typing import NamedTuple

from maskedbandit.core import kernel, large_kernel, lean_kernel
from maskedbandit.golden_section import bracket, narrowed
from maskedbandit.law import Law, is_response
from maskedbandit.theory.chernoff import exponent

NEAREST = 24.0  # nats: how near a mean the search goes, as a part e^-24 of the distance between the two


class Sum(NamedTuple):
    """Releases of one arm, as one sum."""

    total: float
    m: int  # releases
    n: int  # rewards in them


@kernel
def divergence(p: float, q: float) -> float:
    """kl(p, q), for q strictly between 0 and 1."""
    return (p * math.log(p / q) if p > 0.0 else 0.0) + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1.0 else 0.0)


@large_kernel
@lean_kernel
def has_changed(law: Law, one: Sum, other: Sum, level: float) -> bool:
    """Whether no mean explains both sums at this level.

    >>> from maskedbandit.law import LAPLACE
    >>> law, high = Law(LAPLACE, scale=2.0, grid=1, per_release=1), Sum(80.0, 1, 100)
    >>> [has_changed(law, high, Sum(x, 1, 100), 10.0) for x in (60.0, 30.0)]
    [False, True]
    """
    x, y = one.total, other.total
    if is_response(law):  # from rewards to bits
        x, y = x * (1 - 2 * law.flip) + one.n * law.flip, y * (1 - 2 * law.flip) + other.n * law.flip
    if x / one.n > y / other.n:
        x, y, one, other = y, x, other, one
    low, high = min(max(x / one.n, 0.0), 1.0), min(max(y / other.n, 0.0), 1.0)
    pooled = (one.n * low + other.n * high) / (one.n + other.n)
    if not low < pooled < high or one.n * divergence(low, pooled) + other.n * divergence(high, pooled) <= level:
        return False  # not even without noise
    section = bracket(-NEAREST, NEAREST)
    for _ in range(24):
        q = low + (high - low) / (1 + math.exp(-section.x))
        found = exponent(law, x, one.m, one.n, q) + exponent(law, other.n - y, other.m, other.n, 1 - q)
        if found <= level:
            return False
        section = narrowed(section, found)
    return True
