"""The distribution of the noise in released sums, as numbers: all that a policy may know of a channel.

Each kernel is written once, for every kind of noise. A noise of another kind needs no edit here: it has the kind
`SUB_GAMMA`, and two numbers bound its cumulant. A `Law` of an unknown kind cannot be made, and a kernel returns nan for
one. Policies ask for the property that they need, never for the kind; bounds are in noise_bounds.py.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from maskedbandit.core import lean_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.toeplitz import banded_nodes, endless_nodes

NOISE_KINDS = ("NO_NOISE", "LAPLACE", "SKELLAM", "GAUSSIAN", "RESPONSE", "COINS", "SUB_GAMMA")
NO_NOISE, LAPLACE, SKELLAM, GAUSSIAN, RESPONSE, COINS, SUB_GAMMA = range(len(NOISE_KINDS))
BINARY, HONAKER, KARY, HYBRID, ROOT, ENDLESS = range(1, 7)  # how running sums are counted; 0: releases are independent


class LawParameters(NamedTuple):
    """The fields of a `Law`, whose docstring explains them."""

    kind: int
    scale: float = 0.0  # of one draw, in units of reward: a standard deviation, except for Laplace and sub-gamma noise
    grid: float = 0.0  # 0: rewards are not rounded
    root: float = 0.0
    per_release: float = 0.0
    per_pull: float = 0.0
    honest: float = 1.0
    flip: float = 0.0
    counter: int = 0
    arity: int = 0  # of a k-ary tree; the bands of a root counter
    variance: float = 0.0  # of a sub-gamma draw of scale 1, or more
    tail: float = 0.0  # of the same
    spare: float = 0.0


class Law(LawParameters):
    """The distribution of the noise in released sums, as numbers: all that a policy may know of a channel.

    A sum over n pulls is kept in steps of 1/g, g = max(grid, ceil(root * √n)), after every reward has been rounded at
    random to a multiple of 1/g (so rounded rewards stay in [0, 1] and keep their mean), and is released with
    independent noise draws of the given kind and scale: `per_pull * n` of them, and `per_release` of them times n /
    ceil(honest * n), because n users add noise shares of which ceil(honest * n) are calibrated to sum to one draw. And
    `spare` more. Users who are lost take noise with them: where `honest` is below 1, or there are spare draws, a
    release has at most so many draws, and at least `per_release`, besides those of pulls. Randomized response adds
    nothing: each rounded bit is flipped with probability `flip`, and the released total (sum of bits − n * flip) / (1 −
    2 * flip) is unbiased. A draw of coins is one fair coin, 1/2 or -1/2.

    Of a sub-gamma draw Z only log E exp(λ Z) ≤ scale² variance λ² / (2 (1 − tail scale |λ|)) is known [BLM13, Sec.
    2.4]; many draws, or a part of one, have as many times that bound.

    On a tree (`counter`) a release is the change of an arm's running sum, which itself carries `nodes(law, m)`
    draws after m releases, wherever the stream is; single releases are not independent there.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **values: Any) -> Law:
        law = super().__new__(cls, *args, **values)
        if law.kind not in range(len(NOISE_KINDS)):
            allowed = f"a known kind ({', '.join(NOISE_KINDS)}); noise of any other distribution has the kind SUB_GAMMA"
            raise InvalidValue("kind", law.kind, allowed)
        for name in ("scale", "grid", "root", "per_release", "per_pull", "spare"):
            if not 0 <= getattr(law, name) < math.inf:
                raise InvalidValue(name, getattr(law, name), "a finite number of at least 0")
        if not 0 < law.honest <= 1:
            raise InvalidValue("honest", law.honest, "a fraction of the users, above 0 and at most 1")
        if not 0 <= law.flip < 0.5:
            raise InvalidValue("flip", law.flip, "a probability below 1/2")
        if law.kind == SUB_GAMMA and not 0 < law.variance < math.inf:
            raise InvalidValue(
                "variance", law.variance, "above 0: the variance of a draw of scale 1, stated by its noise"
            )
        if law.kind == SUB_GAMMA and not 0 <= law.tail < math.inf:
            raise InvalidValue("tail", law.tail, "at least 0: of a draw of scale 1, stated by its noise")
        if law.kind != SUB_GAMMA and (law.variance, law.tail) != (0, 0):
            raise InvalidValue("variance", law.variance, "left out, and `tail` too, unless the kind is SUB_GAMMA")
        if law.counter == HYBRID and law.kind == SUB_GAMMA:
            allowed = "another one, as for this noise it is not known how wide the draws of that counter must be"
            raise InvalidValue("counter", "hybrid", allowed)
        return law

    def _replace(self, **values: Any) -> Law:
        return Law(**{**self._asdict(), **values})


@lean_kernel
def count_steps(law: Law, n: int) -> int:
    """Number g of steps in one unit of reward, for a cohort of n; 0 if rewards are not rounded."""
    if law.root == 0.0:
        return int(law.grid)
    fine = law.root * math.sqrt(n)
    return int(max(law.grid, math.ceil(fine - 1e-15 * fine)))  # the slack keeps whole numbers from rounding up


@lean_kernel
def hybrid_epoch(m: int) -> int:
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
    """Noise in the running sum of an arm's first m releases on a tree: its variance, in draws of `widest_scale(law,
    m)`.

    It bounds the cumulant too: a draw that counts w <= 1 times has K(w lam) <= w^2 K(lam), as K is convex in lam^2 for
    every noise here but coins, which no tree has.

    >>> from maskedbandit.law import BINARY
    >>> [nodes(Law(LAPLACE, 1.0, counter=BINARY), m) for m in (7, 8)], nodes(Law(LAPLACE, 1.0, counter=HONAKER), 2)
    ([3.0, 1.0], 0.6666666666666666)
    """
    total, weight = 0.0, 1.0
    if law.counter == ROOT and m > 0:
        return banded_nodes(m, law.arity)
    if law.counter == ENDLESS and m > 0:
        return endless_nodes(m)
    if law.counter == KARY:
        while m > 0:  # balanced digits, from -(k-1)/2 to (k-1)/2
            digit = m % law.arity
            if digit > law.arity // 2:
                digit -= law.arity
            total += abs(digit)
            m = (m - digit) // law.arity
        return total
    if law.counter == HYBRID and m > 0:
        level = hybrid_epoch(m)  # a draw for every power of two, and a wider one for every node of the current tree
        wide = wider(law, max(level, 1))
        total, m = (level + 1) / (wide * wide), m - (1 << level)
    while m > 0:
        if m % 2 == 1:
            total += weight / (2 * weight - 1) if law.counter == HONAKER else 1.0
        weight *= 2.0
        m //= 2
    return total


@lean_kernel
def widest_scale(law: Law, m: int) -> float:
    """Scale of the widest draw in the sum of m releases."""
    return law.scale * wider(law, max(1, hybrid_epoch(m))) if law.counter == HYBRID else law.scale


@lean_kernel
def count_draws(law: Law, m: int, n: int) -> float:
    """Number of independent noise draws in m releases over n pulls in all, at most; exact for one without losses."""
    if law.counter > 0:
        return nodes(law, m)
    if m == 1:
        return draws_of_one(law, n)
    return law.per_release * (m / law.honest) + law.per_pull * n + law.spare * m


@lean_kernel
def draws_of_one(law: Law, n: int) -> float:
    """Number of independent noise draws in one release over n pulls, if none is lost; on a tree, in each node."""
    whole = n / float(least_honest(law.honest, n)) if law.honest < 1.0 else 1.0
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
def least_honest(honest: float, n: int) -> int:
    """Least number of honest survivors of a cohort of n: their noise shares are calibrated to sum to one draw."""
    fine = honest * n
    return max(1, math.ceil(fine - 1e-15 * fine))


@lean_kernel
def is_noiseless(law: Law) -> bool:
    """Whether releases are exact sums."""
    return law.kind == NO_NOISE


@lean_kernel
def is_response(law: Law) -> bool:
    """Whether every reward is a bit that was flipped at random, and nothing is added to their sum."""
    return law.kind == RESPONSE


@lean_kernel
def adds_noise(law: Law) -> bool:
    """Whether noise is added to sums or to rewards: a release is not a function of the (possibly flipped) rewards."""
    return law.kind != NO_NOISE and law.kind != RESPONSE


@lean_kernel
def loses_draws(law: Law) -> bool:
    """Whether users may be lost with their noise, so that only bounds on the number of draws in a release are known."""
    return law.honest < 1.0 or law.spare > 0.0


@lean_kernel
def is_laplace(law: Law) -> bool:
    """Whether draws are discrete Laplace: their tails are exponential, and complete draws have a pure loss."""
    return law.kind == LAPLACE


@lean_kernel
def is_one_laplace_draw(law: Law, n: int) -> bool:
    """Whether the noise in one release of n rewards is one discrete Laplace draw: its tail is known exactly."""
    return law.kind == LAPLACE and count_draws(law, 1, n) == 1.0


@lean_kernel
def is_gaussian(law: Law) -> bool:
    """Whether draws are discrete Gaussian: they are sub-Gaussian with their variance, and so are their sums."""
    return law.kind == GAUSSIAN


@lean_kernel
def is_skellam(law: Law) -> bool:
    """Whether draws are differences of two Poisson variables."""
    return law.kind == SKELLAM


@lean_kernel
def is_coins(law: Law) -> bool:
    """Whether draws are fair coins, so that their sum is binomial."""
    return law.kind == COINS


@lean_kernel
def is_sub_gamma(law: Law) -> bool:
    """Whether only a bound on the cumulant of the noise is known, neither its probabilities nor its variance."""
    return law.kind == SUB_GAMMA


@lean_kernel
def unit_variance(law: Law) -> float:
    """The variance of a draw of scale 1; for sub-gamma noise a bound on it."""
    if law.kind == LAPLACE:
        return 2.0
    if law.kind == SUB_GAMMA:
        return law.variance
    return 1.0 if 0 <= law.kind <= COINS else math.nan


@lean_kernel
def largest_tilt(law: Law) -> float:
    """The least upper bound of the |lam| for which E exp(lam Z), or its bound, is finite."""
    if law.kind == LAPLACE:
        return 1 / law.scale
    if law.kind == SUB_GAMMA and law.tail > 0.0:
        return 1 / (law.scale * law.tail)
    return math.inf if 0 <= law.kind <= SUB_GAMMA else math.nan
