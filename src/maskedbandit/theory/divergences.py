"""Divergences of Bernoulli distributions, with and without privacy: the basis of indices and lower bounds.

    kl(p, q)      = p ln(p/q) + (1-p) ln((1-p)/(1-q))
    d_ε(x, y)   = inf over z of  ε |z − x| + kl(z, y),     z between x and y             [AWHOIB25]

n rewards of mean y look like rewards of mean x with probability about exp(−n kl). Under central pure privacy an
adversary first moves the mean from x to z, at ε for each unit. Both divergences have closed forms, and their inverses
take one root each.
"""

import math

from maskedbandit.core import kernel


@kernel
def kl(p: float, q: float) -> float:
    """Kullback-Leibler divergence between Bernoulli distributions of means p and q.

    >>> round(kl(0.3, 0.6), 6), kl(0.0, 0.0), kl(0.5, 1.0)
    (0.183787, 0.0, inf)
    """
    if p == q:
        return 0.0
    if q <= 0.0 or q >= 1.0:
        return math.inf
    if p == 0.0:
        return -math.log1p(-q)
    answer = p * math.log(p / q)
    if p < 1.0:
        answer += (1 - p) * math.log((1 - p) / (1 - q))
    return max(answer, 0.0)


@kernel
def kl_upper(p: float, bound: float) -> float:
    """max{q : kl(p, q) <= bound}, by Newton's method from the right, where it converges monotonically.

    >>> round(kl(0.5, kl_upper(0.5, 0.1)), 12), kl_upper(1.0, 0.3), kl_upper(0.5, 0.0)
    (0.1, 1.0, 0.5)
    """
    if bound <= 0.0:
        return p
    if p >= 1.0:
        return 1.0
    entropy = -(1 - p) * math.log(1 - p)
    if p > 0.0:
        entropy -= p * math.log(p)
    # two bounds from the right: kl >= 2 (q-p)^2, and kl >= -entropy - (1-p) ln(1-q)
    q = min(p + math.sqrt(bound / 2), -math.expm1(-(bound + entropy) / (1 - p)))
    if q >= 1.0:
        return 1.0
    for _ in range(60):
        step = (kl(p, q) - bound) * q * (1 - q) / (q - p)
        if not step > 1e-15 * q:
            break
        q -= step
    return max(p, q)


@kernel
def private_divergence(x: float, y: float, epsilon: float) -> float:
    """d_eps(x, y): the rate at which means x and y are distinguished under central pure privacy [AWHOIB25].

    The infimum is at z = y e^-eps / (1 - y + y e^-eps) for x <= y, if that is above x, else at x itself.

    >>> [round(private_divergence(0.3, 0.6, epsilon), 6) for epsilon in (0.05, 0.5, 3)]
    [0.014699, 0.119294, 0.183787]
    """
    if x > y:
        x, y = 1 - x, 1 - y
    if y >= 1.0:
        return epsilon * (1 - x)
    odds = math.exp(-epsilon)
    if y * odds <= x * (1 - y + y * odds):
        return kl(x, y)
    return max(0.0, -epsilon * x - math.log1p(y * math.expm1(-epsilon)))


@kernel
def private_upper(x: float, bound: float, epsilon: float) -> float:
    """max{q in [x, 1] : d_eps(x, q) <= bound}.

    >>> round(private_upper(0.5, math.log(1000) / 16, 1.0), 6), private_upper(0.5, math.log(1000) / 16, 0.1)
    (0.958884, 1.0)
    """
    if bound <= 0.0 or x >= 1.0:
        return x
    epsilon = min(epsilon, 700.0)  # e^-700 is negligible beside x
    edge = x / (x + (1 - x) * math.exp(-epsilon))  # up to there d_eps is kl
    if kl(x, edge) >= bound:
        return kl_upper(x, bound)
    return min(1.0, math.expm1(-epsilon * x - bound) / math.expm1(-epsilon))
