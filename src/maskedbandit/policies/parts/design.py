"""G-optimal designs: how often to try each of some vectors, so that the largest variance of an estimate is least.

For weights π on vectors a that span r dimensions, V(π) = Σ_a π_a a aᵀ, the least possible value of

    g(π) = max_a  aᵀV(π)⁻¹ a

is r [KW60]. `optimize_weights` finds π with g(π) ≤ 1.02 r by steps of Frank and Wolfe [LS20, Ch. 21]: weight moves to
the vector of the largest aᵀV⁻¹ a, by as much as makes det V(π) largest. It starts from the r vectors of a Gram-Schmidt
basis, each the one farthest from the span of those before, so few vectors ever have weight.

Vectors that lie in a subspace are written in r coordinates of an orthonormal basis of it, and the rest is left out.
"""

import math

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.policies.parts.linear import factor_matrix, invert_triangle

DESIGN_SLACK = 0.02
NEAR = 1e-4  # a vector closer than this to the span of others counts as lying in it
MOST_DESIGN_STEPS = 100_000  # steps, far more than are needed


@kernel
def write_coordinates(vectors: np.ndarray, among: np.ndarray, u: np.ndarray, weights: np.ndarray) -> int:
    """Write all vectors to u in the first r coordinates of a basis of the span of some; r is returned.

    The weights are 1 / r for the vectors that the basis was made of.
    """
    k, d = vectors.shape
    rest, r = vectors.copy(), 0
    u[:] = 0.0
    weights[:] = 0.0
    while r < d:
        farthest, largest = -1, NEAR * NEAR
        for a in range(k):
            square = 0.0
            for i in range(d):
                square += rest[a, i] * rest[a, i]
            if among[a] and square > largest:
                farthest, largest = a, square
        if farthest < 0:
            break
        unit, norm = rest[farthest].copy(), math.sqrt(largest)
        for i in range(d):
            unit[i] /= norm
        for a in range(k):
            inner = 0.0
            for i in range(d):
                inner += rest[a, i] * unit[i]
            u[a, r] = inner
            for i in range(d):
                rest[a, i] -= inner * unit[i]
        weights[farthest] = 1.0
        r += 1
    for a in range(k):
        weights[a] /= max(r, 1)
    return r


@kernel
def factor_information(u: np.ndarray, r: int, weights: np.ndarray, lower: np.ndarray) -> bool:
    """Write the lower triangle L with L L' = V to the first r rows and columns; False if V is singular."""
    v = np.zeros((r, r))
    for a in range(u.shape[0]):
        if weights[a] > 0.0:
            for i in range(r):
                for j in range(i + 1):
                    v[i, j] += weights[a] * u[a, i] * u[a, j]
    return factor_matrix(v, 0.0, lower)


@kernel
def leverage(u: np.ndarray, r: int, low: np.ndarray, a: int) -> float:
    """a' V^-1 a, where `low` is the inverse of the triangle L with L L' = V."""
    square = 0.0
    for i in range(r):
        inner = 0.0
        for j in range(i + 1):
            inner += low[i, j] * u[a, j]
        square += inner * inner
    return square


@kernel
def optimize_weights(u: np.ndarray, r: int, among: np.ndarray, weights: np.ndarray) -> float:
    """Improve the weights of `write_coordinates` until g(weights) <= 1.02 r; returned is g."""
    lower, low = np.zeros((r, r)), np.zeros((r, r))
    g = math.inf
    for _ in range(MOST_DESIGN_STEPS):
        factor_information(u, r, weights, lower)
        invert_triangle(lower, low)
        g, top = 0.0, -1
        for a in range(u.shape[0]):
            if among[a]:
                square = leverage(u, r, low, a)
                if square > g:
                    g, top = square, a
        if g <= (1 + DESIGN_SLACK) * r:
            break
        step = (g / r - 1) / (g - 1)
        for a in range(u.shape[0]):
            weights[a] *= 1 - step
        weights[top] += step
    return g
