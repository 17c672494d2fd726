"""The schedule of growing batches. Exact, but for ties: a correct policy fails there with probability 1e-9."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from maskedbandit.core import WAIT
from maskedbandit.policies.parts.batches import USERS, all_released, begin_cohort, close_cohort, first_cohort, grow_arm
from tests.for_each import for_each
from tests.policies.mutants import mutant

RNG = np.random.Generator(np.random.PCG64(1))


class Book(NamedTuple):
    n: np.ndarray
    asked: np.ndarray
    flight: np.ndarray
    clock: np.ndarray


def book(k: int) -> Book:
    return Book(*np.zeros((3, k), np.int64), np.zeros(1, np.int64))


def check_first(s: Book, sizes: list[int], ready=all_released) -> None:
    """Every arm gets its first cohort, told at once or late, and nobody chooses before all are told."""
    users, late = [0] * len(sizes), []
    for i, size in enumerate(sizes):
        assert not ready(s.n)
        arm, n, closes = first_cohort(s, size, 1, 3, RNG)
        assert (n, closes, users[arm]) == (size, 1, 0)
        users[arm] = size
        if i % 2 == 0:
            close_cohort(s, arm, size)
        else:
            late.append(arm)
    for arm in late:
        assert not ready(s.n)
        close_cohort(s, arm, users[arm])
    assert ready(s.n)
    assert (s.n.tolist(), s.asked.tolist(), s.clock[USERS]) == (users, users, sum(sizes))


@for_each("sizes", [[1, 1], [1, 1, 1, 1, 1], [7, 7, 7], [10, 12, 15, 11]], ids=str)
def test_first_cohorts_are_one_for_each_arm(sizes):
    check_first(book(len(sizes)), sizes)


def test_choosing_before_all_arms_were_told_is_rejected():
    with pytest.raises(AssertionError):
        check_first(book(3), [1, 1, 1], mutant(all_released, "least > 0", "told.max() > 0"))


def check_early(first=first_cohort) -> None:
    """Whoever was asked for least is next, told or not, and its cohort brings the count to the multiple."""
    s, asked = book(3), [0, 0, 0]
    for users in (10, 12, 11):
        asked[first(s, users, 1, 1.5, RNG).arm] = users
    close_cohort(s, asked.index(12), 12)
    for _ in range(20):
        arm = asked.index(min(asked))
        n = max(asked[arm] + 7, math.ceil(1.5 * asked[arm]))
        assert first(s, 1, 7, 1.5, RNG) == (arm, n - asked[arm], 1)
        asked[arm] = n
    assert s.asked.tolist() == asked


def test_before_all_arms_were_told_users_are_spread_evenly():
    check_early()


def test_forgetting_what_is_in_flight_is_rejected():
    forgetful = mutant(begin_cohort, "s.asked[arm] += users", "pass")
    with pytest.raises(AssertionError):
        check_early(mutant(first_cohort, begin_cohort=forgetful))


def test_users_who_were_lost_count_until_nothing_of_their_arm_is_in_flight():
    s = book(2)
    for users in (10, 20, 40):
        begin_cohort(s, 0, users)
    close_cohort(s, 0, 5)
    assert (s.n[0], s.asked[0], s.flight[0]) == (5, 70, 2)
    close_cohort(s, 0, 40)
    close_cohort(s, 0, 20)
    assert (s.n[0], s.asked[0], s.flight[0]) == (65, 65, 0)


@for_each("ratio", [1.01, 1.1, 1.5, 2.0, 3.0, 10.0])
def test_a_batch_brings_the_count_to_its_multiple(ratio):
    s, n = book(1), 1
    begin_cohort(s, 0, 1)
    close_cohort(s, 0, 1)
    while n < 10**12:
        arm, users, closes = grow_arm(s, 0, ratio)
        n, before = max(n + 1, math.ceil(Fraction(str(ratio)) * n)), n
        assert (arm, users, closes) == (0, n - before, 1)
        close_cohort(s, 0, users)
        assert s.n[0] == n


def check_enough(grow=grow_arm) -> None:
    """No more is asked for while more is in flight than was released."""
    s = book(2)
    begin_cohort(s, 0, 10)
    close_cohort(s, 0, 10)
    assert grow(s, 0, 2.0).n == 10
    assert grow(s, 0, 1.2).n == 4
    for _ in range(3):
        assert grow(s, 0, 1.2) == WAIT
    close_cohort(s, 0, 10)
    assert grow(s, 0, 1.2).n == 5


def test_more_in_flight_than_released_is_enough():
    check_enough()
    for wrong in ("2.5 * s.n[arm]", "1.5 * s.n[arm]"):
        with pytest.raises(AssertionError):
            check_enough(mutant(grow_arm, "2 * s.n[arm]", wrong))
