"""G-optimal designs: whole spaces, subspaces and single vectors; a mutant that spreads evenly is not optimal."""

import numpy as np

from maskedbandit.policies.parts.design import (
    DESIGN_SLACK,
    factor_information,
    leverage,
    optimize_weights,
    write_coordinates,
)
from maskedbandit.policies.parts.linear import invert_triangle
from tests.for_each import for_each


def skewed(k: int, d: int, seed: int = 0) -> np.ndarray:
    """Most vectors point about the same way, and the last one is the first once more."""
    found = np.random.default_rng(seed).standard_normal((k, d)) / 10 + np.eye(d)[0]
    found[: d // 2] = np.random.default_rng(seed + 1).standard_normal((d // 2, d))
    found[-1] = found[0]
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def worst(vectors: np.ndarray, weights: np.ndarray) -> float:
    """max a' V^-1 a, by NumPy."""
    v = np.linalg.pinv(vectors.T @ (weights[:, None] * vectors))
    return float(np.einsum("ai,ij,aj->a", vectors, v, vectors).max())


@for_each(("k", "d", "span"), [(10, 3, 3), (60, 6, 6), (2, 5, 2), (12, 4, 2), (1, 3, 1)])
def test_no_vector_is_much_less_certain_than_it_must(k: int, d: int, span: int) -> None:
    vectors = skewed(k, d)
    if span < d:
        vectors = skewed(k, span) @ np.linalg.qr(np.random.default_rng(2).standard_normal((d, d)))[0][:span]
    u, weights, among = np.zeros((k, d)), np.zeros(k), np.ones(k, bool)
    r = write_coordinates(vectors, among, u, weights)
    assert r == np.linalg.matrix_rank(vectors) <= span
    np.testing.assert_allclose(u @ u.T, vectors @ vectors.T, atol=1e-12)
    assert (u[:, r:] == 0).all()
    g = optimize_weights(u, r, among, weights)
    np.testing.assert_allclose([g, weights.sum()], [worst(vectors, weights), 1], rtol=1e-9)
    assert weights.min() >= 0
    assert r * (1 - 1e-9) <= g <= (1 + DESIGN_SLACK) * r
    if k >= 10:
        assert worst(vectors, np.full(k, 1 / k)) > 1.5 * r  # the negative control


def test_only_some_vectors_may_have_weight() -> None:
    vectors = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0.6, 0.8]])
    u, weights, among = np.zeros((4, 3)), np.zeros(4), np.array([False, True, False, True])
    r = write_coordinates(vectors, among, u, weights)
    assert r == 2
    optimize_weights(u, r, among, weights)
    np.testing.assert_allclose(weights, [0, 0.5, 0, 0.5])


def test_vectors_of_no_length_span_nothing() -> None:
    u, weights = np.zeros((2, 3)), np.zeros(2)
    assert write_coordinates(np.full((2, 3), 1e-5), np.ones(2, bool), u, weights) == 0
    np.testing.assert_array_equal(weights, 0)


def test_leverage_is_the_norm_in_the_inverse() -> None:
    u, weights = skewed(9, 4), np.linspace(0, 2, 9)
    lower, low = np.zeros((2, 4, 4))
    assert factor_information(u, 4, weights, lower)
    v = u.T @ (weights[:, None] * u)
    np.testing.assert_allclose(lower @ lower.T, v, atol=1e-12)
    invert_triangle(lower, low)
    found = [leverage(u, 4, low, a) for a in range(9)]
    np.testing.assert_allclose(found, np.einsum("ai,ij,aj->a", u, np.linalg.inv(v), u), rtol=1e-9)
    assert not factor_information(u, 4, np.eye(9)[0], lower)  # one vector does not span four dimensions
