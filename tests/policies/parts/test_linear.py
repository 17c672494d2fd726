"""Linear models against NumPy's algebra, and when their cohorts close."""

import math

import numpy as np
import pytest

from maskedbandit.law import GAUSSIAN, KARY, NO_NOISE, Law
from maskedbandit.noise_bounds import deviation
from maskedbandit.policies.parts.linear import (
    FIRST_COHORT,
    TREE_COHORT,
    Models,
    begin_models,
    cohort_is_full,
    factor_matrix,
    fit_model,
    invert_triangle,
    learn,
)
from tests.for_each import for_each

RAW, CENTRAL = Law(NO_NOISE), Law(GAUSSIAN, scale=2.0, grid=1, per_release=1)
TREE, LOCAL = CENTRAL._replace(counter=KARY, arity=3), CENTRAL._replace(per_release=0.0, per_pull=1.0)


def filled(d: int, seed: int) -> Models:
    """Three models of random sums."""
    rng, s = np.random.default_rng(seed), begin_models(3, d, 1.0, 0.7, 1.0, 0, -1.0)
    z = rng.standard_normal((3, 2 * d, d))
    s.gram[:] = np.einsum("mni,mnj->mij", z, z)
    s.response[:] = rng.standard_normal((3, d))
    return s


def assert_fits(s: Models, model: int, shift: float) -> None:
    """Weights, widths and roots are those of V = gram + shift I."""
    d = s.gram.shape[1]
    v = s.gram[model] + shift * np.eye(d)
    np.testing.assert_allclose(s.weights[model], np.linalg.solve(v, s.response[model]), rtol=1e-9)
    np.testing.assert_allclose(s.root[model] @ s.root[model].T, np.linalg.inv(v), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(s.root[model], np.triu(s.root[model]))
    i, j = np.triu_indices(d)
    for z in np.random.default_rng(1).standard_normal((5, d)):
        width = float((s.spread[model] * z[i] * z[j]).sum())
        np.testing.assert_allclose(width, z @ np.linalg.solve(v, z), rtol=1e-8)


@for_each("d", [1, 2, 6, 17])
@for_each("noise", [0.0, 0.3])
def test_a_fit_is_ridge_regression(d: int, noise: float) -> None:
    s = filled(d, seed=d)
    fit_model(s, 1, noise)
    assert_fits(s, 1, 0.7 + 5 * noise * math.sqrt(d))
    with pytest.raises(AssertionError):
        assert_fits(s, 1, 0.71 + 5 * noise * math.sqrt(d))
    np.testing.assert_array_equal(s.weights[[0, 2]], 0.0)  # other models are left alone


def test_before_any_release_the_ridge_is_all_there_is() -> None:
    s = begin_models(2, 3, 1.0, 0.5, 1.0, 0, -1.0)
    for model in range(2):
        assert_fits(s, model, 0.5)


def test_the_shift_doubles_until_the_matrix_is_positive_definite() -> None:
    s = begin_models(1, 2, 1.0, 1.0, 1.0, 0, -1.0)
    s.gram[0] = [[-10.0, 1.0], [1.0, 3.0]]
    s.response[0] = [1.0, 2.0]
    fit_model(s, 0, 0.0)
    assert_fits(s, 0, 16.0)  # 8 is not enough for -10


def test_an_indefinite_matrix_has_no_factor() -> None:
    lower = np.zeros((2, 2))
    assert not factor_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.5, lower)
    assert factor_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]), 1.5, lower)
    np.testing.assert_allclose(lower @ lower.T, [[2.5, 2.0], [2.0, 2.5]])


def test_a_triangle_is_inverted_and_the_rest_left() -> None:
    rng = np.random.default_rng(3)
    lower, found = np.tril(rng.standard_normal((5, 5))) + 3 * np.eye(5), np.full((5, 5), 9.0)
    invert_triangle(lower, found)
    np.testing.assert_allclose(np.tril(found) @ lower, np.eye(5), atol=1e-12)
    assert (found[np.triu_indices(5, 1)] == 9.0).all()


@for_each("products", [1.0, 0.25])
def test_sums_are_unpacked_and_the_noise_of_all_releases_shifts_them(products: float) -> None:
    d, rng = 3, np.random.default_rng(5)
    s, i, j = begin_models(2, d, 1.0, 1.0, products, 0, -1.0), *np.triu_indices(d)
    gram, response = np.zeros((d, d)), np.zeros(d)
    for n in (40, 70):
        z, reward = rng.standard_normal((n, d)), rng.random(n)
        own = z.T @ z
        learn(s, CENTRAL, 1, n, np.concatenate([products * own[i, j], reward @ z]))
        gram, response = gram + own, response + reward @ z
    np.testing.assert_allclose(s.gram[1], gram, rtol=1e-12)
    np.testing.assert_allclose(s.response[1], response, rtol=1e-12)
    assert (s.users[1], s.releases[1], s.users[0], s.releases[0]) == (110, 2, 0, 0)
    assert_fits(s, 1, 1 + 5 * deviation(CENTRAL, 2, 110) / products * math.sqrt(d))


@for_each(
    ("law", "first", "growth", "users", "least"),
    [
        (RAW, 0, -1.0, 10**6, 1),
        (LOCAL, 0, -1.0, 10**6, 1),
        (TREE, 0, -1.0, 10**6, TREE_COHORT),
        (CENTRAL, 0, -1.0, 0, FIRST_COHORT),
        (CENTRAL, 0, -1.0, 5000, 5000),
        (CENTRAL, 10, -1.0, 0, 10),
        (CENTRAL, 10, 0.5, 5000, 2500),
        (CENTRAL, 10, 0.0, 5000, 10),
        (RAW, 7, 0.1, 1000, 100),
        (TREE, 7, -1.0, 1000, 7),
    ],
)
def test_cohorts_close_when_they_are_full(law: Law, first: int, growth: float, users: int, least: int) -> None:
    s = begin_models(2, 2, 1.0, 1.0, 1.0, first, growth)
    s.users[1] = users
    assert [bool(cohort_is_full(s, law, 1, n)) for n in (least - 1, least, least + 1)] == [False, True, True]
