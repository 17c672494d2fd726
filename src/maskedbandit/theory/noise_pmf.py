"""The logarithms of the probabilities of the noise in a released sum; they do not underflow."""

import math

from maskedbandit.core import large_kernel, lean_kernel
from maskedbandit.law import Law, draws, is_coins, is_gaussian, is_laplace, is_response, is_skellam, steps


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
    return log_pmf_of_draws(law, law.scale * steps(law, n), draws(law, 1, n), z)


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
        ways = math.lgamma(count + 1) - math.lgamma(heads + 1) - math.lgamma(count - heads + 1)
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
