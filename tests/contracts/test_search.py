"""The contract of policies that search for the best arm; what they share with all others is in test_policy.py.

Seeds are fixed; a correct policy fails the test of relabelling under a new seed with probability ALPHA = 1e-9 per
assertion, and that of finding the best arm only if it errs at a gap of 0.9. The other rules are exact.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Decision, kernel
from maskedbandit.lab.engine.outcomes import DONE
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.identify.identify import Found
from maskedbandit.policies.policy import Policy
from maskedbandit.reports.audit.runs import RUN_DELTA
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

ENOUGH = 20_000  # users, for every policy to stop on SPREAD
ALPHAS, BETAS = (2.0, 5.0, 8.0), (8.0, 5.0, 2.0)
SPREAD = mb.Beta(ALPHAS, BETAS)  # means 0.2, 0.5, 0.8
RUNS = 400


@pytest.fixture(params=of_goal("identify"))
def name(request):
    return request.param


@pytest.fixture
def policy(name):
    return mb.policies.room[name]()


@pytest.fixture
def as_python(monkeypatch) -> None:
    """Short runs of a policy that no other test compiles."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def search(policy: Policy, instance: Any = SPREAD, limit: int = ENOUGH, channel: Any = RAW, **how: Any) -> Found:
    return mb.identify(policy, channel, instance, RUN_DELTA, max_pulls=limit, **how)


def far(best: int) -> mb.Bernoulli:
    """Three arms, one of which is better by 0.9."""
    return mb.Bernoulli([0.95 if arm == best else 0.05 for arm in range(3)])


def check_finds(best: int, stopped: np.ndarray, answers: np.ndarray) -> None:
    """Every run stops, with the arm that is better by 0.9."""
    assert np.all(stopped), "it did not stop"
    assert np.all(answers == best), "it did not find the best arm"


def check_limit(policy: Policy) -> None:
    """Wherever it is cut off, it did the same before: nothing tells it where that will be."""
    short, long = (interpreted(policy, channel_for(policy), INSTANCE, limit, seed=2) for limit in (100, 200))
    same = long.decisions[: len(short.decisions)] == short.decisions
    assert same, "it knows where it will be cut off"


def check_relabelling(policy: Policy) -> None:
    """Permuted arms are found as they were before, in law: pulls, samples and answers."""
    first = search(policy, runs=RUNS, seed=1)
    for order in ([2, 0, 1], [2, 1, 0]):
        permuted = mb.Beta([ALPHAS[a] for a in order], [BETAS[a] for a in order])
        other = search(policy, permuted, runs=RUNS, seed=2)
        answers = np.where(other.stopped, np.array(order)[other.answer], -1)
        before = np.column_stack([first.pulls[:, order], first.samples, first.answer])
        check_same_pulls(before, np.column_stack([other.pulls, other.samples, answers]))


def check_engine(policy: Policy, python: Trail, channel: Any, instance: Any, limit: int, seed: int) -> None:
    """The compiled engine does what the same kernels do as Python, to the last bit."""
    assert python.status == DONE
    with choose_way("compiled"):
        found = search(policy, instance, limit, channel, seed=seed)
    assert found.pulls[0].tolist() == python.pulls
    assert found.releases[0] == python.releases
    assert [found.answer[0], found.stopped[0]] == ([python.last[0], True] if python.last[1] == 0 else [-1, False])


@pytest.mark.slow
@for_each("best", range(3))
def test_finds_the_best_arm_when_gaps_are_large(policy, best):
    for seed in range(2):
        found = interpreted(policy, channel_for(policy), far(best), ENOUGH, seed)
        assert found.status == DONE
        check_finds(best, np.array([found.last[1] == 0]), np.array([found.last[0]]))


@pytest.mark.sparing(3)
@for_each("best", [0, 2])
def test_finds_the_best_arm_though_some_of_the_users_are_lost(policy, best):
    for seed in range(2):
        arm, n, _ = drive(
            policy, 3, means := tuple(far(best).means), ENOUGH, seed, released=survivors(means, seed=seed)
        )[-1]
        check_finds(best, np.array([n == 0]), np.array([arm]))


def test_where_it_is_cut_off_changes_nothing_before(policy):
    check_limit(policy)


@pytest.mark.slow
def test_finds_it_in_every_run(policy):
    found = search(policy, far(1), channel=channel_for(policy), runs=100, seed=4)
    check_finds(1, found.stopped, found.answer)


@pytest.mark.slow
def test_same_seed_same_runs_however_many_threads(policy):
    jobs = iter((1, 4))

    def play() -> list[Any]:
        found = search(policy, runs=9, seed=3, executor=partial(Threads, next(jobs)))
        return [found.pulls.tolist(), found.answer.tolist(), found.releases.tolist()]

    check_repeats(play)


@pytest.mark.slow
def test_relabelling_arms_keeps_the_distribution_of_the_search(policy):
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
    found = search(policy, limit=LONG, runs=2, seed=6)
    assert without_compiler()[name] == [found.pulls.tolist(), found.answer.tolist()]


@cache
def without_compiler() -> dict[str, Any]:
    """Pulls and answers of every policy, by a process that compiles nothing."""
    call = f"mb.identify(policy, mb.channels.Raw(), instance, {RUN_DELTA}, max_pulls={LONG}, runs=2, seed=6)"
    return interpreted_runs("identify", f"mb.{SPREAD!r}", call)


# Negative controls: one policy is broken for each rule. `Plain` is a correct one that they are changed from.


class Book(NamedTuple):
    """What the broken policies remember."""

    total: np.ndarray
    n: np.ndarray
    least: int  # users of each arm, before it stops


@dataclass(frozen=True)
class Plain(Policy):
    """Correct: users for every arm in turn, then the arm with the best mean."""

    goal = "identify"
    least = 100

    def init(self, k, delta):
        return Book(np.zeros(k), np.zeros(k), self.least)

    @staticmethod
    @kernel
    def ask(s, law, rng):
        if s.n.min() < s.least:
            return Decision(int(np.argmin(s.n)), 1, 1)
        return Decision(int(np.argmax(s.total / s.n)), 0, 0)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[arm] += total
        s.n[arm] += n


class NeverStops(Plain):
    least = 10**9


class AnswersTheWorst(Plain):
    ask = mutant(Plain.ask, "np.argmax(s.total", "np.argmin(s.total")


class StopsLaterForArmZero(Plain):
    ask = mutant(Plain.ask, "s.n.min() < s.least", "s.n.min() < s.least + 50 * (np.argmax(s.total) == 0)")


class AnswersArmZeroNowAndThen(Plain):
    ask = mutant(
        Plain.ask, "int(np.argmax(s.total / s.n))", "int(np.argmax(s.total / s.n) * (s.total.sum() % 1 > 0.2))"
    )


class AddsInPairs(Plain):
    """NumPy adds in pairs; compiled code adds one number after the other, with larger errors."""

    ask = mutant(Plain.ask, "np.argmin(s.n)", "abs(np.full(1000, 0.1).sum() - 100) < 1e-12")


class KnowsTheLimit(Plain):
    """Its first run is the short one."""

    begun = 0

    def init(self, k, delta):
        KnowsTheLimit.begun += 1
        return Book(np.zeros(k), np.zeros(k), 10 * KnowsTheLimit.begun)


@pytest.mark.slow
def test_a_search_that_does_not_end_is_rejected(as_python):
    found = search(Plain(), far(1), runs=9)
    check_finds(1, found.stopped, found.answer)
    found = search(NeverStops(), far(1), limit=1000, runs=9)
    with pytest.raises(AssertionError, match="did not stop"):
        check_finds(1, found.stopped, found.answer)


def test_a_wrong_answer_is_rejected(as_python):
    found = search(AnswersTheWorst(), far(1), runs=9)
    with pytest.raises(AssertionError, match="did not find"):
        check_finds(1, found.stopped, found.answer)


def test_a_wrong_answer_where_users_are_lost_is_rejected():
    for policy in (AnswersTheWorst(), NeverStops()):
        arm, n, _ = drive(policy, 3, means := (0.05, 0.95, 0.05), released=survivors(means))[-1]
        with pytest.raises(AssertionError, match=r"did not (find|stop)"):
            check_finds(1, np.array([n == 0]), np.array([arm]))


def test_knowing_the_limit_is_rejected():
    check_limit(Plain())
    with pytest.raises(AssertionError, match="knows where"):
        check_limit(KnowsTheLimit())


@pytest.mark.slow
@pytest.mark.parametrize("broken", [StopsLaterForArmZero, AnswersArmZeroNowAndThen])
def test_a_favourite_arm_is_rejected(broken):
    check_relabelling(Plain())
    with pytest.raises(AssertionError, match="two distributions"):
        check_relabelling(broken())


@pytest.mark.slow
def test_a_kernel_that_the_compiler_changes_is_rejected():
    with pytest.raises(AssertionError):
        check_engine(AddsInPairs(), interpreted(AddsInPairs(), RAW, THREE, 100), RAW, THREE, 100, 0)
