"""The likelihood of released sums, for every mean of the rewards.

A release of n rewards, each rounded to a bit, is r = X + Z with X ~ Bin(n, μ) and noise Z of known distribution h, so

    p_n(r; μ) = sum over x of  C(n, x) μ^x (1 − μ)^(n − x) h(r − x),

and releases of one arm multiply. Factors without μ are left out. The sum starts at its largest term and goes outwards
until terms are negligible, so the number of terms is that of the narrower of the two distributions. Where both are wide
a line in the complex plane takes its place, whose cost does not grow with them (line_integral.py).

Where users may be lost with their noise, h is a distribution that stands for all that are possible (see noise_pmf.py),
and whoever compares likelihoods has to grant the `log_allowance` to the one that is to be ruled out.

ln p_n(r; μ) is concave in μ for every noise here, because their h are log-concave; the proof is in
docs/released_likelihood.md. So is ln p of rewards in [0, 1] that are summed without rounding, which is that of
Bernoulli rewards.
"""

import math
from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel, large_kernel, lean_kernel
from maskedbandit.law import (
    Law,
    adds_noise,
    draws_of_one,
    is_coins,
    is_gaussian,
    is_laplace,
    is_skellam,
    is_sub_gamma,
    loses_draws,
    unit_variance,
)
from maskedbandit.theory.line_integral import is_narrow, of_wide_release
from maskedbandit.theory.log_gamma import log_gamma
from maskedbandit.theory.noise_pmf import log_excess, log_pmf_of_draws, stand_in_noise

NEGLIGIBLE_TERM = 1e-15  # terms below this fraction of the largest are left out


class ArmReleases(NamedTuple):
    """The releases of one arm: their totals, the rewards in each, and how many there are."""

    total: np.ndarray
    n: np.ndarray
    m: int


@kernel
def is_known(law: Law) -> bool:
    """Whether `of_release` is the likelihood of a release, or stands for it: bits, and independent noise of known
    distribution."""
    whole = law.grid == 1 and law.root == 0 and law.per_pull == 0
    return adds_noise(law) and whole and law.counter == 0 and not is_sub_gamma(law)


@kernel
def of_coins(ones: float, n: float, p: float) -> tuple[float, float]:
    """ones ln p + (n - ones) ln(1 - p), and its slope in p."""
    zeros = n - ones
    if p <= 0.0 or p >= 1.0:
        return (-math.inf if (ones if p <= 0.0 else zeros) > 0.0 else 0.0), 0.0
    return ones * math.log(p) + zeros * math.log1p(-p), ones / p - zeros / (1 - p)


@large_kernel
@lean_kernel
def log_noise(law: Law, scale: float, count: float, z: float) -> float:
    """ln h(z), up to a constant that does not depend on z."""
    if is_laplace(law) and count == 1.0:
        return -abs(z) / scale
    if is_gaussian(law):
        return -z * z / (2 * count * scale * scale)
    return log_pmf_of_draws(law, scale, count, z)


@kernel
def bounded_exp(x: float) -> float:
    """e^x, or e^700 if that is smaller: of so large a ratio only the direction matters."""
    return math.exp(min(x, 700.0))


@large_kernel
@lean_kernel
def closer(law: Law, scale: float, count: float, z: float) -> float:
    """h(z - 1) / h(z): the likelihood ratio of the noise if one more of the sum is reward."""
    if is_laplace(law) and count == 1.0:
        return bounded_exp(1 / scale) if z >= 1.0 else 1 / bounded_exp(1 / scale)
    if is_gaussian(law):
        return bounded_exp((2 * z - 1) / (2 * count * scale * scale))
    if is_coins(law):
        heads, tails = count / 2 + z, count / 2 - z + 1
        return math.inf if tails <= 0.0 else max(0.0, heads / tails)
    return bounded_exp(log_pmf_of_draws(law, scale, count, z - 1) - log_pmf_of_draws(law, scale, count, z))


@large_kernel
@lean_kernel
def of_release(law: Law, n: int, r: float, mu: float) -> tuple[float, float]:
    """ln p_n(r; mu) and its slope in mu, on a channel that adds noise to whole sums.

    >>> from maskedbandit.law import LAPLACE
    >>> law = Law(LAPLACE, scale=2.0, grid=1, per_release=1)
    >>> [round(float(of_release(law, 50, 31.0, mu)[0] - of_release(law, 50, 31.0, 0.5)[0]), 4) for mu in (0.6, 0.7)]
    [0.9762, 0.5166]
    """
    scale, count = stand_in_noise(law, n, r) if loses_draws(law) else (law.scale, draws_of_one(law, n))
    if mu <= 0.0:
        return log_noise(law, scale, count, r), n * (closer(law, scale, count, r) - 1)
    if mu >= 1.0:
        ratio = closer(law, scale, count, r - n + 1)
        return log_noise(law, scale, count, r - n), n * (1 - 1 / ratio) if ratio > 0.0 else -math.inf
    odds, laplace, normal = mu / (1 - mu), is_laplace(law) and count == 1.0, is_gaussian(law)
    up = bounded_exp(1 / scale if laplace else 1 / (count * scale * scale))
    down = 1 / up
    if not is_narrow(law, scale, count, n, r, odds, up):
        wide = of_wide_release(law, scale, count, n, r, mu)
        if not math.isnan(wide[0]):
            return wide
    # the first x whose term is larger than the next is between those of either distribution
    top, end = int(max(0.0, min(n * mu - 1, r - 1))), int(min(float(n), max(n * mu + 1, r + 1)))
    while top < end:
        x = (top + end) // 2
        if laplace:
            ratio = up if r - x >= 1.0 else down
        elif is_skellam(law):  # a ratio of Bessel functions, nearly: to start next to the largest term does as well
            shift = (r - x - 0.5) / (count * scale * scale)
            ratio = shift + math.sqrt(1 + shift * shift) if shift > 0.0 else 1 / (math.sqrt(1 + shift * shift) - shift)
        else:
            ratio = closer(law, scale, count, r - x)
        if odds * (n - x) / (x + 1) * ratio < 1.0:
            end = x
        else:
            top = x + 1
    # of the terms and of x - top, in units of the largest term; a step to the next ratio is cheap for common noise
    total, moment = 1.0, 0.0
    summed = not (laplace or normal or is_coins(law))  # then a probability is itself a sum, and is computed once
    middle = log_noise(law, scale, count, r - top)
    term, x, ratio, last = 1.0, top, closer(law, scale, count, r - top), middle
    if summed:
        last = log_noise(law, scale, count, r - top - 1)
    while x < n and term > NEGLIGIBLE_TERM * total:
        term *= odds * (n - x) / (x + 1) * ratio
        x += 1
        total += term
        moment += term * (x - top)
        if laplace:
            ratio = up if r - x >= 1.0 else down
        elif summed:
            before, last = last, log_noise(law, scale, count, r - x - 1)
            ratio = bounded_exp(last - before)
        else:
            ratio = ratio * down if normal else closer(law, scale, count, r - x)
    term, x, ratio, last = 1.0, top, closer(law, scale, count, r - top + 1), middle
    if summed:
        last = log_noise(law, scale, count, r - top + 1)
    while x > 0 and term > NEGLIGIBLE_TERM * total:
        term *= x / (odds * (n - x + 1) * ratio)
        x -= 1
        total += term
        moment += term * (x - top)
        if laplace:
            ratio = up if r - x >= 0.0 else down
        elif summed:
            before, last = last, log_noise(law, scale, count, r - x + 1)
            ratio = bounded_exp(before - last)
        else:
            ratio = ratio * up if normal else closer(law, scale, count, r - x + 1)
    largest = log_gamma(n + 1.0) - log_gamma(top + 1.0) - log_gamma(n - top + 1.0)
    largest += top * math.log(mu) + (n - top) * math.log1p(-mu) + middle
    return largest + math.log(total), (top + moment / total - n * mu) / (mu * (1 - mu))


@kernel
def log_likelihood(law: Law, known: ArmReleases, mu: float) -> tuple[float, float]:
    """ln of the likelihood of a mean, up to a constant, and its slope in mu."""
    value, slope = 0.0, 0.0
    if not adds_noise(law):  # here the sum of all releases is sufficient
        ones, n = 0.0, 0.0
        for i in range(known.m):
            ones += known.total[i]
            n += known.n[i]
        ones = ones * (1 - 2 * law.flip) + n * law.flip  # from rewards to bits
        value, slope = of_coins(min(max(ones, 0.0), n), n, law.flip + (1 - 2 * law.flip) * mu)
        return value, slope * (1 - 2 * law.flip)
    for i in range(known.m):
        one = of_release(law, known.n[i], known.total[i], mu)
        value += one[0]
        slope += one[1]
    return value, slope


@large_kernel
def log_allowance(law: Law, known: ArmReleases) -> float:
    """ln of how many times as likely as `log_likelihood` says the releases may be, at most, as draws may be lost."""
    total = 0.0
    if loses_draws(law):
        for i in range(known.m):
            total += log_excess(law, known.n[i], known.total[i])
    return total


@kernel
def mean_information(law: Law, known: ArmReleases, mu: float) -> float:
    """The information of the releases on a mean near mu, in a normal model: 1 / the variance of the best estimate."""
    answer, bit = 0.0, law.flip + (1 - 2 * law.flip) * mu
    for i in range(known.m):
        n = float(known.n[i])
        noise = draws_of_one(law, known.n[i]) * law.scale * law.scale * unit_variance(law)
        answer += n * n / (n * bit * (1 - bit) / ((1 - 2 * law.flip) * (1 - 2 * law.flip)) + noise)
    return answer


@large_kernel
def likeliest_mean(law: Law, known: ArmReleases, guess: float) -> float:
    """The maximum-likelihood mean, to a twentieth of its standard error, by Fisher's scoring within a bracket.

    >>> from maskedbandit.law import LAPLACE
    >>> law, known = Law(LAPLACE, scale=2.0, grid=1, per_release=1), ArmReleases(np.array([31.0, 130.0]), [50, 200], 2)
    >>> round(likeliest_mean(law, known, 0.5), 2)
    0.65
    """
    if not adds_noise(law):
        ones, n = 0.0, 0.0
        for i in range(known.m):
            ones += known.total[i]
            n += known.n[i]
        return min(max(ones / n, 0.0), 1.0)
    low, high, mu = 0.0, 1.0, min(max(guess, 1e-6), 1 - 1e-6)
    for _ in range(60):
        slope = log_likelihood(law, known, mu)[1]
        if slope > 0.0:
            low = mu
        else:
            high = mu
        wide = 1 / mean_information(law, known, min(max(mu, 0.01), 0.99))
        step = slope * wide
        if abs(step) < 0.05 * math.sqrt(wide) or high - low < 1e-9:
            break
        mu += step
        if not low < mu < high:
            mu = (low + high) / 2
    return mu
