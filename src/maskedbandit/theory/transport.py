"""Transportation costs: the evidence needed to make a worse arm look as good as a better one.

    cost(a, b) = inf over x of  w_a d(m_a, x) + w_b d(m_b, x)          if m_a > m_b, and 0 otherwise

At the empirical means, after w_a and w_b pulls, it is the evidence that a is better than b. Without privacy d = kl, and
x is the pooled mean [GK16]. Under central pure privacy d = d_ε [JA25], whose slopes in x are, with q = 1 − e^−ε,

    of d_ε(m_b, x):  (x − m_b) / (x (1 − x)),  from logit x = logit m_b + ε on    q / (1 − q x)
    of d_ε(m_a, x):  (x − m_a) / (x (1 − x)),  up to logit x = logit m_a − ε     -q / (1 − q (1 − x))

so the best x solves a linear or a quadratic equation on every piece: no iteration is needed.

The proportions of pulls w* maximize the least cost of arm 1, the best, and a rival. They give all rivals one common
cost, and are those for which, with x_a the point where arms a and 1 meet [GK16, Thm. 5],

    sum over rivals a of  d(m₁, x_a) / d(m_a, x_a)  =  1.
"""

import math

import numpy as np

from maskedbandit.core import kernel

SAME_MEAN = 1e-12  # the best means count as equal if they are closer


@kernel
def entropy_excess(u: float) -> float:
    """(1+u) ln(1+u) - u, to 12 digits also where u is small.

    >>> entropy_excess(0.0), entropy_excess(-1.0), round(entropy_excess(1e-9) * 1e18, 6)
    (0.0, 1.0, 0.5)
    """
    if abs(u) < 0.02:  # the sum of (-u)^n / (n (n-1)) from n = 2 on
        return u * u * (0.5 - u * (1 / 6 - u * (1 / 12 - u * (1 / 20 - u * (1 / 30 - u * (1 / 42 - u / 56))))))
    if u <= -1.0:
        return 1.0
    return (1 + u) * math.log(1 + u) - u  # log1p would give 13 digits, and is slower


@kernel
def near(x: float, y: float, gap: float) -> float:
    """kl(x - gap, x) for y = 1 - x and gap >= 0, to full precision also where x, y or the gap are small.

    >>> round(near(0.6, 0.4, 0.3), 6), near(0.5, 0.5, 0.5) == math.log(2), round(near(0.5, 0.5, 1e-9) * 1e18, 6)
    (0.183787, True, 2.0)
    """
    if gap <= 0.0:
        return 0.0
    return x * entropy_excess(-gap / x) + y * entropy_excess(gap / y)


@kernel
def kl_parts(m_a: float, m_b: float, v: float) -> tuple[float, float]:
    """kl(m_a, x) and kl(m_b, x) for m_a > m_b, x the mean of both of weights 1 and v.

    >>> [round(part, 6) for part in kl_parts(0.75, 0.5, 1.0)]
    [0.035375, 0.032269]
    """
    gap = m_a - m_b
    down, up = gap * v / (1 + v), gap / (1 + v)
    x, y = m_b + up, 1 - m_a + down
    return near(y, x, down), near(x, y, up)


@kernel
def kl_cost(m_a: float, m_b: float, w_a: float, w_b: float) -> float:
    """Cost of making arm b look as good as arm a, of means m_a and m_b after w_a and w_b pulls, without privacy.

    >>> round(kl_cost(0.75, 0.5, 100, 100), 6), kl_cost(0.5, 0.75, 100, 100), round(kl_cost(1.0, 0.0, 1, 1), 6)
    (6.764415, 0.0, 1.386294)
    """
    if not (m_a > m_b and w_a > 0 and w_b > 0):
        return 0.0
    of_a, of_b = kl_parts(m_a, m_b, w_b / w_a)
    return w_a * of_a + w_b * of_b


@kernel
def edge(m: float, q: float, odds: float) -> float:
    """The distance from m up to the x whose odds are e^eps times those of m: up to that x, d_eps(m, x) is kl."""
    return m * (1 - m) * q / (m + (1 - m) * odds)


@kernel
def half_way(m: float, w: float, other: float, q: float, odds: float) -> float:
    """Distance from m down to the root x of  w (m - x) / (x (1 - x)) = other q / (1 - q x),  where its cost is kl."""
    linear, difference = w * (1 + q * m) + other * q, w * (1 - q * m) - other * q
    x = 2 * w * m / (linear + math.sqrt(difference * difference + 4 * w * other * q * (1 - m)))
    return other * q * x * (1 - x) / (w * (1 - x + odds * x))


@kernel
def raised(m: float, x: float, y: float, gap: float, epsilon: float, q: float, odds: float) -> float:
    """d_eps(m, x) for x = m + gap and y = 1 - x: kl up to the edge, and a line from there on."""
    limit, steep = edge(m, q, odds), m + (1 - m) * odds
    if gap <= limit or y >= (1 - m) * odds / steep:  # 1 - the limit, near 1, where gaps look alike and y do not
        return near(x, y, gap)
    if 1000 * gap > m and q * x < 0.5:  # at most 4 digits cancel
        return -epsilon * m - math.log1p(-q * x)
    fall = q * (gap - limit) * steep / odds  # the line adds -ln(1 - fall)
    added = -math.log1p(-fall) if fall < 0.5 else -math.log((y + odds * x) * steep / odds)
    return near(m + limit, (1 - m) * odds / steep, limit) + added


@kernel
def meeting(m_a: float, m_b: float, v: float, q: float, odds: float) -> tuple[float, float]:
    """The distances from m_a and from m_b to the x that minimizes d_eps(m_a, x) + v d_eps(m_b, x), for m_a > m_b."""
    gap, limit_a, limit_b = m_a - m_b, edge(1 - m_a, q, odds), edge(m_b, q, odds)
    if limit_a + limit_b >= gap:  # there are x at which both costs are kl
        down, up = gap * v / (1 + v), gap / (1 + v)
        by_b, by_a = up > limit_b, down > limit_a
    else:
        x = (1 - v * odds) / (q * (1 + v))
        down, up = m_a - x, x - m_b
        by_b, by_a = down < limit_a, up < limit_b
    if by_b:  # the cost of b is on its line, and that of a is kl
        down = half_way(m_a, 1.0, v, q, odds)
        up = gap - down
    elif by_a:
        up = half_way(1 - m_b, v, 1.0, q, odds)
        down = gap - up
    return min(max(down, 0.0), gap), min(max(up, 0.0), gap)


@kernel
def private_parts(m_a: float, m_b: float, v: float, epsilon: float) -> tuple[float, float]:
    """d_eps(m_a, x) and d_eps(m_b, x) for m_a > m_b, x where d_eps(m_a, x) + v d_eps(m_b, x) is least.

    >>> [round(part, 6) for part in private_parts(0.75, 0.5, 1.0, 0.5)]
    [0.041358, 0.025036]
    """
    epsilon = min(epsilon, 700.0)  # e^-700 is negligible beside a mean
    q, odds = -math.expm1(-epsilon), math.exp(-epsilon)
    down, up = meeting(m_a, m_b, v, q, odds)
    x, y = m_b + up, 1 - m_a + down
    return raised(1 - m_a, y, x, down, epsilon, q, odds), raised(m_b, x, y, up, epsilon, q, odds)


@kernel
def private_cost(m_a: float, m_b: float, w_a: float, w_b: float, epsilon: float) -> float:
    """Cost of making arm b look as good as arm a, of means m_a and m_b after w_a and w_b pulls, with d_eps.

    It is at most kl_cost, and at most epsilon min(w_a, w_b) (m_a - m_b); means must be clipped to [0, 1].

    >>> [round(private_cost(0.75, 0.5, 100, 100, epsilon), 6) for epsilon in (0.01, 0.5, 3)]
    [0.2475, 6.639426, 6.764415]
    """
    if not (m_a > m_b and w_a > 0 and w_b > 0):
        return 0.0
    of_a, of_b = private_parts(m_a, m_b, w_b / w_a, epsilon)
    return w_a * of_a + w_b * of_b


@kernel
def kl_ratio(m_1: float, m_a: float, y: float, v: float) -> float:
    """The v for which kl_cost(m_1, m_a, 1, v) = y, from a guess.

    Each step goes to the root of the curve c v / (1 + b v) with the value and the slope found at v: Gaussian arms have
    such curves.
    """
    for _ in range(50):
        lost, kept = kl_parts(m_1, m_a, v)
        here = v * kept
        cost = lost + here
        if abs(cost - y) <= 1e-13 * y:
            break
        step = y / max(y + cost / here * (cost - y), 0.1 * y) if here > 0.0 else 0.5
        v *= step
    return v


@kernel
def kl_proportions(means: np.ndarray, out: np.ndarray) -> None:
    """Write w*, the optimal proportions of pulls without privacy, to `out`. Several best arms get all pulls.

    >>> w = np.empty(4)
    >>> kl_proportions(np.array([0.5, 0.45, 0.43, 0.4]), w)
    >>> w.round(4)
    array([0.4165, 0.3903, 0.1362, 0.057 ])
    """
    best, second, ties = 0, -1, 0
    for a in range(1, means.size):
        if means[a] > means[best]:
            best = a
    top = means[best]
    for a in range(means.size):
        out[a] = 1.0
        if means[a] >= top - SAME_MEAN:
            ties += 1
        elif second < 0 or means[a] > means[second]:
            second = a
    if ties > 1:
        for a in range(means.size):
            out[a] = 1 / ties if means[a] >= top - SAME_MEAN else 0.0
        return
    least, most = 0.0, math.inf  # where the ratio v of the second best arm lies
    v = 1 / math.sqrt(means.size - 1)
    for _ in range(60):
        y = kl_cost(top, means[second], 1.0, v)
        total, slope = 0.0, 0.0  # the theorem's sum, and y times its derivative
        last = v * kl_parts(top, means[second], v)[1]
        for a in range(means.size):
            if a != best:
                out[a] = kl_ratio(top, means[a], y, v if a == second else out[a])
                lost, kept = kl_parts(top, means[a], out[a])
                up = (top - means[a]) / (1 + out[a])
                x = means[a] + up
                total += lost / kept
                slope += y * up * up / ((1 + out[a]) * x * (1 - x) * kept * kept * kept)
        if abs(total - 1) <= 1e-12:
            break
        if total > 1:
            most = v
        else:
            least = v
        v *= total ** (-total / (slope * last))  # Newton's method in logarithms, in which Gaussian arms are linear
        if not least < v < most:
            v = math.sqrt(least * most) if most < math.inf and least > 0 else (most / 8 if least == 0 else 8 * least)
    norm = 0.0
    out[best] = 1.0
    for a in range(means.size):
        norm += out[a]
    for a in range(means.size):
        out[a] /= norm
