"""An upper confidence bound for the mean of one arm: every candidate mean is tested by one bet against it.

For each q one alternative z(q) < q is fixed before anything is released. If q is the mean, then the likelihood ratio
L(z(q)) / L(q) of the releases has mean ≤ 1, so it exceeds e^level with probability ≤ e^−level. The bound is the largest
mean that is not refuted,

    U = max{q : Λ(q) ≤ level},        Λ(q) = ln L(z(q)) − ln L(q).

So U lies below the mean only if the mean itself was refuted. docs/noise_aware_klucb.md has the proofs.

z(q) = q − w(q) is where the Chernoff bound for rewards and noise together begins to refute q, at a level f' that is
lower, because that bound charges more for the noise than the likelihood does:

    w(q) = min over λ of  q + (ln(1 − q + q e^−λ) + (f' + ln E exp(λ Z)) / n) / λ,
    f' = level² / (level + 2),

over fixed values of λ, and w(q) = q if that is less. So it depends on sizes and on the noise alone.

Where users may be lost with their noise, the likelihood is that of a distribution that stands for all that are possible
(noise_pmf.py), and the level is higher by what the releases are allowed for it.

Λ need not rise with q, but Λ(q) / w(q) does: it is minus the slope of the chord of ln L from z(q) to q. ln L is
concave, and both ends rise with q. And w is concave, as a least value of concave functions. So all of [a, b] is refuted
if Λ(a) min{1, w(b) / w(a)} > level, and a search from above misses nothing.
"""

import math

from maskedbandit.core import large_kernel, lean_kernel
from maskedbandit.law import Law, largest_tilt
from maskedbandit.noise_bounds import log_mgf_of_sum
from maskedbandit.theory.likelihood import ArmReleases, log_allowance, of_release

SPARED = 2.0  # nats, in f'
TOLERANCE = 0.007  # the bound that is returned is refuted with at most this part more than the level, unless by a jump
NARROW_BET = 1e-3  # of w: an interval that is not divided further
LARGEST_BET = 40.0  # lam, where the noise has moments of any: from there on e^-lam is nothing beside 1
BET_STEPS, FIRST_BET, FACTOR = 60, 1 / 256, 1.5  # lam = top / (1 + FIRST * FACTOR^i)


@large_kernel
@lean_kernel
def bet_shift(law: Law, m: int, n: int, level: float, q: float) -> float:
    """w(q), for m releases of n rewards in all."""
    top, odds, least = min(LARGEST_BET, largest_tilt(law)), FIRST_BET, math.inf
    for _ in range(BET_STEPS):
        lam = top / (1 + odds)
        price = (level * level / (level + SPARED) + log_mgf_of_sum(law, m, n, lam)) / n
        w = q - 1 + (math.log1p((1 - q) * math.expm1(lam)) + price) / lam
        if w >= least:  # it falls, then rises
            break
        least, odds = w, odds * FACTOR
    return min(q, least)


@large_kernel
@lean_kernel
def bet_evidence(law: Law, known: ArmReleases, q: float, w: float) -> tuple[float, float]:
    """Lambda(q), of the bet on q - w, and its slope where w stays."""
    found, slope = 0.0, 0.0
    for j in range(known.m):
        here, there = of_release(law, known.n[j], known.total[j], q), of_release(law, known.n[j], known.total[j], q - w)
        if here[0] == -math.inf:
            return math.inf, math.inf
        found += there[0] - here[0]
        slope += there[1] - here[1]
    return found, slope


@large_kernel
@lean_kernel
def bet_bound(law: Law, known: ArmReleases, n: int, level: float, most: float) -> float:
    """U, or a little more, from releases of n rewards in all; or `most`, if that is not refuted.

    All from `high` to `most` is refuted, and what is not lies below it. In a normal model Lambda is linear but for what
    w changes, so that Newton's steps find the bound at once.

    >>> import numpy as np
    >>> from maskedbandit.law import LAPLACE
    >>> law, known = Law(LAPLACE, scale=2.0, grid=1, per_release=1), ArmReleases(np.array([31.0, 130.0]), [50, 200], 2)
    >>> round(float(bet_bound(law, known, 250, 5.0, 1.0)), 2)
    0.75
    """
    level += log_allowance(law, known)
    x = 0.0
    for j in range(known.m):
        x += known.total[j]
    bottom, low, high, narrowest, tried = 0.0, 0.0, most, bet_shift(law, known.m, n, level, most), False
    q = max(x / n, 0.0) + narrowest  # its bet is near the mean of all releases
    for step in range(BET_STEPS):
        if q >= most == high and not tried:
            q, tried = most, True
        elif not low < q < high or step % 8 == 7:
            q = (low + high) / 2
        w = bet_shift(law, known.m, n, level, q)
        found, slope = bet_evidence(law, known, q, w)
        if found > level * max(1.0, w / narrowest):  # so all from q to `high` is refuted
            low, high, narrowest = bottom, q, w
            if found <= level * (1 + TOLERANCE):
                return high
        else:
            low = q
            if found <= level:
                bottom = q
        if high - low < NARROW_BET * w:
            return high
        if slope > 0.0:
            q += (level * max(1.0, w / narrowest) * (1 + TOLERANCE / 2) - found) / slope
    return high
