"""How many draws of noise one or more releases contain, how wide the draws are, and the grid of the rewards."""

import math

from maskedbandit.core import lean_kernel
from maskedbandit.law.record import COINS, HONAKER, HYBRID, KARY, LAPLACE, Law


@lean_kernel
def steps(law: Law, n: int) -> int:
    """Number g of steps in one unit of reward, for a cohort of n; 0 if rewards are not rounded."""
    if law.root == 0.0:
        return int(law.grid)
    fine = law.root * math.sqrt(n)
    return int(max(law.grid, math.ceil(fine - 1e-15 * fine)))  # the slack keeps whole numbers from rounding up


@lean_kernel
def epoch(m: int) -> int:
    """floor(log2 m): the hybrid counter begins a new tree at every power of two."""
    level = 0
    while m >= 2:
        level, m = level + 1, m // 2
    return level


@lean_kernel
def wider(law: Law, levels: int) -> float:
    """The factor by which draws must be wider if a reward is in so many: pure losses add up, others in squares."""
    if law.kind == LAPLACE:
        return float(levels)
    return math.sqrt(levels) if 0 <= law.kind <= COINS else math.nan


@lean_kernel
def nodes(law: Law, m: int) -> float:
    """Noise in the running sum of an arm's first m releases on a tree: its variance, in draws of `width(law, m)`.

    It bounds the cumulant too: a draw that counts w <= 1 times has K(w lam) <= w^2 K(lam), as K is convex in lam^2 for
    every noise here but coins, which no tree has.

    >>> from maskedbandit.law import BINARY
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
        level = epoch(m)  # a draw for every power of two, and a wider one for every node of the current tree
        wide = wider(law, max(level, 1))
        total, m = (level + 1) / (wide * wide), m - (1 << level)
    while m > 0:
        if m % 2 == 1:
            total += weight / (2 * weight - 1) if law.counter == HONAKER else 1.0
        weight *= 2.0
        m //= 2
    return total


@lean_kernel
def width(law: Law, m: int) -> float:
    """Scale of the widest draw in the sum of m releases."""
    return law.scale * wider(law, max(1, epoch(m))) if law.counter == HYBRID else law.scale


@lean_kernel
def draws(law: Law, m: int, n: int) -> float:
    """Number of independent noise draws in m releases over n pulls in all, at most; exact for one without losses."""
    if law.counter > 0:
        return nodes(law, m)
    if m == 1:
        return draws_of_one(law, n)
    return law.per_release * (m / law.honest) + law.per_pull * n + law.spare * m


@lean_kernel
def draws_of_one(law: Law, n: int) -> float:
    """Number of independent noise draws in one release over n pulls, if none is lost; on a tree, in each node."""
    whole = n / float(calibration(law.honest, n)) if law.honest < 1.0 else 1.0
    return law.per_release * whole + law.per_pull * n + law.spare


@lean_kernel
def fewest_draws(law: Law, n: int) -> float:
    """The least number of noise draws in one release over n pulls, whoever was lost.

    >>> law = Law(LAPLACE, per_release=1.0, honest=0.8)
    >>> fewest_draws(law, 100), draws_of_one(law, 100)
    (1.0, 1.25)
    """
    return law.per_release + law.per_pull * n


@lean_kernel
def calibration(honest: float, n: int) -> int:
    """Least number of honest survivors of a cohort of n: their noise shares are calibrated to sum to one draw."""
    fine = honest * n
    return max(1, math.ceil(fine - 1e-15 * fine))
