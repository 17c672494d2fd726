"""What policies, channels and drivers say to each other, and nothing else.

A policy asks for pulls (`Decision`) and is told privatized sums (`Release`); all that it may know of
the channel in between is the law of the noise in a sum, as numbers (`Law`). The algorithms themselves
are kernels: small functions over tuples of arrays that run as they stand in Python and that the
simulator compiles into its loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}  # how kernels are compiled


class Kernel(Generic[P, R]):
    """A function that can be compiled: called from Python it runs as Python, called from compiled code it is compiled.

    Parameters travel in the arguments, never in closures, and randomness comes only from a generator that
    is passed in; so one compilation serves all values, and both ways of running give the same numbers.

    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @cached_property
    def compiled(self) -> Any:
        import numba  # not at the top: importing the package, or running on a device, must not cost a compiler

        return numba.njit(**OPTIONS)(self.function)


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function as a kernel."""
    return Kernel(function)


class Decision(NamedTuple):
    """What a policy asks for.

    >>> Decision(arm=2, n=64, close=1)  # the next 64 users get arm 2; then its cohort closes, its sum is released
    Decision(arm=2, n=64, close=1)
    """

    arm: int
    n: int  # 0: stop; `arm` is the answer (identification), or is served from now on (regret)
    close: int  # 1: after these n users the arm's open cohort closes and its sum is released


WAIT = Decision(-1, 0, 0)  # nothing more to ask before a release arrives


class Release(NamedTuple):
    """What a policy is told: `total` is the privatized sum of the `n` rewards of a closed cohort of `arm`."""

    arm: int
    n: int
    total: float


NO_NOISE, LAPLACE, SKELLAM, GAUSSIAN, RESPONSE = range(5)


class Law(NamedTuple):
    """The law of the noise in released sums: everything a policy may know of a channel.

    A sum over n pulls is kept in steps of 1/g, g = max(grid, ceil(root * sqrt(n))), after every reward has been
    rounded at random to a multiple of 1/g (so rounded rewards stay in [0, 1] and keep their mean), and is released
    with independent noise draws of the given kind and scale: `per_pull * n` of them, and `per_release` of them times
    n / ceil(honest * n), because n users bring shares of which ceil(honest * n) are calibrated to make one whole draw.
    Randomized response adds nothing: each rounded bit is flipped with probability `flip`, and the released
    total (sum of bits - n * flip) / (1 - 2 * flip) is unbiased.
    """

    kind: int
    scale: float = 0.0  # of one draw, in units of reward: Laplace scale, else standard deviation
    grid: float = 0.0  # 0: rewards are not rounded
    root: float = 0.0
    per_release: float = 0.0
    per_pull: float = 0.0
    honest: float = 1.0
    flip: float = 0.0


@kernel
def steps(law: Law, n: int) -> int:
    """Number g of steps in one unit of reward, for a cohort of n; 0 if rewards are not rounded."""
    if law.root == 0.0:
        return int(law.grid)
    fine = law.root * math.sqrt(n)
    return int(max(law.grid, math.ceil(fine - 1e-15 * fine)))  # the slack keeps whole numbers from rounding up


@kernel
def draws(law: Law, m: int, n: int) -> float:
    """Number of independent noise draws in m releases over n pulls in all, for one release exactly."""
    whole = float(m)
    if law.honest < 1.0:
        whole = n / float(calibration(law.honest, n)) if m == 1 else m / law.honest
    return law.per_release * whole + law.per_pull * n


@kernel
def calibration(honest: float, n: int) -> int:
    """Least number of honest survivors of a cohort of n: the shares are calibrated to make one draw of them."""
    fine = honest * n
    return max(1, math.ceil(fine - 1e-15 * fine))


@kernel
def cumulant(law: Law, count: float, g: int, lam: float) -> float:
    """log E exp(lam Z), Z the sum of `count` noise draws in steps of 1/g; an upper bound for the Gaussian."""
    if count == 0.0 or lam == 0.0:
        return 0.0
    if law.kind == LAPLACE:  # discrete Laplace, rate 1/scale
        rate, tilt = 1.0 / (law.scale * g), abs(lam) / g
        if tilt >= rate:
            return math.inf
        ratio = math.exp((tilt - rate) / 2) * math.expm1(-tilt) / math.expm1(-rate)  # sinh(tilt/2) / sinh(rate/2)
        return math.inf if ratio >= 1.0 else -count * math.log1p(-ratio * ratio)
    if law.kind == SKELLAM:
        width, half = law.scale * g, math.sinh(lam / (2 * g))  # products, as Python's ** 2 may differ in the last digit
        return 2 * count * width * width * half * half
    return count * law.scale * law.scale * lam * lam / 2  # [CKS20, Cor. 17]: the discrete Gaussian is sub-Gaussian


@kernel
def log_mgf(law: Law, n: int, lam: float) -> float:
    """At least log E exp(lam Z), Z the noise in one released sum of n rewards; infinite where that is.

    >>> log_mgf(Law(GAUSSIAN, scale=2.0, grid=1, per_release=1), 10, 0.5)
    0.5
    """
    if law.kind == RESPONSE:  # n independent errors, each of mean 0 in an interval of length 1/(1-2 flip)
        wide = lam / (1 - 2 * law.flip)
        return n * wide * wide / 8  # [Hoe63, Lem. 1]
    return cumulant(law, draws(law, 1, n), steps(law, n), lam)


@kernel
def radius(law: Law, m: int, n: int, x: float) -> float:
    """A bound that the noise of m releases over n pulls in all stays below with probability >= 1 - 2 exp(-x).

    >>> radius(Law(LAPLACE, scale=10.0, grid=1, per_release=1), 1, 500, 3.0)
    30.0
    """
    if law.kind == RESPONSE:
        return math.sqrt(n * x / 2) / (1 - 2 * law.flip)
    count = draws(law, m, n)
    if count == 0.0:
        return 0.0
    if law.kind == GAUSSIAN:
        return law.scale * math.sqrt(2 * count * x)
    if law.kind == LAPLACE and count == 1.0:
        return law.scale * x  # P(|Z| >= y) = 2 b^y / (1 + b) on whole steps, b = exp(-1/scale)
    # Chernoff: the least (cumulant(lam) + x) / lam; it falls, then rises, so a golden section finds it
    # the steps of m cohorts differ: finer ones have heavier tails if Laplace, coarser ones if Skellam
    g = steps(law, n) if m == 1 or law.kind == LAPLACE else steps(law, 1)
    low, high = 0.0, 1.0 / law.scale
    if law.kind == SKELLAM:
        high = 1.0 / g
        while cumulant(law, count, g, high) < x:  # at the minimum the cumulant is below about x
            high *= 2.0
        high *= 2.0
    golden = 0.6180339887498949
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = (cumulant(law, count, g, a) + x) / a, (cumulant(law, count, g, b) + x) / b
    for _ in range(36):  # to 3e-8 of the interval; every value is a valid bound
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = (cumulant(law, count, g, a) + x) / a
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = (cumulant(law, count, g, b) + x) / b
    return min(at_a, at_b)


@kernel
def log_pmf(law: Law, n: int, z: int) -> float:
    """log P(Z = z), Z the noise in one released sum of n rewards, z in whole steps of 1/g.

    Several Gaussian draws count as one of their joint variance: near only if each has a variance of at least 2.

    >>> round(log_pmf(Law(LAPLACE, scale=1.0, grid=1, per_release=1), 10, 3) - log_pmf(
    ...     Law(LAPLACE, scale=1.0, grid=1, per_release=1), 10, 2), 12)
    -1.0
    """
    z, count = abs(z), draws(law, 1, n)
    if law.kind == RESPONSE or count == 0.0:
        return 0.0 if z == 0 else -math.inf
    width = law.scale * steps(law, n)
    if law.kind == GAUSSIAN:
        variance, norm = count * width * width, 1.0
        for i in range(1, int(10 * math.sqrt(variance)) + 2 if variance < 9 else 1):
            norm += 2 * math.exp(-i * i / (2 * variance))
        # from variance 9 on the sum is sqrt(2 pi variance) to within exp(-177) [CKS20, Fact 19]
        return -z * z / (2 * variance) - (math.log(norm) if variance < 9 else math.log(2 * math.pi * variance) / 2)
    if law.kind == LAPLACE and count == 1.0:
        return math.log(math.tanh(0.5 / width)) - z / width
    return log_pmf_of_difference(law.kind == LAPLACE, count, width, z)


@kernel
def log_pmf_of_difference(polya: bool, count: float, width: float, z: int) -> float:
    """log P(X - Y = z), z >= 0, for independent X, Y ~ Pólya(count, exp(-1/width)), or Poisson(count width^2 / 2).

    P(z) = sum_k p(k) p(k + z), summed outwards from its largest term, so that nothing overflows.
    """
    mean, square = count * width * width / 2, math.exp(-2 / width)
    if polya:
        a, b = 1 - square, z - square * (2 * (count - 1) + z)
        root = math.sqrt(max(0.0, b * b + 4 * a * square * (count - 1) * (count - 1 + z)))
        top = max(0, int((root - b) / (2 * a))) if count > 1 else 0
        log_sum = 2 * count * math.log(-math.expm1(-1 / width)) - (2 * top + z) / width
        log_sum += math.lgamma(count + top) + math.lgamma(count + top + z) - 2 * math.lgamma(count)
    else:
        top = int((math.sqrt(z * z + 4 * mean * mean) - z) / 2)
        log_sum = -2 * mean + (2 * top + z) * math.log(mean)
    log_sum -= math.lgamma(top + 1.0) + math.lgamma(top + z + 1.0)
    total = 1.0
    for step in (1, -1):
        term, k = 1.0, top
        while term > 1e-17 * total and k + step >= 0:
            i = k + (step - 1) // 2  # the ratio of the terms i + 1 and i
            ratio = square * (count + i) * (count + i + z) if polya else mean * mean
            ratio /= (i + 1.0) * (i + z + 1.0)
            term *= ratio if step > 0 else 1 / ratio
            total += term
            k += step
    return log_sum + math.log(total)
