"""Contexts with logistic rewards: the means, and that the contexts are those of the linear world."""

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, Streams
from maskedbandit.lab.worlds.contexts import Contexts
from tests.for_each import for_each


def show_users(world: Contexts, users: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """The contexts of users, and the mean of every arm for each."""
    keys, generator, *_ = Streams(1, "contexts").of(0)
    stream, parts = Rewards(generator, keys), world.parameters()
    x, means = np.zeros((users, world.rows, world.d)), np.zeros((users, world.k))
    with np.errstate(over="ignore"):  # the stream of rewards counts modulo 2^64
        for t in range(users):
            world.present(parts, t, t, x[t], stream)
            means[t] = [world.answer(parts, t, t, x[t], arm, stream).mean for arm in range(world.k)]
    return x, means


@for_each("model", ["disjoint", "shared"])
@for_each("norm", [0.5, 4.0])
def test_log_odds_are_linear_in_the_contexts_of_the_linear_world(model, norm) -> None:
    """With the same weights, which there give the means themselves."""
    linear = mb.LinearContexts(d=3, k=4, model=model, seed=5)
    x, straight = show_users(linear)
    z, means = show_users(mb.LogisticContexts(d=3, k=4, model=model, norm=norm, seed=5))
    np.testing.assert_array_equal(x, z)
    # a linear mean is 1/2 + z'theta / 2, but for the first number of a context, which is cut to the grid
    first = x[..., 0] * np.sqrt(0.5)
    slope = 2 * (straight - first)
    np.testing.assert_allclose(np.log(means / (1 - means)), norm * slope, atol=1e-9)
    assert np.abs(norm * slope).max() <= norm


def test_a_norm_that_is_none_is_refused() -> None:
    for norm in (0, -1, float("inf"), "4"):
        with pytest.raises(InvalidValue, match="norm is"):
            mb.LogisticContexts(norm=norm)
    with pytest.raises(InvalidValue, match="d is 1"):
        mb.LogisticContexts(d=1)
