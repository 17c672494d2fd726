"""What it takes to make a worse arm look as good as a better one: the currency of best-arm identification.

    cost(a, b) = inf over x of  w_a d(m_a, x) + w_b d(m_b, x)          if m_a > m_b, and 0 otherwise

At the empirical means, after w_a and w_b pulls, it is the evidence that a is better than b. Without privacy d = kl, and
x is the pooled mean [GK16]. Under central pure privacy d = d_eps [JA25], whose slopes in x are, with q = 1 - e^-eps,

    of d_eps(m_b, x):  (x - m_b) / (x (1 - x))     but from logit x = logit m_b + eps on   q / (1 - q x)
    of d_eps(m_a, x):  (x - m_a) / (x (1 - x))     but up to logit x = logit m_a - eps    -q / (1 - q (1 - x))

so the best x solves a linear or a quadratic equation, whichever of the pieces it lies in: nothing is iterated.

The shares of pulls w* make the least cost of the best arm 1 and a rival as large as it can be. They give all rivals
one common cost, and are those for which, with x_a the place where arms a and 1 meet [GK16, Thm. 5],

    sum over rivals a of  d(m_1, x_a) / d(m_a, x_a)  =  1.
"""

from __future__ import annotations

import math

import numpy as np

from maskedbandit.core import kernel

TINY = 2.0**-53  # means that meet stay this far from 0 and 1
SAME = 1e-12  # the best means are taken to be equal if they are closer


@kernel
def excess(u: float) -> float:
    """(1+u) ln(1+u) - u, to full precision also where u is small.

    >>> excess(0.0), excess(-1.0), round(excess(1e-9) * 1e18, 6)
    (0.0, 1.0, 0.5)
    """
    if abs(u) < 0.01:  # the sum of (-u)^n / (n (n-1)) from n = 2 on
        return u * u * (0.5 - u * (1 / 6 - u * (1 / 12 - u * (1 / 20 - u * (1 / 30 - u * (1 / 42 - u / 56))))))
    if u <= -1.0:
        return 1.0
    return (1 + u) * math.log(1 + u) - u


@kernel
def near(p: float, x: float) -> float:
    """kl(p, x) for x inside (0, 1), to full precision also where p and x are close.

    >>> round(near(0.3, 0.6), 6), near(0.0, 0.5) == math.log(2), round(near(0.5, 0.5 + 1e-9) * 1e18, 6)
    (0.183787, True, 2.0)
    """
    return x * excess((p - x) / x) + (1 - x) * excess((x - p) / (1 - x))


@kernel
def kl_cost(m_a: float, m_b: float, w_a: float, w_b: float) -> float:
    """Cost of making arm b look as good as arm a, of means m_a and m_b after w_a and w_b pulls, without privacy.

    >>> round(kl_cost(0.75, 0.5, 100, 100), 6), kl_cost(0.5, 0.75, 100, 100), round(kl_cost(1.0, 0.0, 1, 1), 6)
    (6.764415, 0.0, 1.386294)
    """
    if not (m_a > m_b and w_a > 0 and w_b > 0):
        return 0.0
    x = min(max((w_a * m_a + w_b * m_b) / (w_a + w_b), TINY), 1 - TINY)
    return w_a * near(m_a, x) + w_b * near(m_b, x)


@kernel
def raised(m: float, x: float, epsilon: float, q: float) -> float:
    """d_eps(m, x) for m <= x < 1, with q = 1 - e^-eps."""
    if x * (1 - q) <= m * (1 - q * x):
        return near(m, x)
    return max(0.0, -epsilon * m - math.log1p(-q * x))


@kernel
def half_way(m_a: float, w_a: float, w_b: float, q: float) -> float:
    """The root of  w_a (m_a - x) / (x (1 - x)) = w_b q / (1 - q x)  in [0, m_a]."""
    linear = w_a * (1 + q * m_a) + w_b * q
    difference = w_a * (1 - q * m_a) - w_b * q
    return 2 * w_a * m_a / (linear + math.sqrt(difference * difference + 4 * w_a * w_b * q * (1 - m_a)))


@kernel
def meeting(m_a: float, m_b: float, w_a: float, w_b: float, q: float) -> float:
    """The x at which w_a d_eps(m_a, x) + w_b d_eps(m_b, x) is least, for m_a > m_b and q = 1 - e^-eps."""
    high = m_b / (m_b + (1 - m_b) * (1 - q)) if m_b > 0.0 else 0.0  # up to here it takes kl to move b
    low = m_a * (1 - q) / (1 - q * m_a) if m_a < 1.0 else 1.0  # and from here on to move a
    if low <= high:
        x = (w_a * m_a + w_b * m_b) / (w_a + w_b)
    else:
        x = (w_a - w_b * (1 - q)) / (q * (w_a + w_b))
    if x > max(low, high):  # kl for a alone
        x = half_way(m_a, w_a, w_b, q)
    elif x < min(low, high):  # kl for b alone
        x = 1 - half_way(1 - m_b, w_b, w_a, q)
    return max(min(max(x, m_b), m_a, 1 - TINY), TINY)


@kernel
def private_cost(m_a: float, m_b: float, w_a: float, w_b: float, epsilon: float) -> float:
    """Cost of making arm b look as good as arm a, of means m_a and m_b after w_a and w_b pulls, with d_eps.

    It is at most kl_cost, and at most epsilon min(w_a, w_b) (m_a - m_b); means must be clipped to [0, 1].

    >>> [round(private_cost(0.75, 0.5, 100, 100, epsilon), 6) for epsilon in (0.01, 0.5, 3)]
    [0.2475, 6.639426, 6.764415]
    """
    if not (m_a > m_b and w_a > 0 and w_b > 0):
        return 0.0
    epsilon = min(epsilon, 700.0)  # e^-700 is nothing beside a mean
    q = -math.expm1(-epsilon)
    x = meeting(m_a, m_b, w_a, w_b, q)
    return w_a * raised(1 - m_a, 1 - x, epsilon, q) + w_b * raised(m_b, x, epsilon, q)


@kernel
def kl_ratio(m_1: float, m_a: float, y: float, v: float) -> float:
    """The v for which kl_cost(m_1, m_a, 1, v) = y, from a guess.

    Each step goes to where the curve c v / (1 + b v) with the value and the slope found at v would be y: Gaussian arms
    have such curves.
    """
    for _ in range(50):
        x = min(max((m_1 + v * m_a) / (1 + v), TINY), 1 - TINY)
        here = v * near(m_a, x)
        cost = near(m_1, x) + here
        if abs(cost - y) <= 1e-13 * y:
            break
        step = y / max(y + cost / here * (cost - y), 0.1 * y) if here > 0.0 else 0.5
        v *= step
    return v


@kernel
def kl_proportions(means: np.ndarray, out: np.ndarray) -> None:
    """Write w*, the best shares of pulls without privacy, to `out`. Several best arms share all pulls.

    >>> shares = np.empty(4)
    >>> kl_proportions(np.array([0.5, 0.45, 0.43, 0.4]), shares)
    >>> shares.round(4)
    array([0.4165, 0.3903, 0.1362, 0.057 ])
    """
    best, second, ties = 0, -1, 0
    for a in range(1, means.size):
        if means[a] > means[best]:
            best = a
    top = means[best]
    for a in range(means.size):
        out[a] = 1.0
        if means[a] >= top - SAME:
            ties += 1
        elif second < 0 or means[a] > means[second]:
            second = a
    if ties > 1:
        for a in range(means.size):
            out[a] = 1 / ties if means[a] >= top - SAME else 0.0
        return
    least, most = 0.0, math.inf  # where the ratio v of the second best arm lies
    v = 1 / math.sqrt(means.size - 1)
    for _ in range(60):
        y = kl_cost(top, means[second], 1.0, v)
        total, slope = 0.0, 0.0  # of the theorem's sum, and what y times its derivative is
        last = v * near(means[second], min(max((top + v * means[second]) / (1 + v), TINY), 1 - TINY))
        for a in range(means.size):
            if a != best:
                out[a] = kl_ratio(top, means[a], y, v if a == second else out[a])
                x = min(max((top + out[a] * means[a]) / (1 + out[a]), TINY), 1 - TINY)
                lost, gap = near(means[a], x), (top - means[a]) / (1 + out[a])
                total += near(top, x) / lost
                slope += y * gap * gap / ((1 + out[a]) * x * (1 - x) * lost * lost * lost)
        if abs(total - 1) <= 1e-12:
            break
        if total > 1:
            most = v
        else:
            least = v
        v *= total ** (-total / (slope * last))  # Newton's method in logarithms, where Gaussian arms have a line
        if not least < v < most:
            v = math.sqrt(least * most) if most < math.inf and least > 0 else (most / 8 if least == 0 else 8 * least)
    shares = 0.0
    out[best] = 1.0
    for a in range(means.size):
        shares += out[a]
    for a in range(means.size):
        out[a] /= shares
