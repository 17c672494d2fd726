"""The law of the noise in released sums, as numbers, and what follows from it: moments and radii.

It is all that a policy may know of a channel. Each kernel is written once, for every kind of noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from maskedbandit.core import kernel

NO_NOISE, LAPLACE, SKELLAM, GAUSSIAN, RESPONSE, COINS = range(6)
BINARY, HONAKER, KARY, HYBRID = range(1, 5)  # how a running sum is counted; 0: releases are independent


class Law(NamedTuple):
    """The law of the noise in released sums: everything a policy may know of a channel.

    A sum over n pulls is kept in steps of 1/g, g = max(grid, ceil(root * sqrt(n))), after every reward has been
    rounded at random to a multiple of 1/g (so rounded rewards stay in [0, 1] and keep their mean), and is released
    with independent noise draws of the given kind and scale: `per_pull * n` of them, and `per_release` of them times
    n / ceil(honest * n), because n users bring shares of which ceil(honest * n) are calibrated to make one whole draw.
    Randomized response adds nothing: each rounded bit is flipped with probability `flip`, and the released
    total (sum of bits - n * flip) / (1 - 2 * flip) is unbiased. A draw of coins is one fair coin, 1/2 or -1/2.

    On a tree (`counter`) a release is the change of an arm's running sum, which itself carries `nodes(law, m)`
    draws after m releases, wherever the stream is; single releases are not independent there.
    """

    kind: int
    scale: float = 0.0  # of one draw, in units of reward: Laplace scale, else standard deviation
    grid: float = 0.0  # 0: rewards are not rounded
    root: float = 0.0
    per_release: float = 0.0
    per_pull: float = 0.0
    honest: float = 1.0
    flip: float = 0.0
    counter: int = 0
    arity: int = 0  # of a k-ary tree


@kernel
def is_noiseless(law: Law) -> bool:
    """Releases are the sums themselves."""
    return law.kind == NO_NOISE


@kernel
def is_response(law: Law) -> bool:
    """Every reward is a bit that was flipped or not, and nothing is added to their sum."""
    return law.kind == RESPONSE


@kernel
def adds_noise(law: Law) -> bool:
    """Noise is added to sums or to rewards: a release is not made of the (possibly flipped) rewards alone."""
    return law.kind != NO_NOISE and law.kind != RESPONSE


@kernel
def is_laplace(law: Law) -> bool:
    """Draws are discrete Laplace: their tails are exponential, and whole draws have a pure loss."""
    return law.kind == LAPLACE


@kernel
def is_one_laplace_draw(law: Law, n: int) -> bool:
    """The noise in one release of n rewards is one discrete Laplace draw: its tail is known exactly."""
    return law.kind == LAPLACE and draws(law, 1, n) == 1.0


@kernel
def is_gaussian(law: Law) -> bool:
    """Draws are discrete Gaussian: they are sub-Gaussian with their variance, and so are their sums."""
    return law.kind == GAUSSIAN


@kernel
def is_skellam(law: Law) -> bool:
    """Draws are differences of two Poisson variables."""
    return law.kind == SKELLAM


@kernel
def is_coins(law: Law) -> bool:
    """Draws are fair coins, so that their sum is binomial."""
    return law.kind == COINS


@kernel
def unit_variance(law: Law) -> float:
    """The variance of a draw of scale 1."""
    return 2.0 if law.kind == LAPLACE else 1.0


@kernel
def largest_tilt(law: Law) -> float:
    """E exp(lam Z) is finite for |lam| below it."""
    return 1 / law.scale if law.kind == LAPLACE else math.inf


@kernel
def steps(law: Law, n: int) -> int:
    """Number g of steps in one unit of reward, for a cohort of n; 0 if rewards are not rounded."""
    if law.root == 0.0:
        return int(law.grid)
    fine = law.root * math.sqrt(n)
    return int(max(law.grid, math.ceil(fine - 1e-15 * fine)))  # the slack keeps whole numbers from rounding up


@kernel
def epoch(m: int) -> int:
    """floor(log2 m): the hybrid counter begins a new tree at every power of two."""
    level = 0
    while m >= 2:
        level, m = level + 1, m // 2
    return level


@kernel
def wider(kind: int, levels: int) -> float:
    """How much wider draws must be if a reward is in so many of them: pure losses add up, others in squares."""
    return float(levels) if kind == LAPLACE else math.sqrt(levels)


@kernel
def nodes(law: Law, m: int) -> float:
    """Noise in the running sum of the first m releases of an arm on a tree: its variance, in draws of `width(law, m)`.

    It bounds the cumulant too: a draw that counts w <= 1 times has K(w lam) <= w^2 K(lam), as K is convex in lam^2 for
    every noise here.

    >>> [nodes(Law(LAPLACE, 1.0, counter=BINARY), m) for m in (7, 8)], nodes(Law(LAPLACE, 1.0, counter=HONAKER), 2)
    ([3.0, 1.0], 0.6666666666666666)
    """
    total, weight = 0.0, 1.0
    if law.counter == KARY:
        while m > 0:  # balanced digits, from -(k-1)/2 to (k-1)/2
            digit = m % law.arity
            if digit > law.arity // 2:
                digit -= law.arity
            total += abs(digit)
            m = (m - digit) // law.arity
        return total
    if law.counter == HYBRID and m > 0:
        level = epoch(m)  # a draw for every power of two, and a wider one for every node of the tree since the last
        wide = wider(law.kind, max(level, 1))
        total, m = (level + 1) / (wide * wide), m - (1 << level)
    while m > 0:
        if m % 2 == 1:
            total += weight / (2 * weight - 1) if law.counter == HONAKER else 1.0
        weight *= 2.0
        m //= 2
    return total


@kernel
def width(law: Law, m: int) -> float:
    """Scale of the widest draw in the sum of m releases."""
    return law.scale * wider(law.kind, max(1, epoch(m))) if law.counter == HYBRID else law.scale


@kernel
def draws(law: Law, m: int, n: int) -> float:
    """Number of independent noise draws in m releases over n pulls in all, for one release exactly."""
    if law.counter > 0:
        return nodes(law, m)
    if m == 1:
        return draws_of_one(law, n)
    return law.per_release * (m / law.honest) + law.per_pull * n


@kernel
def draws_of_one(law: Law, n: int) -> float:
    """Number of independent noise draws in one release over n pulls; on a tree, for each of its nodes."""
    whole = n / float(calibration(law.honest, n)) if law.honest < 1.0 else 1.0
    return law.per_release * whole + law.per_pull * n


@kernel
def calibration(honest: float, n: int) -> int:
    """Least number of honest survivors of a cohort of n: the shares are calibrated to make one draw of them."""
    fine = honest * n
    return max(1, math.ceil(fine - 1e-15 * fine))


@kernel
def deviation(law: Law, m: int, n: int) -> float:
    """Standard deviation of the noise in the sum of m releases over n pulls in all, to within a step.

    >>> deviation(Law(LAPLACE, scale=10.0, grid=1, per_release=1), 2, 100)
    20.0
    """
    if is_response(law):
        return math.sqrt(n * law.flip * (1 - law.flip)) / (1 - 2 * law.flip)
    wide = width(law, m)
    return wide * math.sqrt(unit_variance(law) * draws(law, m, n))


@kernel
def cumulant(kind: int, scale: float, count: float, g: int, lam: float) -> float:
    """log E exp(lam Z), Z the sum of `count` noise draws in steps of 1/g; an upper bound for the Gaussian."""
    if count == 0.0 or lam == 0.0:
        return 0.0
    if kind == LAPLACE:  # discrete Laplace, rate 1/scale
        rate, tilt = 1.0 / (scale * g), abs(lam) / g
        if tilt >= rate:
            return math.inf
        ratio = math.exp((tilt - rate) / 2) * math.expm1(-tilt) / math.expm1(-rate)  # sinh(tilt/2) / sinh(rate/2)
        return math.inf if ratio >= 1.0 else -count * math.log1p(-ratio * ratio)
    if kind == SKELLAM:
        wide, half = scale * g, math.sinh(lam / (2 * g))  # products, as Python's ** 2 may differ in the last digit
        return 2 * count * wide * wide * half * half
    if kind == COINS:  # ln cosh(lam / 2g)
        tilt = abs(lam) / g
        if tilt < 1.0:  # 1 + 2 sinh^2 of half of it: here the other form would cancel
            half = math.sinh(tilt / 4)
            return count * math.log1p(2 * half * half)
        return count * (tilt / 2 + math.log1p(math.exp(-tilt)) - math.log(2.0))
    return count * scale * scale * lam * lam / 2  # [CKS20, Cor. 17]: the discrete Gaussian is sub-Gaussian


@kernel
def log_mgf(law: Law, n: int, lam: float) -> float:
    """At least log E exp(lam Z), Z the noise in one released sum of n rewards; infinite where that is.

    >>> log_mgf(Law(GAUSSIAN, scale=2.0, grid=1, per_release=1), 10, 0.5)
    0.5
    """
    if is_response(law):  # n independent errors, each of mean 0 in an interval of length 1/(1-2 flip)
        wide = lam / (1 - 2 * law.flip)
        return n * wide * wide / 8  # [Hoe63, Lem. 1]
    return cumulant(law.kind, law.scale, draws(law, 1, n), steps(law, n), lam)


@kernel
def log_mgf_of_sum(law: Law, m: int, n: int, lam: float) -> float:
    """At least log E exp(lam Z), Z the noise of m releases over n pulls in all."""
    if is_response(law):
        return log_mgf(law, n, lam)
    # the steps of m cohorts differ: finer ones have heavier tails if Laplace, coarser ones if Skellam
    g = steps(law, n) if m == 1 or is_laplace(law) else steps(law, 1)
    return cumulant(law.kind, width(law, m), draws(law, m, n), g, lam)


@kernel
def radius(law: Law, m: int, n: int, x: float) -> float:
    """A bound that the noise of m releases over n pulls in all stays below with probability >= 1 - 2 exp(-x).

    On a tree, the m releases are the first of their arm.

    >>> radius(Law(LAPLACE, scale=10.0, grid=1, per_release=1), 1, 500, 3.0)
    30.0
    """
    if is_response(law):
        return math.sqrt(n * x / 2) / (1 - 2 * law.flip)
    kind, count, scale = law.kind, draws(law, m, n), width(law, m)
    if count == 0.0:
        return 0.0
    if kind == GAUSSIAN:
        return scale * math.sqrt(2 * count * x)
    if kind == LAPLACE and count == 1.0:
        return scale * x  # P(|Z| >= y) = 2 b^y / (1 + b) on whole steps, b = exp(-1/scale)
    # Chernoff: the least (cumulant(lam) + x) / lam; it falls, then rises, so a golden section finds it
    # the steps of m cohorts differ: finer ones have heavier tails if Laplace, coarser ones if Skellam
    g = steps(law, n) if m == 1 or kind == LAPLACE else steps(law, 1)
    low, high = 0.0, 1.0 / scale
    if kind == SKELLAM:
        high = 1.0 / g
        while cumulant(kind, scale, count, g, high) < x:  # at the minimum the cumulant is below about x
            high *= 2.0
        high *= 2.0
    if kind == COINS:
        if x >= count * math.log(2.0) * (1 - 1e-12):  # all coins alike are as likely: that is as far as they go
            return count / (2 * g)
        high = 1.0 * g
        while count * high / (2 * g) * math.tanh(high / (2 * g)) < cumulant(kind, scale, count, g, high) + x:
            high *= 2.0
    golden = 0.6180339887498949
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a = (cumulant(kind, scale, count, g, a) + x) / a
    at_b = (cumulant(kind, scale, count, g, b) + x) / b
    for _ in range(36):  # to 3e-8 of the interval; every value is a valid bound
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = (cumulant(kind, scale, count, g, a) + x) / a
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = (cumulant(kind, scale, count, g, b) + x) / b
    return min(at_a, at_b)
