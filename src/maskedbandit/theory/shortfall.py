"""The loss of a release if some of its noise is missing: devices dropped out, or somebody knows their noise.

Noise shares of discrete Laplace noise are calibrated so that some number of devices makes one draw, whose pure loss is
epsilon. If R times as many devices add theirs, Z is the difference of two Pólya(R, b) variables, b = exp(-epsilon / g),
with g steps in a reward. The loss is then

    R >= 1:   epsilon                 Z is one complete draw, and independent additional noise
    R < 1:    ln P(0) / P(g)          P the distribution of Z

**Why at 0.** For R < 1, C(R + k - 1, k) is the k-th moment of a Beta(R, 1 - R) variable, so with independent u, v of
that distribution P(x) is a constant times the sum over k of E (bu)^k (bv)^(k+x), which is E (bv)^x / (1 - b^2 uv) for
x >= 0: a mixture of the powers x of numbers below 1. Hence P falls, and ln P is convex, on x >= 0. So ln P(x) - ln P(x
+ s) is largest at x = 0 among x >= 0 for every shift s, grows with s up to g, and if x < 0 < x + s then P(x) <= P(0)
and P(x + s) >= P(s). For R -> 1 the loss falls to epsilon; for small R it is about epsilon + ln(g / R).

With a fraction of the noise the loss grows much faster than the noise shrinks: 90 % of the noise turn 0.1 into 0.16,
half of it into 1 (g = 10). Noise of every shape is studied as a mechanism in [HM25].
"""

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, exact
from maskedbandit.theory.noise_pmf import log_pmf_of_difference


def epsilon_left(epsilon: Number, steps: int, fraction: float) -> float:
    """The pure loss of a release that has `fraction` times the noise with which its loss is `epsilon`.

    >>> [round(epsilon_left(1, 32, fraction), 3) for fraction in (1, 0.9, 0.5)]
    [1.0, 1.181, 2.578]
    """
    meant = float(exact("epsilon", epsilon))
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
