"""Stages of a driver: other arms come into play, and all follows from the seed and the log again."""

from random import Random
from typing import Any

import pytest

import maskedbandit as mb
from maskedbandit.errors import IllegalDecision, InvalidValue, OutOfTurn
from maskedbandit.privacy.sampling import Bits
from maskedbandit.study.driver import Driver
from tests.for_each import for_each
from tests.study.plays import SEED

LAW = mb.channels.Central(epsilon=1).law()
PLAYED = {
    "contemporaneous_klucb": 4000,
    "successive_elimination": 4000,
    "thompson_sampling": 4000,
    "contemporaneous_elimination": 0.1,
    "eb_tci": 0.1,
}


def play(driver: Driver, chance: Random, many: int, dealt: dict[int, int]) -> None:
    """People come, and cohorts are told once they are full, some of them much later."""
    bits = Bits(chance.randbytes)
    for _ in range(many):
        given = driver.assign(bits)
        assert given.arm in driver.arms
        if given.cohort is not None:
            assert not driver.cohorts[given.cohort].ended, "a place of an earlier stage was dealt"
            dealt[given.cohort] = dealt.get(given.cohort, 0) + 1
        for places in driver.deck.unreleased():
            if places.full and chance.random() < 0.3:
                driver.close(places.cohort)
                driver.tell(places.cohort, places.size, places.size * (0.2 + 0.1 * places.arm))


def played(policy: str, seed: int = 1) -> Driver:
    """Through four stages."""
    driver, chance, dealt = (
        Driver(mb.policies.room[policy](), LAW, 3, PLAYED[policy], SEED),
        Random(seed),
        dict[int, int](),
    )
    play(driver, chance, 150, dealt)
    for arms in ((0, 2), (0, 2, 3), (1, 2, 3)):
        driver.begin_stage(arms, PLAYED[policy])
        assert (driver.arms, driver.answer) == (arms, None)
        play(driver, chance, 150, dealt)
    return driver


@pytest.mark.slow
@for_each("policy", PLAYED)
def test_all_follows_from_the_log(policy: str) -> None:
    driver = played(policy)
    ended = [each for each in driver.cohorts if each.ended]
    assert ended
    live = [
        (each.cohort, place)
        for each in driver.cohorts
        if each.release is None
        for place in range(each.size)
        if place < each._next and place not in each._returned
    ]
    law, log = driver.law, list(driver.log)
    again = Driver.replay(mb.policies.room[policy](), law, 3, PLAYED[policy], SEED, log, live)
    assert str(again.state) == str(driver.state)
    assert again.arms == driver.arms
    assert [each.cohort for each in again.deck.unreleased()] == [each.cohort for each in driver.deck.unreleased()]
    assert (again.deck.left, again.answer) == (driver.deck.left, driver.answer)
    without = [entry for entry in log if entry[0] != "stage"]
    with pytest.raises(InvalidValue):
        Driver.replay(mb.policies.room[policy](), law, 3, PLAYED[policy], SEED, without, live)


def test_an_earlier_stage_says_nothing_to_the_policy() -> None:
    driver = Driver(mb.policies.SuccessiveElimination(least=2), LAW, 3, 1000, SEED)
    bits = Bits(Random(1).randbytes)
    for _ in range(6):
        driver.assign(bits)
    driver.begin_stage((0, 1), 994)
    state = str(driver.state)
    for cohort in range(3):
        driver.close(cohort)
        driver.tell(cohort, 2, 2.0)
    assert str(driver.state) == state
    assert driver.log[-1] == ("tell", 2, 2, 2.0)
    assert driver.assign(bits).cohort in (3, 4)


def test_an_arm_that_is_alone_is_the_answer() -> None:
    driver = Driver(mb.policies.SuccessiveElimination(least=2), LAW, 3, 1000, SEED)
    bits = Bits(Random(1).randbytes)
    driver.assign(bits)
    driver.begin_stage((2,), 999)
    assert [driver.assign(bits)[:3] for _ in range(3)] == [(2, None, None)] * 3
    assert driver.answer == 2
    driver.begin_stage((1, 2), 996)
    assert driver.answer is None
    assert driver.assign(bits).cohort is not None


@for_each("arms", [(), (1, 0), (0, 0), (0, 4), (-1, 0), (0, 1.5)])
def test_arms_that_cannot_be_in_play(arms: Any) -> None:
    driver = Driver(mb.policies.SuccessiveElimination(least=2), LAW, 3, 1000, SEED)
    with pytest.raises(InvalidValue):
        driver.begin_stage(arms, 1000)
    assert (driver.arms, driver.log) == ((0, 1, 2), [])


def test_a_policy_that_cannot_begin_a_stage() -> None:
    driver = Driver(mb.policies.ContemporaneousElimination(), LAW, 3, 0.1, SEED)
    state = str(driver.state)
    with pytest.raises(IllegalDecision, match="cannot begin a stage of 2 arms"):
        driver.begin_stage((0, 1), None)
    assert (driver.arms, driver.log, str(driver.state)) == ((0, 1, 2), [], state)


def test_a_cohort_that_was_given_up_is_never_told() -> None:
    driver = Driver(mb.policies.SuccessiveElimination(least=2), LAW, 2, 1000, SEED)
    bits = Bits(Random(1).randbytes)
    driver.assign(bits)
    driver.begin_stage((0, 1), 999)
    for refused in (driver.close, lambda cohort: driver.tell(cohort, 2, 1.0)):
        with pytest.raises(OutOfTurn):
            refused(0)
