"""The contract of policies: every policy in the room runs through it because its file exists.

Each rule is a function, and after the policies come the broken ones that the rules must reject. Seeds are fixed; a
correct policy fails the test of relabelling under a new seed with probability ALPHA = 1e-9 per assertion. The other
rules are exact, but for finding the best arm: there a correct policy fails only if it misses a gap of 0.9.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.lab.engine import DONE
from maskedbandit.policies.policy import Policy
from tests.golden import HORIZON, INSTANCE, SEED, Trail, channel_for, interpreted, kept, trail, trajectory
from tests.statistics import same_law_of_two

LONG = 5000  # long enough for every policy to learn something of three arms
RAW = mb.channels.Raw()
ALPHAS, BETAS = (3.0, 5.0, 6.0), (7.0, 5.0, 4.0)  # laws without ties: means 0.3, 0.5, 0.6
THREE = mb.Beta(ALPHAS, BETAS)
RUNS = 400


@pytest.fixture(params=list(mb.policies.room))
def name(request):
    return request.param


@pytest.fixture
def policy(name):
    return mb.policies.room[name]()


def check_legal(decision: Decision, k: int) -> None:
    """An arm that exists for some users, a stop that names one, or WAIT."""
    arm, n, close = decision
    assert all(isinstance(number, int | np.integer) for number in decision), f"{decision} is not made of whole numbers"
    assert decision == WAIT or (0 <= arm < k and n >= 0 and close in (0, 1)), f"{decision} is not legal for {k} arms"


def drive(
    policy: Policy,
    together: int = 1,
    means: tuple[float, ...] = (0.3, 0.5, 0.6),
    horizon: int = LONG,
    seed: int = 1,
    keep: Callable[[Any], Any] = lambda s: s,
) -> list[tuple[int, ...]]:
    """Decisions of a policy that is driven by hand, on the raw channel.

    Cohorts stay open until `together` of them are, or until the policy waits; then they are told in random order.
    """
    k, law, decisions, t = len(means), RAW.law(), [], 0
    rng, own = (np.random.Generator(np.random.PCG64([seed, purpose])) for purpose in range(2))
    s, users, totals, closed = policy.init(k, horizon), [0] * k, [0] * k, []
    while t < horizon:
        s = keep(s)
        decision = policy.ask(s, law, own)
        check_legal(decision, k)
        arm, n, close = decision
        decisions.append((int(arm), int(n), int(close)))
        if decision == WAIT:
            assert closed, "it waits, and there is nothing to wait for"
        elif n == 0:
            assert policy.ask(s, law, own) == decision, "it stopped, and then changed its answer"
            break
        else:
            t += n
            users[arm] += n
            totals[arm] += rng.binomial(n, means[arm])
            if close and t <= horizon:
                closed.append((arm, users[arm], float(totals[arm])))
                users[arm], totals[arm] = 0, 0
        if closed and (decision == WAIT or len(closed) >= together):
            for i in rng.permutation(len(closed)):
                policy.tell(s, *closed[i])
            closed.clear()
    return decisions


def check_asks_before_tells(policy: Policy) -> None:
    """Whatever it is asked before anything was released, it answers."""
    s, rng = policy.init(3, LONG), np.random.Generator(np.random.PCG64(1))
    for _ in range(100):
        check_legal(policy.ask(s, RAW.law(), rng), 3)


def check_repeats(play: Callable[[], Any]) -> None:
    """The same seed gives the same run."""
    first, again = play(), play()
    same = first == again  # compared here, because pytest would explain the difference of long lists for hours
    assert same, "the same seed gave two different runs"


def check_pickles(policy: Policy) -> None:
    """A state that was pickled before every decision goes on as if it had not been."""
    there_and_back = drive(policy, together=4, keep=lambda s: pickle.loads(pickle.dumps(s)))
    same = there_and_back == drive(policy, together=4)
    assert same, "the state that came back decides otherwise"


def check_same_pulls(a: np.ndarray, b: np.ndarray) -> None:
    """Two samples of pulls, [runs, k], have one law, arm by arm; in up to sixteen cells of about the same size.

    Pulls that are nearly always the same number say nothing of the law, and are passed over.
    """
    for mine, yours in zip(a.T, b.T, strict=True):
        both = np.concatenate([mine, yours])
        edges = np.unique(np.quantile(both, np.arange(1, 16) / 16, method="lower"))
        if both.size - np.bincount(np.searchsorted(edges, both)).max() >= 20:
            same_law_of_two(np.searchsorted(edges, mine), np.searchsorted(edges, yours))


def check_relabelling(policy: Policy) -> None:
    """Permuted arms are pulled as they were before, in law."""
    pulls = mb.simulate(policy, RAW, THREE, LONG, runs=RUNS, seed=1).pulls
    for order in ([2, 0, 1], [2, 1, 0]):
        instance = mb.Beta([ALPHAS[a] for a in order], [BETAS[a] for a in order])
        permuted = mb.simulate(policy, RAW, instance, LONG, runs=RUNS, seed=2).pulls
        check_same_pulls(pulls[:, order], permuted)


def check_engine(policy: Policy, python: Trail, *where: Any, seed: int) -> None:
    """The compiled engine does what the same kernels do as Python, to the last bit."""
    assert python.status == DONE
    run = mb.simulate(policy, *where, seed=seed)
    assert run.pulls[0].tolist() == python.pulls
    assert run.releases[0] == python.releases
    assert run.regret[0].tolist() == python.regret


def check_finds(best: int, pulls: np.ndarray, releases: np.ndarray) -> None:
    """Whoever is told anything serves the arm that is better by 0.9 more often than any other, in every run."""
    others = np.delete(pulls, best, axis=1).max(axis=1)
    assert np.all(releases == 0) or np.all(pulls[:, best] > others), "it did not find the best arm"


@pytest.mark.parametrize("together", [1, 5, 1000])
def test_decisions_are_legal_and_tells_come_in_any_order(policy, together):
    decisions = drive(policy, together)
    assert decisions[-1][1] == 0 or sum(n for _, n, _ in decisions) >= LONG


@pytest.mark.parametrize("horizon", [1, 2, 3, 100])
@pytest.mark.parametrize("k", [2, 5])
def test_short_horizons_and_few_arms_are_served(policy, horizon, k):
    drive(policy, 3, tuple(np.linspace(0.1, 0.9, k)), horizon)
    python = interpreted(policy, RAW, mb.Bernoulli(np.linspace(0.1, 0.9, k)), horizon)
    assert python.status == DONE
    assert sum(python.pulls) == horizon


def test_asks_before_any_tell_are_harmless(policy):
    check_asks_before_tells(policy)


def test_state_survives_pickling(policy):
    check_pickles(policy)


def test_same_seed_same_run_however_many_threads(policy):
    jobs = iter((1, 4))
    check_repeats(lambda: mb.simulate(policy, RAW, THREE, LONG, runs=9, seed=3, jobs=next(jobs)).pulls.tolist())


def test_relabelling_arms_keeps_the_law_of_the_run(policy):
    check_relabelling(policy)


def test_object_driven_from_python_is_the_engine(policy, name):
    check_engine(policy, trail(name), channel_for(policy), INSTANCE, HORIZON, seed=SEED)


def test_object_driven_from_python_is_the_engine_on_rewards_that_are_not_bits(policy):
    check_engine(policy, interpreted(policy, RAW, THREE, LONG, seed=5), RAW, THREE, LONG, seed=5)


def test_without_the_compiler_the_numbers_are_the_same(policy, name):
    run = mb.simulate(policy, RAW, THREE, LONG, runs=2, seed=6)
    assert without_compiler()[name] == [run.pulls.tolist(), run.regret.tolist()]


@cache
def without_compiler() -> dict[str, Any]:
    """Pulls and regret of every policy, by a process with NUMBA_DISABLE_JIT=1."""
    script = f"""
import json, numba, maskedbandit as mb
assert numba.config.DISABLE_JIT
runs = {{}}
for name in mb.policies.room:
    run = mb.simulate(mb.policies.room[name](), mb.channels.Raw(), mb.{THREE!r}, {LONG}, runs=2, seed=6)
    runs[name] = [run.pulls.tolist(), run.regret.tolist()]
print(json.dumps(runs))
"""
    with_switch = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=with_switch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("best", [0, 1])
def test_finds_the_best_arm_when_gaps_are_large(policy, best):
    means = np.full(3, 0.05)
    means[best] = 0.95
    run = mb.simulate(policy, channel_for(policy), mb.Bernoulli(means), LONG, runs=20, seed=4)
    check_finds(best, run.pulls, run.releases)


def test_golden_trajectory(name):
    assert kept().get(name) == trajectory(name), "another trajectory: if that is meant, `make golden`"


def test_golden_trajectories_are_those_of_the_room():
    assert sorted(kept()) == sorted(mb.policies.room)


def test_another_run_has_another_trajectory(name):
    """Negative control: what is kept tells one run from another."""
    assert kept().get(name) != trajectory(name, SEED + 1)


# Negative controls: one policy is broken for each rule. `Plain` is a correct one that they are changed from.


class Book(NamedTuple):
    """What the broken policies remember."""

    total: np.ndarray
    n: np.ndarray


@kernel
def first_or_best(s: Book, bonus: float) -> int:
    """An arm that was told less than ten users, or the best one; `bonus` is a preference for arm 0."""
    best, top = 0, -1.0
    for a in range(s.n.size):
        if s.n[a] < 10:
            return a
        mean = s.total[a] / s.n[a] + (bonus if a == 0 else 0.0)
        if mean > top:
            best, top = a, mean
    return best


@dataclass(frozen=True)
class Plain(Policy):
    """Correct: ten users for every arm, then the arm with the best mean."""

    goal = "regret"

    def init(self, k, horizon):
        return Book(np.zeros(k), np.zeros(k))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(first_or_best(s, 0.0), 1, 1)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[arm] += total
        s.n[arm] += n


class AsksForArmK(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(s.n.size, 1, 1)


class AsksForNobody(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(0, -1, 1)


class AsksForHalfAUser(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(0, 0.5, 1)


class WaitsForEver(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(first_or_best(s, 0.0), 1, 1) if s.n.sum() < 100 else WAIT


class ChangesItsAnswer(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(int(rng.integers(0, 1000)) % s.n.size, 1 if s.n.sum() < 100 else 0, 1)


class MustBeToldAtOnce(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        assert s.n.sum() == round(s.n.sum()), "a cohort is missing"
        s.n[0] += 0.5
        return Decision(0, 1, 1)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.n[0] += 0.5


class PrefersArmZero(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(first_or_best(s, 0.1), 1, 1)


class NeverAdapts(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(int(s.n.sum()) % s.n.size, 1, 1)


class DrawsItsOwnNumbers(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(int(np.random.default_rng().integers(0, s.n.size)), 1, 1)


class AddsInPairs(Plain):
    """NumPy adds in pairs; compiled code adds one number after the other, with larger errors."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(int(abs(np.full(1000, 0.1).sum() - 100) < 1e-12), 1, 1)


OUTSIDE: dict[int, int] = {}


class RemembersOutside(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        OUTSIDE[id(s.n)] = OUTSIDE.get(id(s.n), 0) + 1
        return Decision(OUTSIDE.pop(id(s.n)) % 2 if OUTSIDE[id(s.n)] > 10 else 0, 1, 1)


class HoldsAModule(Plain):
    """Its state cannot be stored."""

    def init(self, k, horizon):
        return Book(np.zeros(k), np.array([ModuleType("hidden")] * k))


@pytest.mark.parametrize("broken", [AsksForArmK, AsksForNobody, AsksForHalfAUser])
def test_illegal_decisions_are_rejected(broken):
    with pytest.raises(AssertionError, match=r"not legal|whole numbers"):
        drive(broken())
    with pytest.raises(AssertionError, match=r"not legal|whole numbers"):
        check_asks_before_tells(broken())


def test_waiting_for_nothing_is_rejected():
    with pytest.raises(AssertionError, match="nothing to wait for"):
        drive(WaitsForEver())


def test_a_stop_that_is_none_is_rejected():
    with pytest.raises(AssertionError, match="changed its answer"):
        drive(ChangesItsAnswer())


def test_counting_on_a_tell_after_every_ask_is_rejected():
    drive(MustBeToldAtOnce(), together=1)
    with pytest.raises(AssertionError, match="a cohort is missing"):
        drive(MustBeToldAtOnce(), together=5)
    with pytest.raises(AssertionError, match="a cohort is missing"):
        check_asks_before_tells(MustBeToldAtOnce())


@pytest.mark.parametrize("broken", [RemembersOutside, HoldsAModule])
def test_a_state_with_hidden_parts_is_rejected(broken):
    with pytest.raises((AssertionError, TypeError)):
        check_pickles(broken())


def test_random_numbers_of_its_own_are_rejected():
    check_repeats(lambda: drive(Plain()))
    with pytest.raises(AssertionError, match="two different runs"):
        check_repeats(lambda: drive(DrawsItsOwnNumbers()))


def test_a_favourite_arm_is_rejected():
    with pytest.raises(AssertionError, match="two laws"):
        check_relabelling(PrefersArmZero())


def test_a_kernel_that_the_compiler_changes_is_rejected():
    where = RAW, THREE, 100
    with pytest.raises(AssertionError):
        check_engine(AddsInPairs(), interpreted(AddsInPairs(), *where), *where, seed=0)


def test_ignoring_what_was_told_is_rejected():
    found = interpreted(NeverAdapts(), RAW, mb.Bernoulli([0.05, 0.95, 0.05]), 200)
    with pytest.raises(AssertionError, match="did not find"):
        check_finds(1, np.array([found.pulls]), np.array([found.releases]))
