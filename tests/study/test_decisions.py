"""Every decision has a stream of its own: whatever was asked before, and however a study was interrupted."""

from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.errors import IllegalDecision, InvalidValue
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.state_text import state_from_text, state_to_text
from maskedbandit.study import driver
from maskedbandit.study.decisions import decision_generator
from tests.for_each import for_each
from tests.lab.scripted import INSTANCE, Watched, over
from tests.statistics import mean_is, same_distribution

SEED = bytes(range(32))


def test_a_decision_draws_the_same_whatever_was_asked_before():
    alone = decision_generator(SEED, 7).random(5)
    for number in range(7):
        decision_generator(SEED, number).random(number)
    np.testing.assert_array_equal(decision_generator(SEED, 7).random(5), alone)


def test_streams_are_fixed_for_ever():
    """A study may be resumed by another version or on another machine."""
    assert decision_generator(SEED, 5).bit_generator.random_raw(2).tolist() == [
        17308783281492763343,
        12300385639508390530,
    ]


def test_decisions_and_studies_differ():
    draws = {
        decision_generator(seed, number).bytes(16)
        for seed in (SEED, SEED[::-1], SEED[:16], SEED + b"\0")
        for number in (*range(500), 2**32, 2**64 - 1)
    }
    assert len(draws) == 4 * 502


def test_numbers_of_different_decisions_are_independent():
    first = np.array([decision_generator(SEED, number).integers(0, 10) for number in range(4000)])
    same_distribution(first, lambda z: np.where((z >= 0) & (z < 10), 0.1, 0.0))
    mean_is(np.abs(np.diff(first)) == 0, 0.1)


@for_each(("seed", "number"), [(b"short", 0), ("text", 0), (SEED, -1), (SEED, 2**64), (SEED, 1.0)])
def test_what_is_no_seed_or_number(seed, number):
    with pytest.raises(InvalidValue, match=r"^(seed|number) is"):
        decision_generator(seed, number)


# --- studies ----------------------------------------------------------------------------------------------------------


def asked(policy, law, rewards, seed, resume=None):
    """Decisions of a study whose releases are the rewards in turn; it may stop and go on from its stored text."""
    state, decisions = policy.init(2, 1000), []
    for number, reward in enumerate(rewards):
        if number == resume:
            state = state_from_text(policy, 2, 1000, state_to_text(policy, state))
        decision = policy.ask(state, law, decision_generator(seed, number))
        decisions.append(tuple(decision))
        policy.tell(state, decision.arm, decision.n, reward * decision.n)
    return decisions


def test_a_study_that_was_interrupted_decides_as_one_that_was_not():
    policy, law = mb.policies.LazyDPThompson(), mb.channels.Central().law()
    rewards = np.random.default_rng(1).random(40)
    whole = asked(policy, law, rewards, SEED)
    assert len({arm for arm, _, _ in whole}) == 2
    for resume in (1, 17, 39):
        assert asked(policy, law, rewards, SEED, resume) == whole
    assert asked(policy, law, rewards, SEED[::-1]) != whole


class Coins(NamedTuple):
    left: np.ndarray


class Drawing(Policy):
    """Asks for an arm that it draws."""

    goal: ClassVar = "regret"

    def init(self, k, aim):
        return Coins(np.array([k]))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(int(rng.integers(s.left[0])), 1, 1)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        pass


def test_a_rehearsal_asks_each_decision_with_its_own_generator(monkeypatch):
    numbers, seeds = [], set()

    def noted(seed, number):
        numbers.append(number)
        seeds.add(seed)
        return decision_generator(seed, number)

    monkeypatch.setattr(driver, "decision_generator", noted)
    run = mb.simulate(Drawing(), over(Watched(fails=1)), INSTANCE, 60, seed=4)
    assert numbers == list(range(30))  # a cohort that failed is no other decision
    (seed,) = seeds
    drawn = [int(decision_generator(seed, number).integers(2)) for number in numbers]
    assert run.pulls[0].tolist() == [2 * drawn.count(0), 2 * drawn.count(1)]
    assert 5 < drawn.count(0) < 25


class Patient(Drawing):
    """Waits by a coin."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return WAIT if rng.integers(2) else Decision(0, 1, 1)


def drained(advance):
    """How often a policy that waits by a coin is asked until it asks for an arm; `advance` numbers those asks."""
    policy, law = Patient(), mb.channels.Raw().law()
    state, number = policy.init(2, 1000), next(i for i in range(99) if decision_generator(SEED, i).integers(2))
    for asks in range(1, 100):
        if policy.ask(state, law, decision_generator(SEED, number)) != WAIT:
            return asks
        number = advance(number)
    raise AssertionError("it waits for ever")


def test_an_answer_to_wait_has_a_number_of_its_own():
    assert drained(lambda number: number + 1) > 1
    with pytest.raises(AssertionError, match="it waits for ever"):
        drained(lambda number: number)


def test_waiting_for_nothing_is_refused():
    with pytest.raises(IllegalDecision, match="waits"):
        mb.simulate(Patient(), over(Watched()), INSTANCE, 1000)
