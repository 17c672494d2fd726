"""One distribution that stands for noise of which some draws may be lost, however many are.

If users may be lost with their noise, it has c draws, with c unknown between `fewest_draws` and `draws_of_one`. For
each kind of noise there is a log-concave distribution g with

    P(Z = z) <= K g(z)    for all z and c,    K = (P(Z = 0) with the fewest draws) / g(0).

So a release has p(r; mu) <= K p_g(r; mu) for all means mu at once, and a bet that is fair under g is fair for every c
if it pays ln K for each release. docs/released_likelihood.md has the proofs.

* Coins, Gaussian and Skellam noise: g is that of the most draws, because P(Z = z) / g(z) is greatest at 0.
* Laplace noise with at most twice as many draws: g is one draw that is a little wider. With the most draws ln K would
  be three times as large.

With 1.25 times the fewest draws ln K is at most 0.09 for Laplace noise, and about 0.11 for the others.
"""

import math

from maskedbandit.core import kernel, large_kernel
from maskedbandit.law import Law, draws_of_one, fewest_draws, is_coins, is_laplace
from maskedbandit.theory.noise_pmf import log_pmf_of_draws


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
    return 1 / (1 / scale - w * more * math.tanh(1 / scale) * math.exp(-math.lgamma(1 + more) / more))


@large_kernel
def standing(law: Law, n: int, r: float) -> tuple[float, float]:
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
    scale, count = standing(law, n, r)
    fewest, middle = fewest_draws(law, n), 0.0
    if count == fewest and scale == law.scale:
        return 0.0
    if is_coins(law):
        fewest += (count - fewest) % 2
        middle = (count % 2) / 2
    return log_pmf_of_draws(law, law.scale, fewest, middle) - log_pmf_of_draws(law, scale, count, middle)
