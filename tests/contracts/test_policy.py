"""The contract of policies: every multi-armed policy in the room runs through it because its file exists.

The rules of rules.py hold for all of them; the others here are for those that keep regret low. Those that search for
the best arm have more in test_search.py and test_answer.py.

Each rule is a function, and after the policies come the broken ones that the rules must reject. Seeds are fixed; a
correct policy fails the tests of relabelling and of few users under a new seed with probability ALPHA = 1e-9 per
assertion. The other
rules are exact, but for finding the best arm: there a correct policy fails only if it misses a gap of 0.9.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine import deck
from maskedbandit.lab.engine.outcomes import DONE
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.policies.parts.choice import pick_fewest
from maskedbandit.policies.policy import Policy
from tests.contracts import rules
from tests.contracts.guide import NAME, PAGE
from tests.contracts.rules import (
    BY_HAND,
    LONG,
    RAW,
    SHORT,
    THREE,
    check_asks_before_tells,
    check_counts_who_was_told,
    check_pickles,
    check_refuses_damage,
    check_repeats,
    check_same_pulls,
    check_text,
    drive,
    of_goal,
    policy_of,
    survivors,
)
from tests.for_each import for_each
from tests.golden import HORIZON, INSTANCE, MULTI_ARMED, SEED, Trail, channel_for, interpreted, kept, trail, trajectory
from tests.guides import block
from tests.policies.mutants import mutant
from tests.statistics import same_distribution
from tests.ways import choose_way

RUNS = 250
MEANS = (0.3, 0.5, 0.6)

REGRET = [*of_goal("regret"), NAME]


# Those whose compiled loop is left to `make slow`; as Python it runs in the tests of trajectories.
DEAR = {
    "ada_cucb",
    "ada_p_klucb",
    "ada_p_ucb",
    "anytime_lazy_ucb",
    "capped_thompson",
    "contemporaneous_klucb",
    "dp_imed",
    "dp_klucb",
    "dp_thompson",
    "dpse",
    "dpucb",
    "dpucb_int",
    "epsilon_greedy",
    "explore_then_commit",
    "gaussian_thompson",
    "klucb",
    "lazy_dp_thompson",
    "ldp_ucb",
    "noise_aware_klucb",
    "restarting_klucb",
    "sw_ucb",
    "thompson_sampling",
    "ucb1",
    "uniform",
}

P = mb.policies
NOT_BY_DEFAULT = [  # settings by which arms get their first users in other ways
    P.DPThompson(pilot=1),
    P.GaussianThompson(initial=1),
    P.NoiseAwareKLUCB(anytime=True),
    P.RestartingKLUCB(window=3),
    P.SuccessiveElimination(unfinished="start"),
    P.SWUCB(window=2),
]


def slow(dear: set[str]) -> list[Any]:
    """Every policy; those that are dear here are left to `make slow`."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in dear)) for name in REGRET]


each_policy = for_each("name", [*MULTI_ARMED, NAME])


@pytest.fixture(params=REGRET)
def name(request):
    return request.param


@pytest.fixture
def policy(name):
    return policy_of(name)


def check_relabelling(policy: Policy, horizon: int = LONG) -> None:
    """Permuted arms are pulled as they were before, in distribution."""
    how = {"horizon": horizon, "runs": RUNS}
    pulls = mb.simulate(policy, channel_for(policy), mb.Bernoulli(MEANS), **how, seed=1).pulls
    for order in ([2, 0, 1], [2, 1, 0]):
        instance = mb.Bernoulli([MEANS[a] for a in order])
        check_same_pulls(pulls[:, order], mb.simulate(policy, channel_for(policy), instance, **how, seed=2).pulls)


def check_serves_few_users_alike(policy: Policy) -> None:
    """With fewer users than arms, any user gets every arm with the same probability."""
    instance, rng = mb.Bernoulli([0.5] * 12), np.random.Generator(np.random.PCG64(1))
    pulls = [interpreted(policy, channel_for(policy), instance, 4, 8, run).pulls for run in range(300)]
    of_one_user = [rng.choice(12, p=np.array(each) / 4) for each in pulls]
    same_distribution(np.array(of_one_user), lambda arm: ((arm >= 0) & (arm < 12)) / 12)


def check_engine(policy: Policy, python: Trail, *where: Any, seed: int) -> None:
    """The compiled engine does what the same kernels do as Python, to the last bit."""
    assert python.status == DONE
    with choose_way("compiled"):
        run = mb.simulate(policy, *where, seed=seed)
    assert run.pulls[0].tolist() == python.pulls
    assert run.releases[0] == python.releases
    assert run.regret[0].tolist() == python.regret


def check_finds(best: int, pulls: np.ndarray, releases: np.ndarray) -> None:
    """Whoever is told anything serves the arm that is better by 0.9 more often than any other, in every run."""
    others = np.delete(pulls, best, axis=1).max(axis=1)
    assert np.all(releases == 0) or np.all(pulls[:, best] > others), "it did not find the best arm"


@each_policy
@for_each(("together", "horizon"), [(1, BY_HAND), (5, SHORT), (1000, SHORT)])
def test_decisions_are_legal_and_tells_come_in_any_order(name, together, horizon):
    decisions = drive(policy_of(name), together, horizon=horizon)
    assert decisions[-1][1] == 0 or sum(n for _, n, _ in decisions) >= horizon


@each_policy
@for_each("horizon", [1, 2, 3, 100])
@for_each("k", [2, 5])
def test_short_horizons_and_few_arms_are_served(name, horizon, k):
    policy = policy_of(name)
    drive(policy, 3, tuple(np.linspace(0.1, 0.9, k)), horizon)
    python = interpreted(policy, RAW, mb.Bernoulli(np.linspace(0.1, 0.9, k)), horizon)
    assert python.status == DONE
    assert sum(python.pulls) == horizon or (policy.goal != "regret" and python.last[1] == 0)


@pytest.mark.slow
@each_policy
@for_each(("together", "fraction", "horizon"), [(1, 0.3, BY_HAND), (5, 0.8, SHORT)])
def test_fewer_rewards_than_asked_for_may_be_told(name, together, fraction, horizon):
    means = (0.3, 0.5, 0.6)
    decisions = drive(policy_of(name), together, means, horizon, released=survivors(means, fraction))
    assert decisions[-1][1] == 0 or sum(n for _, n, _ in decisions) >= horizon


@pytest.mark.slow
@each_policy
def test_means_are_those_of_the_rewards_that_were_told(name):
    check_counts_who_was_told(policy_of(name))


@each_policy
def test_asks_before_any_tell_are_harmless(name):
    check_asks_before_tells(policy_of(name))


@pytest.mark.slow
@each_policy
def test_state_survives_pickling(name):
    check_pickles(policy_of(name))


@each_policy
def test_state_survives_being_text(name):
    check_text(policy_of(name))


@each_policy
def test_text_that_is_no_state_is_refused(name):
    check_refuses_damage(policy_of(name))


@pytest.mark.parametrize("name", slow(DEAR))
def test_same_seed_same_run_however_many_threads(policy):
    jobs = iter((1, 4))
    where = channel_for(policy), INSTANCE, LONG
    check_repeats(
        lambda: mb.simulate(policy, *where, runs=9, seed=3, executor=partial(Threads, next(jobs))).pulls.tolist()
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", REGRET)
def test_relabelling_arms_keeps_the_distribution_of_the_run(policy, name):
    check_relabelling(
        policy, SHORT if name in ("klucb", "sw_ucb", "ucb1") else LONG
    )  # these learn from every single user


@pytest.mark.sparing(4)
def test_few_users_are_not_those_of_the_first_arms(policy):
    check_serves_few_users_alike(policy)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("policy", NOT_BY_DEFAULT, ids=str)
def test_few_users_are_not_those_of_the_first_arms_by_other_settings(policy):
    check_serves_few_users_alike(policy)


@pytest.mark.parametrize("name", slow(DEAR))
def test_object_driven_from_python_is_the_engine(policy, name):
    where = channel_for(policy), INSTANCE, HORIZON
    python = interpreted(policy, *where, SEED) if name == NAME else trail(name)
    check_engine(policy, python, *where, seed=SEED)


@pytest.mark.parametrize("name", slow({*REGRET} - {"successive_elimination"}))  # each needs a loop of its own
def test_object_driven_from_python_is_the_engine_on_rewards_that_are_not_bits(policy):
    check_engine(policy, interpreted(policy, RAW, THREE, LONG, seed=5), RAW, THREE, LONG, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("name", REGRET)
def test_without_the_compiler_the_numbers_are_the_same(policy, name):
    run = mb.simulate(policy, channel_for(policy), INSTANCE, SHORT, seed=6)
    assert without_compiler()[name] == [run.pulls.tolist(), run.regret.tolist()]


@cache
def without_compiler() -> dict[str, Any]:
    """Pulls and regret of every policy, by a process with MASKEDBANDIT_KERNELS=python."""
    script = f"""
import json, maskedbandit as mb
from maskedbandit.lab.engine.compiler import runs_interpreted
from tests.contracts.rules import policy_of
from tests.golden import INSTANCE, channel_for
assert runs_interpreted()
runs = {{}}
for name in {REGRET}:
    policy = policy_of(name)
    run = mb.simulate(policy, channel_for(policy), INSTANCE, {SHORT}, seed=6)
    runs[name] = [run.pulls.tolist(), run.regret.tolist()]
print(json.dumps(runs))
"""
    with_switch = {**os.environ, "MASKEDBANDIT_KERNELS": "python"}
    program, root = [sys.executable, "-c", script], Path(__file__).parents[2]
    done = subprocess.run(program, cwd=root, env=with_switch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("best", [0, 1])
@pytest.mark.parametrize("name", slow(DEAR))
def test_finds_the_best_arm_when_gaps_are_large(policy, best):
    means = np.full(3, 0.05)
    means[best] = 0.95
    run = mb.simulate(policy, channel_for(policy), mb.Bernoulli(means), LONG, runs=20, seed=4)
    check_finds(best, run.pulls, run.releases)


@for_each("name", MULTI_ARMED)
def test_golden_trajectory(name):
    assert kept().get(name) == trajectory(name), "another trajectory: if that is meant, `make golden`"


def test_golden_trajectories_are_those_of_the_room():
    assert sorted(kept()) == MULTI_ARMED


@pytest.mark.slow
@for_each("name", MULTI_ARMED[::4])
def test_another_run_has_another_trajectory(name):
    """Negative control: what is kept tells one run from another."""
    assert kept().get(name) != trajectory(name, SEED + 1)


@for_each("order", [["check"], ["format", "--check", "--diff"]])
def test_the_guide_passes_the_linter(order):
    where = Path(__file__).parents[2] / "src/maskedbandit/policies/regret" / f"{NAME}.py"
    program = [sys.executable, "-m", "ruff", *order, "--no-cache", "--stdin-filename", str(where), "-"]
    done = subprocess.run(program, input=block(PAGE), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# Negative controls: one policy is broken for each rule. `Plain` is a correct one that they are changed from.


class Book(NamedTuple):
    """What the broken policies remember."""

    total: np.ndarray
    n: np.ndarray


@kernel
def first_or_best(s: Book, bonus: float, rng: np.random.Generator) -> int:
    """The arm that was told the fewest users, if they are less than ten, or the best one; `bonus` prefers arm 0."""
    best, top = pick_fewest(s.n, rng), -1.0
    if s.n[best] < 10:
        return best
    for a in range(s.n.size):
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
        return Decision(first_or_best(s, 0.0, rng), 1, 1)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[arm] += total
        s.n[arm] += n


class ServesInOrder(Plain):
    """The first arm that was told less than ten users."""

    ask = mutant(Plain.ask, first_or_best=mutant(first_or_best, "pick_fewest(s.n, rng)", "int(np.argmax(s.n < 10))"))


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
        return Decision(first_or_best(s, 0.0, rng), 1, 1) if s.n.sum() < 100 else WAIT


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
        return Decision(first_or_best(s, 0.4, rng), 1, 1)


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


OUTSIDE: dict[int, list[np.ndarray]] = {}  # the arrays themselves: while they are kept, no other has their number


class RemembersOutside(Plain):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        seen = OUTSIDE.setdefault(id(s.n), [])
        seen.append(s.n)
        return Decision(len(seen) % 2 if len(seen) > 10 else 0, 1, 1)


class CountsWhomItAskedFor(Plain):
    """Its cohorts have ten users, and it takes all for told."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(first_or_best(s, 0.0, rng), 10, 1)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[arm] += total
        s.n[arm] += 10


class WaitsForAll(Plain):
    """It goes on once all users of the first cohorts were told."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        if s.n.sum() == 0:
            return Decision(0, 100, 1)
        return Decision(0, 1, 1) if s.n.sum() >= 100 else WAIT


class HoldsAModule(Plain):
    """Its state cannot be stored."""

    def init(self, k, horizon):
        return Book(np.zeros(k), np.array([ModuleType("hidden")] * k))


class HidesANumber(Plain):
    """What it knows stands in an attribute, which pickling keeps and the text of a state does not."""

    def init(self, k, horizon):
        return Book(Hiding(k), np.zeros(k))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        s.total.hidden = getattr(s.total, "hidden", 0) + 1
        return Decision(s.total.hidden % 2 if s.total.hidden > 10 else 0, 1, 1)


class Hiding(np.ndarray):
    """An array with more in it than its numbers."""

    def __new__(cls, k):
        return np.zeros(k).view(cls)


class AnswersInNumPy(Plain):
    """Its arm is an np.int64, which a service cannot write as JSON."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(np.argmin(s.n), 1, 1)


class KeepsNoMeans(Plain):
    def means(self, s):
        return None


class KnowsTooMuch(Plain):
    """The mean of an arm of which nothing was told is not 0."""

    def means(self, s):
        return s.total / np.maximum(s.n, 1)


class SaysTheSums(Plain):
    def means(self, s):
        return s.total


@for_each("broken", [AsksForArmK, AsksForNobody, AsksForHalfAUser, AnswersInNumPy])
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


def test_counting_users_of_whom_nothing_was_told_is_rejected():
    check_counts_who_was_told(Plain())
    with pytest.raises(AssertionError, match="of whom it was not told"):
        check_counts_who_was_told(CountsWhomItAskedFor())


@pytest.mark.slow
def test_means_that_are_none_are_rejected():
    for broken, why in ((KeepsNoMeans, "told sums"), (KnowsTooMuch, "before it was told"), (SaysTheSums, "not told")):
        with pytest.raises(AssertionError, match=why):
            check_counts_who_was_told(broken())


def test_waiting_for_users_who_were_lost_is_rejected():
    drive(WaitsForAll())
    with pytest.raises(AssertionError, match="nothing to wait for"):
        drive(WaitsForAll(), released=survivors((0.3, 0.5, 0.6)))


@for_each("broken", [RemembersOutside, HoldsAModule])
def test_a_state_with_hidden_parts_is_rejected(broken):
    with pytest.raises((AssertionError, TypeError)):
        check_pickles(broken())


@for_each("broken", [RemembersOutside, HoldsAModule, HidesANumber])
def test_a_state_that_its_text_does_not_hold_is_rejected(broken):
    with pytest.raises((AssertionError, InvalidValue)):
        check_text(broken())


def test_reading_what_was_not_written_is_rejected(monkeypatch):
    monkeypatch.setattr(rules, "state_from_text", lambda policy, k, goal, text: policy.init(k, goal))
    with pytest.raises(AssertionError, match="it read"):
        check_refuses_damage(Plain())
    with pytest.raises(AssertionError, match="decides otherwise"):
        check_text(Plain())


@pytest.mark.slow
def test_random_numbers_of_its_own_are_rejected():
    check_repeats(lambda: drive(Plain()))
    with pytest.raises(AssertionError, match="two different runs"):
        check_repeats(lambda: drive(DrawsItsOwnNumbers()))


@pytest.mark.slow
def test_a_favourite_arm_is_rejected():
    with pytest.raises(AssertionError, match="two distributions"):
        check_relabelling(PrefersArmZero())


@pytest.mark.slow
def test_serving_arms_in_the_order_of_their_numbers_is_rejected():
    check_serves_few_users_alike(Plain())
    with pytest.raises(AssertionError, match="another distribution"):
        check_serves_few_users_alike(ServesInOrder())


@pytest.mark.slow
def test_a_deck_whose_last_arms_are_dealt_first_is_rejected(monkeypatch):
    monkeypatch.setattr(deck, "share", mutant(deck.share, " + u)", ")"))
    deck.make_deal_kernel.cache_clear()
    with pytest.raises(AssertionError, match="another distribution"):
        check_serves_few_users_alike(P.ContemporaneousKLUCB())
    deck.make_deal_kernel.cache_clear()


def test_a_kernel_that_the_compiler_changes_is_rejected():
    where = RAW, THREE, 100
    with pytest.raises(AssertionError):
        check_engine(AddsInPairs(), interpreted(AddsInPairs(), *where), *where, seed=0)


def test_ignoring_what_was_told_is_rejected():
    found = interpreted(NeverAdapts(), RAW, mb.Bernoulli([0.05, 0.95, 0.05]), 200)
    with pytest.raises(AssertionError, match="did not find"):
        check_finds(1, np.array([found.pulls]), np.array([found.releases]))
