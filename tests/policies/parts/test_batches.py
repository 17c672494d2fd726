"""The schedule of growing batches. Exact, but for ties: a correct policy fails there with probability 1e-9."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from maskedbandit.core import WAIT
from maskedbandit.policies.parts.batches import OPEN, USERS, begin, close, first, grow, ready
from tests.policies.mutants import mutant


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
        check_first(book(3), [1, 1, 1], mutant(ready, "released_arms(s) == s.n.size", "s.clock[USERS] > 0"))


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
