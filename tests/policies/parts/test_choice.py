"""Of arms with equal values each is chosen with the same chance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maskedbandit.policies.parts.choice import consider, highest
from tests.policies.mutants import mutant
from tests.statistics import same_distribution


def picks(index: list[float], pick=highest) -> np.ndarray:
    rng = np.random.Generator(np.random.PCG64(1))
    return np.array([pick(np.array(index), rng) for _ in range(3000)])


@pytest.mark.parametrize("index", [[0.0, 1.0, 1.0, 0.5, 1.0], [-math.inf] * 4, [1.0, 2.0, 2.0]], ids=str)
def test_equals_are_chosen_alike(index):
    tied = np.array(index) == max(index)
    same_distribution(
        picks(index), lambda a: np.where((a >= 0) & (a < tied.size), tied[np.clip(a, 0, tied.size - 1)], 0) / tied.sum()
    )


def test_the_highest_is_chosen():
    assert set(picks([0.2, 0.9, 0.3])) == {1}
    assert set(picks([5.0, -1.0])) == {0}


def test_a_favourite_of_equals_is_rejected():
    unfair = mutant(consider, "rng.random() * equals < 1.0", "rng.random() < 0.6")
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(picks([1.0, 1.0], mutant(highest, consider=unfair)), lambda a: np.isin(a, (0, 1)) / 2)
