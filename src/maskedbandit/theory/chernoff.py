"""An upper confidence bound for the mean of one arm, by one Chernoff bound for rewards and noise together.

For rewards of mean q in [0, 1] and the noise Z of m releases of n rewards in all, their released sum X has

    P(X <= x) <= exp(-I(q)),    I(q) = sup over lam >= 0 of  -lam x - n ln(1 - q + q e^-lam) - ln E exp(lam Z),

and the bound is max{q : I(q) <= f}. It holds for every distribution of rewards in [0, 1], and needs no more of the
noise than a bound on its moments. As I(q) <= f means that the exponent is <= f for every lam, and exponent = f is
solved for q in closed form, it is

    min over lam of  (1 - exp(-(f + lam X + ln E exp(lam Z)) / n)) / (1 - e^-lam).

Randomized response adds no noise: there the bound is that of KL-UCB on the bits.
docs/noise_aware_klucb.md has the proof.
"""

import math

from maskedbandit.core import kernel, large_kernel, lean_kernel
from maskedbandit.golden_section import bracket, narrowed
from maskedbandit.law import Law, is_response, largest_tilt, log_mgf_of_sum

LARGEST = 40.0  # lam: from there on e^-lam is nothing beside 1
SMALLEST = 1e-9


@large_kernel
@lean_kernel
def exponent(law: Law, x: float, m: int, n: int, q: float) -> float:
    """I(q), or a little less: a released sum of at most x has probability <= exp(-I(q)), if q is the mean.

    Under randomized response x and q are those of the bits.

    >>> from maskedbandit.law import NO_NOISE
    >>> round(exponent(Law(NO_NOISE), 8.0, 1, 16, 0.6231), 3)  # 16 kl(0.5, q)
    0.5
    """
    section = bracket(math.log(SMALLEST / (1 + law.scale)), math.log(min(LARGEST, largest_tilt(law))))
    for _ in range(26):
        lam = math.exp(section.x)
        noise = 0.0 if is_response(law) else log_mgf_of_sum(law, m, n, lam)
        section = narrowed(section, lam * x + n * math.log1p(q * math.expm1(-lam)) + noise)
    return max(0.0, -section.least)


@kernel
def root(law: Law, x: float, m: int, n: int, f: float, lam: float) -> float:
    """The mean at which the exponent is f, for one lam: above the index, whatever lam is.

    Where it is above 1, it is replaced by 1 + e - lam, which is convex, so that the search finds the minimum.
    """
    noise = 0.0 if is_response(law) else log_mgf_of_sum(law, m, n, lam)
    e = (f + lam * x + noise) / n
    if e > lam:
        return 1.0 + e - lam
    return math.expm1(min(-e, 700.0)) / math.expm1(-lam)  # 700: a sum far below 0


@large_kernel
@lean_kernel
def chernoff_bound(law: Law, x: float, m: int, n: int, f: float) -> float:
    """The largest mean that the released sum x of n rewards, in m releases, does not rule out at exploration rate f.

    Below 0 if every mean is ruled out.

    >>> from maskedbandit.law import NO_NOISE
    >>> round(chernoff_bound(Law(NO_NOISE), 8.0, 1, 16, 0.5), 4)  # here kl(0.5, q) = 0.5 / 16
    0.6231
    """
    if is_response(law):  # from rewards to bits
        x = x * (1 - 2 * law.flip) + n * law.flip
    # golden section in ln lam; for an index in (0, 1) 26 values leave an excess below a millionth
    top = min(LARGEST, largest_tilt(law))
    section = bracket(math.log(SMALLEST / (1 + law.scale)), math.log(top))
    for _ in range(26):
        section = narrowed(section, root(law, x, m, n, f, math.exp(section.x)))
    q = section.least
    if is_response(law):
        q = (q - law.flip) / (1 - 2 * law.flip)
    return min(1.0, q)
