"""CentredUCB: what a user adds, and what is fitted to it."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.law import GAUSSIAN, NO_NOISE, Law
from maskedbandit.noise_bounds import deviation
from maskedbandit.policies.contextual.centred_ucb import CentredUCB
from maskedbandit.policies.contextual_policy import Aim
from maskedbandit.privacy.statistics import weighted_sums
from tests.for_each import for_each
from tests.policies.contextual_play import played

LAW, NOISY = Law(NO_NOISE), Law(GAUSSIAN, scale=3.0, grid=2**23, per_release=1.0)
CONTEXTS = mb.LinearContexts(d=3, k=4, seed=1)


@for_each("law", [LAW, NOISY], ids=["noiseless", "gaussian"])
@for_each("products", [1, "1/2"])
def test_weights_are_three_steps_of_iterated_ridge_regression(law: Law, products: object) -> None:
    policy, rng, d = CentredUCB(products=products, ridge=0.5), np.random.default_rng(2), 3
    s, c, (i, j) = policy.init(2, Aim(d, 1000)), float(policy.products), np.triu_indices(d)
    a, b, users = np.zeros((d, d)), np.zeros(d), 0
    for m, n in enumerate((40, 80), 1):
        z, residual = rng.standard_normal((n, d)) / 3, rng.integers(0, 2, n) - 0.5
        policy.tell(s, law, 1, n, np.concatenate([c * (z.T @ z)[i, j], residual @ z]))
        a, b, users = a + z.T @ z, b + residual @ z, users + n
        shift, w, one = 5 * deviation(law, m, users) / c * math.sqrt(d), np.zeros(d), None
        for _ in range(3):
            w = w + np.linalg.solve(a + (0.5 + shift) * np.eye(d), b - (a + 0.5 * np.eye(d)) @ w)
            one = w if one is None else one
        np.testing.assert_allclose(s.weights[1], w, rtol=1e-9)
        assert np.allclose(s.weights[1], one, rtol=1e-9) == (law is LAW)  # without noise the first step is there


def test_a_user_adds_a_residual() -> None:
    channel = mb.channels.Raw()
    trail = played(CentredUCB(products="1/4"), channel, CONTEXTS, 100, seed=1)
    assert trail.play.channel.statistics == weighted_sums(3, CentredUCB(products="1/4").products)
    for user, released in zip(trail.served, trail.released, strict=False):
        products = np.outer(user.x, user.x)[np.triu_indices(3)] / 4
        np.testing.assert_array_equal(released.sums, np.concatenate([products, (user.reward - 0.5) * user.x]))


@pytest.mark.slow
def test_where_noise_is_wide_it_loses_less_than_linucb() -> None:
    """By some 12 standard errors, over 400 runs: by chance it is less than 6 with a probability below 1e-9."""
    channel = mb.channels.Central(1, mb.noises.DiscreteGaussian())
    both = CentredUCB(first=256), mb.policies.LinUCB(first=256)
    lost = [mb.simulate(each, channel, CONTEXTS, 4000, runs=400, seed=2).regret[:, -1] for each in both]
    difference = lost[1] - lost[0]
    assert difference.mean() > 6 * difference.std() / 400**0.5
