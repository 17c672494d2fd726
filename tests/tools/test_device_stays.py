"""The figure of how long devices must stay: its rounds are real, and its lines what they are held against."""

from fractions import Fraction
from random import Random

import pytest

from tests.for_each import for_each
from tests.statistics import mean_is
from tools.figures.device_stays import (
    EVERY,
    HONEST,
    STAYS,
    Completion,
    count_opened,
    draw_stays,
    find_chance,
    find_contact,
    find_stay,
    play_round,
    play_rounds,
)

HALF, FOREVER = Fraction(1, 2), 1e9


def test_who_stays_is_in_the_sum() -> None:
    firsts = [EVERY * user / 10 for user in range(10)]
    assert play_round(10, HALF, [FOREVER] * 10, firsts) == 10
    assert play_round(10, HALF, [0.0, 1.2, 1.5] + [FOREVER] * 7, firsts) == 7
    assert count_opened(10, HALF) == 6
    assert play_round(10, HALF, [0.6] * 5 + [FOREVER] * 5, firsts) == 0


@for_each(("first", "since", "at"), [(0.2, 0, 0.2), (0.2, 0.2, 0.2), (0.2, 0.3, 0.7), (0.0, 2.1, 2.5), (0.4, 1, 1.4)])
def test_the_next_contact(first: float, since: float, at: float) -> None:
    assert find_contact(first, since) == pytest.approx(at)


def test_the_line_is_the_chance_that_enough_are_still_there() -> None:
    """Against 4000 cohorts, of which no message is sent."""
    random, n, stay, honest = Random(5), 30, 12.0, Fraction(7, 10)
    there = [
        sum(random.expovariate(1 / stay) > 2 + EVERY * random.random() for _ in range(n)) >= count_opened(n, honest)
        for _ in range(4000)
    ]
    mean_is(there, find_chance(honest, stay, n))
    with pytest.raises(AssertionError, match="the mean is"):
        mean_is(there, find_chance(honest, 1.1 * stay, n))


def test_the_least_stay() -> None:
    for honest in HONEST:
        stay = find_stay(honest, 100)
        assert find_chance(honest, stay, 100) >= 0.95 > find_chance(honest, stay - 0.02, 100)


@pytest.mark.slow
def test_rounds_are_counted() -> None:
    assert play_rounds(HALF, FOREVER, rounds=2, n=10) == Completion(FOREVER, 1, 1)
    assert play_rounds(HALF, 0.01, rounds=2, n=10) == Completion(0.01, 0, 0)


def test_all_is_drawn() -> None:
    figure = draw_stays({honest: [Completion(stay, 0.5, 0.25) for stay in STAYS] for honest in HONEST})
    opened, counted = figure.axes
    assert [line.get_ydata().tolist() for line in opened.lines[1::2]] == [[0.5] * len(STAYS)] * len(HONEST)
    assert [line.get_ydata().tolist() for line in counted.lines[:3]] == [[0.25] * len(STAYS)] * len(HONEST)
    assert len(counted.lines) == 4
