"""Properties of the noise: policies ask for the property that they need, never for the kind."""

import math

from maskedbandit.core import lean_kernel
from maskedbandit.law.counts import draws
from maskedbandit.law.record import COINS, GAUSSIAN, LAPLACE, NO_NOISE, RESPONSE, SKELLAM, SUB_GAMMA, Law


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
    return law.kind == LAPLACE and draws(law, 1, n) == 1.0


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
