"""Of arms with equal values, or equally few users, each is chosen with the same chance."""

import math

import numpy as np
import pytest

from maskedbandit.policies.parts.choice import in_turn, pick_fewest, pick_highest, weigh_arm
from tests.for_each import for_each
from tests.policies.mutants import mutant
from tests.statistics import same_distribution


def picks(index: list[float], pick=pick_highest) -> np.ndarray:
    rng = np.random.Generator(np.random.PCG64(1))
    return np.array([pick(np.array(index), rng) for _ in range(3000)])


@for_each("index", [[0.0, 1.0, 1.0, 0.5, 1.0], [-math.inf] * 4, [1.0, 2.0, 2.0]], ids=str)
def test_equals_are_chosen_alike(index):
    tied = np.array(index) == max(index)
    same_distribution(
        picks(index), lambda a: np.where((a >= 0) & (a < tied.size), tied[np.clip(a, 0, tied.size - 1)], 0) / tied.sum()
    )


def test_the_highest_is_chosen():
    assert set(picks([0.2, 0.9, 0.3])) == {1}
    assert set(picks([5.0, -1.0])) == {0}


def check_fewest(fewest=pick_fewest) -> None:
    """The arm of the fewest users, equals alike; and not one number is drawn where there are none."""
    for users in ([0, 0, 0, 0, 0], [3, 1, 2, 1, 1, 7], [0.5, 0.25, 0.25]):
        equals = np.flatnonzero(np.array(users) == min(users))
        same_distribution(picks(users, fewest), lambda a, of=equals: np.isin(a, of) / of.size)
    assert fewest(np.array([4, 2, 3]), None) == 1


def test_the_fewest_users_are_next():
    check_fewest()


@for_each(
    ("old", "new"),
    [
        ("rng.random() * equals", "0"),
        ("* equals", "* (equals - 1)"),
        ("rng.random()", "rng.random() ** 2"),
        ("> 1", "> 0"),
    ],
)
def test_another_choice_of_the_fewest_is_rejected(old, new):
    with pytest.raises((AssertionError, AttributeError)):
        check_fewest(mutant(pick_fewest, old, new))


def test_arms_in_turn_have_a_new_order_each_time():
    asked, rng = np.zeros(3, np.int64), np.random.Generator(np.random.PCG64(1))
    rounds = np.array([[in_turn(asked, rng) for _ in range(3)] for _ in range(3000)])
    assert np.array_equal(np.sort(rounds, axis=1), np.tile([0, 1, 2], (3000, 1)))
    assert asked.tolist() == [3000] * 3
    orders = [102, 120, 201, 210, 12, 21]
    same_distribution(rounds @ [100, 10, 1], lambda order: np.isin(order, orders) / 6)


def test_a_favourite_of_equals_is_rejected():
    unfair = mutant(weigh_arm, "rng.random() * equals < 1.0", "rng.random() < 0.6")
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(picks([1.0, 1.0], mutant(pick_highest, weigh_arm=unfair)), lambda a: np.isin(a, (0, 1)) / 2)
