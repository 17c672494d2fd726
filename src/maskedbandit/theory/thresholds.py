"""Thresholds of stopping rules: when differences between arms are significant, uniformly over time.

    Wbar(x) = the root y ≥ 1 of y − ln y = x
    C_G(x)  = min over 1/2 < l < 1 of (2l − 2l ln 4l + ln ζ(2l) − ln(1 − l) / 2 + x) / l           [KK21]

For σ-sub-Gaussian rewards of any K arms, any sampling rule and every x > 0,

    P(ever: sum over a, b of N (m − μ)² / (2 σ²) > 2 C_G(x / 2) + 2 ln(4 + ln N_a) + 2 ln(4 + ln N_b)) ≤ e^−x

for a fixed pair of arms, m the mean of the N rewards of an arm [KK21]. If μ_a ≤ μ_b, the sum is at least (m_a − m_b)_+²
/ (2 σ² (1/N_a + 1/N_b)). So with x = ln((K − 1)/δ) a policy that stops once this is above the threshold for a leader
and each other arm is wrong with probability ≤ δ. The threshold is `gaussian_threshold(base, N_a, N_b)` with base =
`gaussian_base(K, delta)`. Logarithms are concave, so its last two terms are at most 4 ln(4 + ln(t/2)) after t pulls in
all; TTUCB uses that instead [JD23].

For rewards in [0, 1], of sums S_a, there is a sharper statistic than the squares, and a threshold without constants:

    Z_ab = l(S_a, N_a) + l(S_b, N_b) − l(S_a + S_b, N_a + N_b) ≥ ln((K − 1)/δ) + R(S_a, N_a) + R(S_b, N_b),

l the maximum log-likelihood of Bernoulli rewards (Z is the sum of N kl(m, pooled mean)), and R the `redundancy`, that
is l minus the logarithm of the average likelihood, over means with the prior of Krichevsky and Trofimov. Let μ_a ≤ μ_b
but m_a > m_b. Then Z_ab is at most the sum over both arms of l(S, N) − ln p, p the likelihood of the true mean, because
the pooled mean is the maximum-likelihood estimate among all pairs in the wrong order. So if Z_ab reaches its threshold,
the product over both arms of average / p is at least (K − 1)/δ. For Bernoulli rewards that product is a martingale that
begins at 1; for rewards in [0, 1] a supermartingale, as its factors u^X v^(1 − X) are convex in X. By Ville's
inequality it ever gets there with probability ≤ δ / (K − 1), under any sampling rule. So a policy that stops when a
leader has reached its threshold against each other arm is wrong with probability ≤ δ. As R(S, N) ≤ ln(2 √N) [KT81] and
√(N_a N_b) ≤ t/2, a higher threshold is ln(2 t (K − 1)/δ), that of [GK16, Thm. 10].
"""

import math

from maskedbandit.core import kernel
from maskedbandit.golden_section import narrow_down, open_bracket
from maskedbandit.theory.log_gamma import log_gamma

ZETA_2 = math.pi * math.pi / 6


@kernel
def w_bar(x: float) -> float:
    """The root y >= 1 of y - ln y = x, by Newton's method; 1 for x <= 1.

    >>> round(w_bar(2.0), 6), round(w_bar(20.0), 6), w_bar(1.0)
    (3.146193, 23.141633, 1.0)
    """
    if x <= 1.0:
        return 1.0
    y = x + math.log(x) + min(1.0, math.sqrt(2 * (x - 1)))  # above the root, and from there Newton stays above
    for _ in range(50):
        step = (y - math.log(y) - x) * y / (y - 1)
        if not step > 1e-15 * y:
            break
        y -= step
    return max(y, 1.0)


@kernel
def zeta(s: float) -> float:
    """Riemann's zeta function for s > 1: ten terms of the series and Euler-Maclaurin's for the rest.

    >>> round(zeta(2.0) - ZETA_2, 9), round(zeta(1.5), 9)
    (0.0, 2.612375349)
    """
    total = 0.0
    for i in range(1, 10):
        total += math.exp(-s * math.log(i))
    last = math.exp(-s * math.log(10.0))
    slope = s * last / 10
    third = slope * (s + 1) * (s + 2) / 100
    fifth = third * (s + 3) * (s + 4) / 100
    return total + 10 * last / (s - 1) + last / 2 + slope / 12 - third / 720 + fifth / 30240


@kernel
def c_gaussian_at(u: float, x: float) -> float:
    """The function whose minimum is C_G(x), at l = 1 - u."""
    rest = 1 - u
    g = 2 * rest - 2 * rest * math.log(4 * rest) + math.log(zeta(2 * rest)) - math.log(u) / 2
    return (g + x) / rest


@kernel
def c_gaussian(x: float) -> float:
    """C_G(x), near x + ln x: by a golden section in ln(1 - l); every value on the way is a valid bound.

    >>> [round(c_gaussian(x), 6) for x in (1.0, 5.0, 20.0)]
    [2.507095, 6.75732, 22.203253]
    """
    # the minimum is near u = 1 / (2 x) if x is large
    section = open_bracket(math.log(0.05 / (1 + x)), math.log(0.5 - 1e-9))
    for _ in range(46):
        section = narrow_down(section, c_gaussian_at(math.exp(section.x), x))
    return section.least


@kernel
def gaussian_base(k: int, delta: float) -> float:
    """2 C_G(ln((k-1)/delta) / 2), the part of the threshold that does not grow.

    >>> round(gaussian_base(5, 0.01), 6)
    9.287673
    """
    return 2 * c_gaussian(math.log(max(k - 1, 1) / delta) / 2)


@kernel
def gaussian_threshold(base: float, n_a: float, n_b: float) -> float:
    """The threshold for two arms with n_a and n_b rewards.

    >>> round(gaussian_threshold(gaussian_base(5, 0.01), 1000, 1000), 6)
    18.845569
    """
    return base + 2 * math.log(4 + math.log(n_a)) + 2 * math.log(4 + math.log(n_b))


@kernel
def highest_likelihood(ones: float, n: float) -> float:
    """l(S, N) = S ln(S/N) + (N-S) ln(1 - S/N), the maximum log-likelihood of Bernoulli rewards.

    >>> highest_likelihood(0, 5), round(highest_likelihood(1, 2), 6)
    (0.0, -1.386294)
    """
    answer = 0.0
    if ones > 0.0:
        answer += ones * math.log(ones / n)
    if ones < n:
        answer += (n - ones) * math.log((n - ones) / n)
    return answer


@kernel
def redundancy(ones: float, n: float) -> float:
    """R(S, N): l(S, N) - ln of the average of q^S (1-q)^(N-S) for q ~ Beta(1/2, 1/2).

    It is between ln(pi N / 2) / 2 and ln(4 N) / 2: lowest at S = N/2, highest at 0 and N.

    >>> round(redundancy(5, 10), 6), round(redundancy(0, 10), 6)
    (1.402043, 1.736152)
    """
    average = log_gamma(ones + 0.5) + log_gamma(n - ones + 0.5) - log_gamma(n + 1.0) - math.log(math.pi)
    return highest_likelihood(ones, n) - average
