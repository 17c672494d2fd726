"""Races: the tree says what looking at all arms says, and policies that skip arms decide as if they skipped none.

Seeds are fixed; no assertion is of a random quantity.
"""

import itertools
import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.law import BINARY, LAPLACE, NO_NOISE, Law
from maskedbandit.policies.parts import race
from maskedbandit.policies.parts.race import begin_race, bound_rivals, build_tree, change_leader, enter_bound
from maskedbandit.policies.regret import dpucb, ucb1
from tests.for_each import for_each
from tests.policies.mutants import mutant

UCB1, DPUCB = mb.policies.UCB1, mb.policies.DPUCB
STEPS = 4000
TREE = Law(LAPLACE, scale=3.0, grid=1, counter=BINARY)


def highest_of(bounds) -> float:
    return max(bounds, default=-math.inf)


@for_each("k", [1, 2, 3, 4, 5])
def test_the_tree_knows_the_highest_bound_and_that_of_all_others(k):
    """All orders and ties of three values, entered one by one and built at once, and every change of one arm."""
    for bounds in itertools.product((-1.0, 0.25, 0.5), repeat=k):
        entered, built = begin_race(k), begin_race(k)
        for arm, bound in enumerate(bounds):
            enter_bound(entered, arm, bound)
            built.high[built.high.size // 2 + arm] = bound
        build_tree(built)
        assert entered.high[1:].tolist() == built.high[1:].tolist()
        for arm, new in itertools.product(range(k), (-2.0, 0.25, 0.75)):
            changed = [*bounds[:arm], new, *bounds[arm + 1 :]]
            assert built.high[1] == highest_of(bounds)
            leader = change_leader(built, arm, new)
            assert changed[leader] == highest_of(changed)
            rivals = highest_of(bound for a, bound in enumerate(changed) if a != leader)
            assert built.rival[0] == rivals == bound_rivals(built, leader)
            enter_bound(built, arm, bounds[arm])


def highest_index(s, t: int) -> int:
    """The first arm of the highest index, all of them computed."""
    spread, log = math.sqrt(2 * math.log(t)), math.log(t)
    if isinstance(s, ucb1.State):
        return int(np.argmax([s.mean[a] + spread * s.width[a] for a in range(s.n.size)]))
    return int(np.argmax([s.mean[a] + spread * s.root[a] + log * s.inverse[a] for a in range(s.n.size)]))


def check_decisions(policy, law: Law, k: int, seed: int, late: int, ask=None) -> int:
    """Every decision is that of looking at all arms; how many were made without. Rewards have few values, for ties,
    come up to `late` pulls later, and some are of arms that were not asked for."""
    s, rng, flying, skipped = policy.init(k, STEPS), np.random.default_rng(seed), [], 0
    rule, means = ask or policy.ask, np.round(rng.random(k), 1)
    for t in range(1, STEPS + 1):
        told, span = int(s.asked[1]) == k, int(s.race.left[0])
        changed = [a for a in range(k) if isinstance(s, dpucb.State) and s.changed[a] == 1]
        before = s.race.high.copy()
        arm = rule(s, law, rng).arm
        if told:
            for a in changed:
                dpucb.refresh_index(s, law, a)
            assert arm == highest_index(s, t), f"pull {t}"
            skipped += span > 0 and s.race.left[0] == span - 1 and np.array_equal(before, s.race.high)
        flying.append((t + int(rng.integers(0, late + 1)), arm))
        if rng.random() < 0.002:
            flying.append((t, int(rng.integers(k))))
        for due in [each for each in flying if each[0] <= t]:
            flying.remove(due)
            policy.tell(s, due[1], 1, float(rng.random() < means[due[1]]) * (1 + (seed == 3)))
    return skipped


def check_seeds(policy, late: int, ask=None) -> None:
    for seed in range(8):
        check_decisions(policy, Law(NO_NOISE), 3, seed, late, ask)


CASES = [(k, late) for k in (1, 2, 3, 17, 24) for late in (0, 3)]


@pytest.mark.slow
@for_each(("k", "late"), CASES)
def test_ucb1_decides_as_if_it_looked_at_all_arms(k, late):
    assert check_decisions(UCB1(), Law(NO_NOISE), k, k % 4, late) > STEPS // 10


@pytest.mark.slow
@for_each(("k", "late"), CASES)
def test_dpucb_decides_as_if_it_looked_at_all_arms(k, late):
    for policy, law in ((DPUCB(), Law(NO_NOISE)), (DPUCB(), TREE), (DPUCB(interval="chapelle-li"), TREE)):
        check_decisions(policy, law, k, k % 4, late)


def test_bounds_that_do_not_grow_are_rejected():
    """Negative control: rivals whose bounds are those of the first pull of a span."""
    compare = mutant(ucb1.compare_arms, span_bounds=mutant(race.span_bounds, "last * (1 + ROUNDING)", "first"))
    with pytest.raises(AssertionError, match="pull"):
        check_seeds(UCB1(), 0, mutant(UCB1.ask, compare_arms=compare))


def test_releases_of_rivals_that_are_overlooked_are_rejected():
    """Negative control: a late release of another arm that the race is not told of."""

    class Overlooking(UCB1):
        tell = mutant(UCB1.tell, "s.race.left[0] > 0 and arm", "s.race.left[0] < 0 and arm")

    with pytest.raises(AssertionError, match="pull"):
        check_seeds(Overlooking(), 3)
