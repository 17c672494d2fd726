"""An upper confidence bound for the mean of one arm, by one Chernoff bound for rewards and noise together.

For rewards of mean q in [0, 1] and the noise Z of m releases of n rewards in all, their released sum X has

    P(X ≤ x) ≤ exp(−I(q)),    I(q) = sup over λ ≥ 0 of  −λ x − n ln(1 − q + q e^−λ) − ln E exp(λ Z),

and the bound is max{q : I(q) ≤ f}. It holds for every distribution of rewards in [0, 1], and needs no more of the noise
than a bound on its moments. As I(q) ≤ f means that the exponent is ≤ f for every λ, and exponent = f is solved for q in
closed form, it is

    min over λ of  (1 − exp(−(f + λ X + ln E exp(λ Z)) / n)) / (1 − e^−λ).

Randomized response adds no noise: there the bound is that of KL-UCB on the bits.
docs/noise_aware_klucb.md has the proof.

**A change.** For a mean q let I(q) be the Chernoff exponent of the sum that is lower, J(q) that of the one that is
higher: sums so low, and so high, have probabilities ≤ e^−I and e^−J if q is the mean. A change is found if

    I(q) + J(q) > level     for all q in [0, 1].

The two sums share no reward and no noise. So without a change, where q is the mean of both, I + J exceeds the level
with probability ≤ (1 + level) e^−level, for either order of the two, and a change is found with probability ≤ 2 (1 +
level) e^−level: whatever the mean is, and for every distribution of rewards in [0, 1]. docs/changing_arms.md has the
proof.

Both exponents are convex in q, I rises and J falls, and outside the two means one of them is zero: the least sum lies
between the means, and a golden-section search finds it. It may lie very near one of them, where that set is by far the
larger one, so the search is for the logarithm of (q − low) / (high − q). Without noise the least sum is the likelihood
ratio of [BKMS22].
"""

import math
from typing import NamedTuple

from maskedbandit.core import kernel, large_kernel, lean_kernel
from maskedbandit.golden_section import narrow_down, open_bracket
from maskedbandit.law import Law, is_response, largest_tilt
from maskedbandit.noise_bounds import log_mgf_of_sum

LARGEST_TILT = 40.0  # lam: from there on e^-lam is nothing beside 1
SMALLEST_TILT = 1e-9


@large_kernel
@lean_kernel
def chernoff_exponent(law: Law, x: float, m: int, n: int, q: float) -> float:
    """I(q), or a little less: a released sum of at most x has probability <= exp(-I(q)), if q is the mean.

    Under randomized response x and q are those of the bits.

    >>> from maskedbandit.law import NO_NOISE
    >>> round(chernoff_exponent(Law(NO_NOISE), 8.0, 1, 16, 0.6231), 3)  # 16 kl(0.5, q)
    0.5
    """
    section = open_bracket(math.log(SMALLEST_TILT / (1 + law.scale)), math.log(min(LARGEST_TILT, largest_tilt(law))))
    for _ in range(26):
        lam = math.exp(section.x)
        noise = 0.0 if is_response(law) else log_mgf_of_sum(law, m, n, lam)
        section = narrow_down(section, lam * x + n * math.log1p(q * math.expm1(-lam)) + noise)
    return max(0.0, -section.least)


@kernel
def mean_at_exponent(law: Law, x: float, m: int, n: int, f: float, lam: float) -> float:
    """The mean at which the exponent is f, for one lam: above the index, whatever lam is.

    Where it is above 1, it is replaced by 1 + e - lam, which is convex, so that the search finds the minimum.
    """
    noise = 0.0 if is_response(law) else log_mgf_of_sum(law, m, n, lam)
    e = (f + lam * x + noise) / n
    if e > lam:
        return 1.0 + e - lam
    return math.expm1(min(-e, 700.0)) / math.expm1(-lam)  # 700: a sum far below 0


@large_kernel
@lean_kernel
def chernoff_bound(law: Law, x: float, m: int, n: int, f: float) -> float:
    """The largest mean that the released sum x of n rewards, in m releases, does not rule out at exploration rate f.

    Below 0 if every mean is ruled out.

    >>> from maskedbandit.law import NO_NOISE
    >>> round(chernoff_bound(Law(NO_NOISE), 8.0, 1, 16, 0.5), 4)  # here kl(0.5, q) = 0.5 / 16
    0.6231
    """
    if is_response(law):  # from rewards to bits
        x = x * (1 - 2 * law.flip) + n * law.flip
    # golden section in ln lam; for an index in (0, 1) 26 values leave an excess below a millionth
    top = min(LARGEST_TILT, largest_tilt(law))
    section = open_bracket(math.log(SMALLEST_TILT / (1 + law.scale)), math.log(top))
    for _ in range(26):
        section = narrow_down(section, mean_at_exponent(law, x, m, n, f, math.exp(section.x)))
    q = section.least
    if is_response(law):
        q = (q - law.flip) / (1 - 2 * law.flip)
    return min(1.0, q)


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
    section = open_bracket(-NEAREST, NEAREST)
    for _ in range(24):
        q = low + (high - low) / (1 + math.exp(-section.x))
        found = chernoff_exponent(law, x, one.m, one.n, q) + chernoff_exponent(
            law, other.n - y, other.m, other.n, 1 - q
        )
        if found <= level:
            return False
        section = narrow_down(section, found)
    return True
