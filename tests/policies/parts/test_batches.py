"""The schedule of growing batches. Exact, but for ties: a correct policy fails there with probability 1e-9."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from maskedbandit.core import WAIT
from maskedbandit.policies.parts.batches import OPEN, USERS, begin, close, first, grow, ready
from maskedbandit.policies.parts.choice import highest
from tests.policies.mutants import mutant
from tests.statistics import same_law


class Book(NamedTuple):
    n: np.ndarray
    clock: np.ndarray


def book(k: int) -> Book:
    return Book(np.zeros(k, np.int64), np.zeros(2, np.int64))


def check_first(s: Book, sizes: list[int], ready=ready) -> None:
    """Every arm gets its first cohort, told at once or late, and nobody chooses before all are told."""
    for arm, users in enumerate(sizes):
        assert not ready(s)
        assert first(s, users) == (arm, users, 1)
        if arm % 2 == 0:
            close(s, arm, users)
    for arm in range(1, len(sizes), 2):
        assert not ready(s)
        assert first(s, sizes[arm]) == WAIT
        close(s, arm, sizes[arm])
    assert ready(s)
    assert first(s, 1) == WAIT
    assert (s.n.tolist(), s.clock[OPEN], s.clock[USERS]) == (sizes, 0, sum(sizes))


@pytest.mark.parametrize("sizes", [[1, 1], [1, 1, 1, 1, 1], [7, 7, 7], [10, 12, 15, 11]], ids=str)
def test_first_cohorts_are_one_for_each_arm(sizes):
    check_first(book(len(sizes)), sizes)


def test_choosing_before_all_arms_were_told_is_rejected():
    with pytest.raises(AssertionError):
        check_first(book(3), [1, 1, 1], mutant(ready, "s.n.min() > 0", "s.clock[USERS] > 0"))


@pytest.mark.parametrize("ratio", [1.01, 1.1, 1.5, 2.0, 3.0, 10.0])
def test_a_batch_brings_the_count_to_its_multiple(ratio):
    s, n = book(1), 1
    begin(s, 0, 1)
    close(s, 0, 1)
    while n < 10**12:
        arm, users, closes = grow(s, 0, ratio)
        n, before = max(n + 1, math.ceil(Fraction(str(ratio)) * n)), n
        assert (arm, users, closes) == (0, n - before, 1)
        assert not ready(s)
        close(s, 0, users)
        assert ready(s)
        assert s.n[0] == n


def picks(index: list[float], pick=highest) -> np.ndarray:
    rng = np.random.Generator(np.random.PCG64(1))
    return np.array([pick(np.array(index), rng) for _ in range(3000)])


@pytest.mark.parametrize("index", [[0.0, 1.0, 1.0, 0.5, 1.0], [-math.inf] * 4, [1.0, 2.0, 2.0]], ids=str)
def test_equals_are_chosen_alike(index):
    tied = np.array(index) == max(index)
    same_law(
        picks(index), lambda a: np.where((a >= 0) & (a < tied.size), tied[np.clip(a, 0, tied.size - 1)], 0) / tied.sum()
    )


def test_the_highest_is_chosen():
    assert set(picks([0.2, 0.9, 0.3])) == {1}
    assert set(picks([5.0, -1.0])) == {0}


def test_a_favourite_of_equals_is_rejected():
    with pytest.raises(AssertionError, match="another law"):
        same_law(
            picks([1.0, 1.0], mutant(highest, "rng.random() * equals < 1.0", "rng.random() < 0.6")),
            lambda a: np.isin(a, (0, 1)) / 2,
        )
