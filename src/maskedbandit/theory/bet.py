"""An upper confidence bound for the mean of one arm: each candidate mean is tested by one bet against it.

For each q one alternative z(q) < q is fixed before anything is released. If q is the mean, then the likelihood ratio
L(z(q)) / L(q) of the releases has mean at most 1, so it exceeds e^level with probability <= e^-level. The bound is the
largest mean that is not refuted,

    U = max{q : Lambda(q) <= level},        Lambda(q) = ln L(z(q)) - ln L(q).

U lies below the mean only if the mean itself was refuted. docs/noise_aware_klucb.md has the proof.

z(q) is where the Chernoff bound for rewards and noise together would begin to refute q, at a little less than `level`:

    q - z(q) = w(q) = min over lam of  q + (ln(1 - q + q e^-lam) + (SHARE level + ln E exp(lam Z)) / n) / lam,

over a fixed grid of lam, and z = 0 where that is below 0. So it depends on sizes and on the noise alone.

Lambda need not rise with q, but Lambda(q) / w(q) does: it is minus the slope of a chord of ln L, which is concave, from
z(q) to q, and both ends rise with q. As w is a least value of concave functions, it is concave. So if
Lambda(a) min(w(a), w(b)) > level w(a), all of [a, b] is refuted, and a search from above misses nothing.
"""

from __future__ import annotations

import math

from maskedbandit.core import kernel, large_kernel
from maskedbandit.law import Law, largest_tilt, log_mgf_of_sum
from maskedbandit.theory.likelihood import Releases, information, of_release

SHARE = 0.8
TOLERANCE = 0.05  # Lambda at the bound that is returned is at most this much above the level, unless it jumps
LARGEST = 30.0  # lam, where the moments of the noise allow any


@kernel
def shift(law: Law, m: int, n: int, level: float, q: float) -> float:
    """w(q), for m releases of n rewards in all."""
    top, odds, least = min(LARGEST, largest_tilt(law)), 1 / 256, math.inf
    for _ in range(60):
        lam = top / (1 + odds)
        noise = (SHARE * level + log_mgf_of_sum(law, m, n, lam)) / n
        w = q + (math.log1p(q * math.expm1(-lam)) + noise) / lam
        if w >= least:  # it falls, then rises
            break
        least, odds = w, odds * 1.5
    return min(q, least)


@large_kernel
def evidence(law: Law, known: Releases, q: float, z: float) -> float:
    """Lambda: ln L(z) - ln L(q)."""
    found = 0.0
    for j in range(known.m):
        here = of_release(law, known.n[j], known.total[j], q)[0]
        if here == -math.inf:
            return math.inf
        found += of_release(law, known.n[j], known.total[j], z)[0] - here
    return found


@large_kernel
def bet_bound(law: Law, known: Releases, n: int, level: float) -> float:
    """U, or a little more, from releases of n rewards in all.

    >>> import numpy as np
    >>> from maskedbandit.law import LAPLACE
    >>> law, known = Law(LAPLACE, scale=2.0, grid=1, per_release=1), Releases(np.array([31.0, 130.0]), [50, 200], 2)
    >>> round(bet_bound(law, known, 250, 5.0), 2)
    0.73
    """
    mean = 0.0
    for j in range(known.m):
        mean += known.total[j] / n
    mean = min(max(mean, 0.0), 1.0)
    slope, center, seen = information(law, known, min(max(mean, 0.01), 0.99)), mean, 0.0
    low, floor, high, ends = 0.0, 0.0, 1.0, shift(law, known.m, n, level, 1.0)
    w = shift(law, known.m, n, level, max(mean, 0.01))
    asked_one = False
    for step in range(60):
        # in a normal model Lambda / w is linear in q - w / 2
        q = center + ((level + TOLERANCE / 2) / min(w, ends) - seen) / slope + w / 2
        if q >= 1.0 and not asked_one:
            q, asked_one = 1.0, True
        elif not floor < q < high or step % 4 == 3:
            q = (floor + high) / 2
        w = shift(law, known.m, n, level, q)
        found = evidence(law, known, q, q - w)
        if found * min(w, ends) > level * w:
            high, ends, floor = q, w, low
        else:
            if found <= level:
                low = q
            floor = q
        if found > level and q == high and found <= level + TOLERANCE or high - floor < 1e-3 * w:
            return high
        at = q - w / 2
        if at != center and (found / w - seen) / (at - center) > 0.0:
            slope = (found / w - seen) / (at - center)
        center, seen = at, found / w
    return high
