"""The logarithms of the probabilities of the noise in a released sum, also if some of its draws are lost.

**Lost draws.** If users may be lost with their noise, it has c draws, with c unknown between `fewest_draws` and
`draws_of_one`. For each kind of noise there is a log-concave distribution g with

    P(Z = z) ≤ K g(z)    for all z and c,    K = (P(Z = 0) with the fewest draws) / g(0).

So a release has p(r; μ) ≤ K p_g(r; μ) for all means μ at once, and a bet that is fair under g is fair for every c if it
pays ln K for each release. docs/released_likelihood.md has the proofs.

* Coins, Gaussian and Skellam noise: g is that of the most draws, because P(Z = z) / g(z) is greatest at 0.
* Laplace noise with at most twice as many draws: g is one draw that is a little wider. With the most draws ln K would
  be three times as large.

With 1.25 times the fewest draws ln K is at most 0.09 for Laplace noise, and about 0.11 for the others.

**A loss with less noise.** Noise shares of discrete Laplace noise are calibrated so that some number of devices makes
one draw, whose pure loss is ε. If R times as many devices add theirs, Z is the difference of two Pólya(R, b) variables,
b = exp(−ε / g), with g steps in a reward. The loss is then

    R ≥ 1:   ε                 Z is one complete draw, and independent additional noise
    R < 1:    ln P(0) / P(g)          P the distribution of Z

**Why at 0.** For R < 1, C(R + k − 1, k) is the k-th moment of a Beta(R, 1 − R) variable, so with independent u, v of
that distribution P(x) is a constant times the sum over k of E (bu)^k (bv)^(k+x), which is E (bv)^x / (1 − b² uv) for x
≥ 0: a mixture of the powers x of numbers below 1. Hence P falls, and ln P is convex, on x ≥ 0. So ln P(x) − ln P(x + s)
is largest at x = 0 among x ≥ 0 for every shift s, grows with s up to g, and if x < 0 < x + s then P(x) ≤ P(0) and P(x +
s) ≥ P(s). For R -> 1 the loss falls to ε; for small R it is about ε + ln(g / R).

With a fraction of the noise the loss grows much faster than the noise shrinks: 90 % of the noise turn 0.1 into 0.16,
half of it into 1 (g = 10). Noise of every shape is studied as a mechanism in [HM25].
"""

import math

from maskedbandit.core import kernel, large_kernel, lean_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import (
    Law,
    count_draws,
    count_steps,
    draws_of_one,
    fewest_draws,
    is_coins,
    is_gaussian,
    is_laplace,
    is_response,
    is_skellam,
)
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.theory.log_gamma import log_gamma


@large_kernel
@lean_kernel
def log_pmf(law: Law, n: int, z: float) -> float:
    """log P(Z = z), Z the noise in one released sum of n rewards, z in steps of 1/g.

    z is an integer, except for an odd number of coins. Several Gaussian draws are replaced by one draw of their joint
    variance, which is accurate only if each has a variance of at least 2.

    >>> from maskedbandit.law import LAPLACE
    >>> round(log_pmf(Law(LAPLACE, scale=1.0, grid=1, per_release=1), 10, 3) - log_pmf(
    ...     Law(LAPLACE, scale=1.0, grid=1, per_release=1), 10, 2), 12)
    -1.0
    """
    if is_response(law):
        return 0.0 if z == 0 else -math.inf
    return log_pmf_of_draws(law, law.scale * count_steps(law, n), count_draws(law, 1, n), z)


@large_kernel
def log_pmf_of_draws(law: Law, wide: float, count: float, z: float) -> float:
    """log P(Z = z), Z the sum of `count` draws of this scale, both in steps."""
    z = abs(z)
    if count == 0.0:
        return 0.0 if z == 0 else -math.inf
    if is_coins(law):
        heads = count / 2 + z
        if heads > count:
            return -math.inf
        ways = log_gamma(count + 1) - log_gamma(heads + 1) - log_gamma(count - heads + 1)
        return ways - count * math.log(2.0)
    if is_gaussian(law):
        variance, norm = count * wide * wide, 1.0
        for i in range(1, int(10 * math.sqrt(variance)) + 2 if variance < 9 else 1):
            norm += 2 * math.exp(-i * i / (2 * variance))
        # from variance 9 on the sum is sqrt(2 pi variance) to within exp(-177) [CKS20, Fact 19]
        return -z * z / (2 * variance) - (math.log(norm) if variance < 9 else math.log(2 * math.pi * variance) / 2)
    if is_laplace(law) and count == 1.0:
        return math.log(math.tanh(0.5 / wide)) - z / wide
    if not (is_laplace(law) or is_skellam(law)):
        return math.nan  # the probabilities of other noise are not known
    return log_pmf_of_difference(is_laplace(law), count, wide, int(z))


@large_kernel
@lean_kernel
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
        log_sum += log_gamma(count + top) + log_gamma(count + top + z) - 2 * log_gamma(count)
    else:
        top = int((math.sqrt(z * z + 4 * mean * mean) - z) / 2)
        log_sum = -2 * mean + (2 * top + z) * math.log(mean)
    log_sum -= log_gamma(top + 1.0) + log_gamma(top + z + 1.0)
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


@kernel
def wider_laplace(scale: float, more: float) -> float:
    """The scale of one draw that stands for 1 to 1 + `more` draws of discrete Laplace noise, 0 < `more` <= 1.

    >>> round(wider_laplace(10.0, 0.25), 2)
    10.94
    """
    still = math.tanh(0.5 / scale)
    half = (1 + still * still) / 2
    w = 1.0
    for _ in range(8):  # towards the least w with w - 1 - ln w <= -ln half, from above: each of these will do
        w = half * math.exp(w - 1)
    return 1 / (1 / scale - w * more * math.tanh(1 / scale) * math.exp(-log_gamma(1 + more) / more))


@large_kernel
def stand_in_noise(law: Law, n: int, r: float) -> tuple[float, float]:
    """Scale and number of draws of the noise g that stands for that of the release r of n rewards."""
    fewest, most = fewest_draws(law, n), draws_of_one(law, n)
    if most == fewest:
        return law.scale, most
    if is_coins(law):  # of the number of coins it is seen whether it is odd
        heads = most / 2 + r
        return law.scale, most - 2 * (heads - math.floor(heads))
    if is_laplace(law) and fewest == 1.0 and most <= 2.0:
        return wider_laplace(law.scale, most - 1), 1.0
    return law.scale, most


@kernel
def log_excess(law: Law, n: int, r: float) -> float:
    """ln K for the release r of n rewards.

    >>> from maskedbandit.law import GAUSSIAN, LAPLACE
    >>> noises = [Law(kind, scale=20.0, grid=1, per_release=1, honest=0.8) for kind in (LAPLACE, GAUSSIAN)]
    >>> [round(log_excess(law, 100, 50.0), 3) for law in noises]
    [0.09, 0.112]
    """
    scale, count = stand_in_noise(law, n, r)
    fewest, middle = fewest_draws(law, n), 0.0
    if count == fewest and scale == law.scale:
        return 0.0
    if is_coins(law):
        fewest += (count - fewest) % 2
        middle = (count % 2) / 2
    return log_pmf_of_draws(law, law.scale, fewest, middle) - log_pmf_of_draws(law, scale, count, middle)


def epsilon_left(epsilon: Number, steps: int, fraction: float) -> float:
    """The pure loss of a release that has `fraction` times the noise with which its loss is `epsilon`.

    >>> [round(epsilon_left(1, 32, fraction), 3) for fraction in (1, 0.9, 0.5)]
    [1.0, 1.181, 2.578]
    """
    meant = float(to_fraction("epsilon", epsilon))
    if meant > 700:
        raise InvalidValue("epsilon", epsilon, "a number above 0 and at most 700")
    if not 1 <= steps <= 10**6 * meant or steps != int(steps):
        raise InvalidValue("steps", steps, "a whole number from 1 to a million epsilon")
    if not fraction > 0:
        raise InvalidValue("fraction", fraction, "a number above 0: a sum without noise is not private")
    if fraction >= 1:
        return meant
    at_0, at_g = (log_pmf_of_difference(True, float(fraction), steps / meant, x) for x in (0, int(steps)))
    return max(at_0 - at_g, meant)
