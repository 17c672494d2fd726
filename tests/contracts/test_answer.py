"""The contract of policies that answer with a fixed number of people; what they share with all others is in
test_policy.py.

Seeds are fixed; a correct policy fails the test of relabelling under a new seed with probability ALPHA = 1e-9 per
assertion, and that of finding the best arm only if it errs at a gap of 0.9. The other rules are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Decision, lean_kernel
from maskedbandit.lab.engine.outcomes import DONE
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.answer.answer import Answered
from maskedbandit.policies.policy import Policy
from tests.contracts.rules import (
    LONG,
    RAW,
    THREE,
    check_repeats,
    check_same_pulls,
    drive,
    interpreted_runs,
    of_goal,
    survivors,
)
from tests.for_each import for_each
from tests.golden import HORIZON, INSTANCE, SEED, Trail, channel_for, interpreted, trail
from tests.policies.mutants import mutant
from tests.ways import choose_way

ALPHAS, BETAS = (2.0, 5.0, 8.0), (8.0, 5.0, 2.0)
SPREAD = mb.Beta(ALPHAS, BETAS)  # means 0.2, 0.5, 0.8
PEOPLE, RUNS = 30, 400


@pytest.fixture(params=of_goal("answer"))
def name(request):
    return request.param


@pytest.fixture
def policy(name):
    return mb.policies.room[name]()


@pytest.fixture
def as_python(monkeypatch) -> None:
    """Short runs of a policy that no other test compiles."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def far(best: int) -> mb.Bernoulli:
    """Three arms, one of which is better by 0.9."""
    return mb.Bernoulli([0.95 if arm == best else 0.05 for arm in range(3)])


def check_finds(best: int, stopped: np.ndarray, answers: np.ndarray) -> None:
    """Every run stops, with the arm that is better by 0.9."""
    assert np.all(stopped), "it did not stop"
    assert np.all(answers == best), "it did not find the best arm"


def check_number_of_people(policy: Policy) -> None:
    """It answers before it has asked for more people than there are, however few or many those are."""
    for k in (1, 2, 3, 7, 30):
        for people in (1, 2, k, 2 * k + 1, 100, 9_999):
            decisions = drive(policy, k, tuple(np.linspace(0.1, 0.9, k)), people + 1, seed=people, told=people)
            assert sum(n for _, n, _ in decisions) <= people, f"it asked for more than {people} people for {k} arms"
            assert decisions[-1][1] == 0, "it did not stop"


def check_relabelling(policy: Policy) -> None:
    """Permuted arms are found as they were before, in distribution: pulls and answers."""
    first = mb.answer(policy, RAW, SPREAD, PEOPLE, runs=RUNS, seed=1)
    for order in ([2, 0, 1], [2, 1, 0]):
        permuted = mb.Beta([ALPHAS[a] for a in order], [BETAS[a] for a in order])
        other = mb.answer(policy, RAW, permuted, PEOPLE, runs=RUNS, seed=2)
        before = np.column_stack([first.pulls[:, order], first.answer])
        check_same_pulls(before, np.column_stack([other.pulls, np.array(order)[other.answer]]))


def check_engine(policy: Policy, python: Trail, channel: Any, instance: Any, people: int, seed: int) -> None:
    """The compiled engine does what the same kernels do as Python, to the last bit."""
    assert python.status == DONE
    with choose_way("compiled"):
        found = mb.answer(policy, channel, instance, people, seed=seed)
    assert found.pulls[0].tolist() == python.pulls
    assert found.releases[0] == python.releases
    assert [found.answer[0], found.stopped[0]] == [python.last[0], python.last[1] == 0]


@for_each("best", range(3))
def test_finds_the_best_arm_when_gaps_are_large(policy, best):
    for seed in range(2):
        found = interpreted(policy, channel_for(policy), far(best), LONG, seed)
        assert found.status == DONE
        check_finds(best, np.array([found.last[1] == 0]), np.array([found.last[0]]))


@for_each("best", [0, 2])
def test_finds_the_best_arm_though_some_of_the_users_are_lost(policy, best):
    for seed in range(2):
        lost = survivors(means := tuple(far(best).means), seed=seed)
        arm, n, _ = drive(policy, 3, means, LONG + 1, seed, released=lost, told=LONG)[-1]
        check_finds(best, np.array([n == 0]), np.array([arm]))


def test_it_asks_for_no_more_people_than_there_are(policy):
    check_number_of_people(policy)


@pytest.mark.slow  # each has a loop of its own
def test_same_seed_same_runs_however_many_threads(policy):
    jobs = iter((1, 4))

    def play() -> list[Any]:
        found: Answered = mb.answer(policy, RAW, SPREAD, 200, runs=9, seed=3, executor=partial(Threads, next(jobs)))
        return [found.pulls.tolist(), found.answer.tolist(), found.releases.tolist()]

    check_repeats(play)


@pytest.mark.slow
def test_relabelling_arms_keeps_the_distribution_of_the_answer(policy):
    check_relabelling(policy)


@pytest.mark.slow
def test_object_driven_from_python_is_the_engine(policy, name):
    check_engine(policy, trail(name), channel_for(policy), INSTANCE, HORIZON, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("instance", [SPREAD, THREE], ids=["far", "near"])
def test_object_driven_from_python_is_the_engine_on_rewards_that_are_not_bits(policy, instance):
    check_engine(policy, interpreted(policy, RAW, instance, LONG, seed=5), RAW, instance, LONG, 5)


@pytest.mark.slow
def test_without_the_compiler_the_numbers_are_the_same(policy, name):
    found = mb.answer(policy, RAW, SPREAD, LONG, runs=2, seed=6)
    assert without_compiler()[name] == [found.pulls.tolist(), found.answer.tolist()]


@cache
def without_compiler() -> dict[str, Any]:
    """Pulls and answers of every policy, by a process that compiles nothing."""
    call = f"mb.answer(policy, mb.channels.Raw(), instance, {LONG}, runs=2, seed=6)"
    return interpreted_runs("answer", f"mb.{SPREAD!r}", call)


# Negative controls: one policy is broken for each rule. `Plain` is a correct one that they are changed from.


class Book(NamedTuple):
    """What the broken policies remember."""

    total: np.ndarray
    n: np.ndarray
    asked: np.ndarray
    horizon: int


@dataclass(frozen=True)
class Plain(Policy):
    """Correct: users for every arm in turn, then an arm with the best mean."""

    goal = "answer"

    def init(self, k, horizon):
        return Book(np.zeros(k), np.zeros(k), np.zeros(1), horizon)

    @staticmethod
    @lean_kernel
    def ask(s, law, rng):
        if s.asked[0] < s.horizon - s.horizon % s.n.size:
            s.asked[0] += 1
            return Decision(int(s.asked[0] - 1) % s.n.size, 1, 1)
        if s.total.sum() >= 0 and s.n.sum() < s.asked[0]:
            return Decision(-1, 0, 0)
        best = 0
        for a in range(1, s.n.size):
            if s.n[a] > 0 and s.total[a] / s.n[a] > s.total[best] / s.n[best]:
                best = a
        return Decision(best, 0, 0)

    @staticmethod
    @lean_kernel
    def tell(s, arm, n, total):
        s.total[arm] += total
        s.n[arm] += n


class AsksForOneMore(Plain):
    ask = mutant(Plain.ask, "s.horizon - s.horizon % s.n.size", "s.horizon + 1")


class AnswersTheWorst(Plain):
    ask = mutant(Plain.ask, "s.total[a] / s.n[a] > s.total", "s.total[a] / s.n[a] < s.total")


class PrefersArmZero(Plain):
    ask = mutant(Plain.ask, "> s.total[best] / s.n[best]", "> s.total[best] / s.n[best] + 0.55 * (best == 0)")


@pytest.mark.slow
def test_asking_for_more_people_than_there_are_is_rejected():
    check_number_of_people(Plain())
    with pytest.raises(AssertionError, match="asked for more"):
        check_number_of_people(AsksForOneMore())


def test_a_wrong_answer_is_rejected(as_python):
    found = mb.answer(Plain(), RAW, far(1), 300, runs=9)
    check_finds(1, found.stopped, found.answer)
    found = mb.answer(AnswersTheWorst(), RAW, far(1), 300, runs=9)
    with pytest.raises(AssertionError, match="did not find"):
        check_finds(1, found.stopped, found.answer)


@pytest.mark.slow
def test_a_favourite_arm_is_rejected(as_python):
    check_relabelling(Plain())
    with pytest.raises(AssertionError, match="two distributions"):
        check_relabelling(PrefersArmZero())
