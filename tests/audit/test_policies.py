"""Every multi-armed policy, through the engine: one reward enters one release, and one release has one noise.

A run is played again on other tables with its decisions forced to be the same, so that only the sums that reach the
channel can differ. Each rule is exact, and stands next to a broken engine that it must reject.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import TOGETHER, Decision
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.policies.policy import Policy
from maskedbandit.reports.audit.runs import AuditedRun, Twin, break_nothing, count_twice, keep_sums, play_audited_run
from tests.audit.twins import deal_again, draw_twice, earn_twice, keep_rewards, release_unfinished
from tests.for_each import for_each
from tests.golden import MULTI_ARMED, channel_for
from tests.thrift import thrifty

USERS, ARMS = 250, 3
OTHERS = tuple(tuple(float((7 * t + 3 * arm) % 5 < 2) for arm in range(ARMS)) for t in range(USERS))


# Those that learn from every single user: their tests take longest.
DEAR = {
    "capped_thompson",
    "dp_thompson",
    "dpucb",
    "dpucb_int",
    "gaussian_thompson",
    "klucb",
    "ldp_ucb",
    "thompson_sampling",
    "ucb1",
}

each_policy = for_each("name", thrifty(MULTI_ARMED, lambda name: name in DEAR))
each_delay = for_each("late", [0, 9])  # users who come before a closed cohort is released: so several are in flight


def run(
    policy: Policy, rows: Any, forced: Sequence[Decision] = (), twin: Twin = break_nothing, delay: Delay = AT_ONCE
) -> AuditedRun:
    return play_audited_run(
        policy, channel_for(policy), rows, np.random.Generator(np.random.PCG64(3)), forced, twin, delay
    )


def changed(t: int) -> tuple[tuple[float, ...], ...]:
    """The table with the rewards of one user turned over."""
    return (*OTHERS[:t], tuple(1 - reward for reward in OTHERS[t]), *OTHERS[t + 1 :])


def due(found: AuditedRun, horizon: int, wait: int) -> list[tuple[int, list[int]]]:
    """Arm and users of the cohorts that were closed so many users before the users ran out, and not later."""
    cohorts, deck, users = [], [], [[] for _ in range(ARMS)]
    for (arm, n, close), start in zip(found.decisions, found.starts, strict=True):
        if n == 0:  # nobody is asked for
            continue
        deck.append((arm, n, close))
        if close == TOGETHER:
            continue
        end = start + sum(n for _, n, _ in deck)
        if end > horizon:
            break
        for arm, _, close in deck:
            users[arm] += [t for t in range(start, end) if found.arms[t] == arm]
            if close:
                if end + wait <= horizon:
                    cohorts.append((arm, users[arm]))
                users[arm] = []
        deck.clear()
    return cohorts


def check_sensitivity(policy: Policy, twin: Twin = break_nothing, delay: Delay = AT_ONCE) -> None:
    """The reward of a user moves one sum by one, that of the user's cohort, if it is released."""
    first = run(policy, OTHERS, twin=twin, delay=delay)
    cohorts = due(first, USERS, delay.parameters().longest)
    for t in (*range(6), *range(6, USERS, 41), USERS - 1):
        again = run(policy, changed(t), first.decisions, twin, delay)
        moved = [abs(x - y) for (_, _, x), (_, _, y) in zip(first.sums, again.sums, strict=True)]
        own = [float(t in users) for _, users in cohorts]
        assert moved == own, f"the reward of user {t} moves released sums by {moved}"


def check_draws(policy: Policy, twin: Twin = break_nothing, delay: Delay = AT_ONCE) -> None:
    """A release has one draw of noise, and is told once."""
    found = run(policy, OTHERS, twin=twin, delay=delay)
    assert found.draws == found.releases == len(found.sums) == len(found.released), f"{found.draws} draws of noise"


def check_unfinished(policy: Policy, twin: Twin = break_nothing, delay: Delay = AT_ONCE) -> None:
    """Wherever the users run out: the cohorts that were due before are released, whole, and nothing else is."""
    for horizon in (1, 2, 3, 10, 37, 100, 223, USERS):
        found = run(policy, OTHERS[:horizon], twin=twin, delay=delay)
        whole = [(arm, len(users)) for arm, users in due(found, horizon, delay.parameters().longest)]
        assert [release[:2] for release in found.sums] == whole, f"not whole cohorts, of {horizon} users"


@each_policy
@each_delay
def test_a_reward_enters_one_release(name, late):
    check_sensitivity(mb.policies.room[name](), delay=mb.delays.Constant(late))


@each_policy
@each_delay
def test_a_release_has_one_draw_of_noise(name, late):
    check_draws(mb.policies.room[name](), delay=mb.delays.Constant(late))


@each_policy
@each_delay
def test_an_unfinished_cohort_is_not_released(name, late):
    check_unfinished(mb.policies.room[name](), delay=mb.delays.Constant(late))


# --- broken engines ------------------------------------------------------------------------------------------

PLAIN = mb.policies.UCB1()


@pytest.mark.sparing(1)
@pytest.mark.parametrize("twin", [keep_sums, count_twice, keep_rewards, earn_twice])
def test_a_reward_that_is_released_again_or_twice_is_rejected(twin):
    check_sensitivity(PLAIN)
    with pytest.raises(AssertionError, match="moves released sums"):
        check_sensitivity(PLAIN, twin)


def test_rewards_that_are_released_again_in_the_next_phase_are_rejected():
    policy = mb.policies.PooledElimination()
    check_sensitivity(policy)
    with pytest.raises(AssertionError, match="moves released sums"):
        check_sensitivity(policy, deal_again)


def test_noise_that_is_drawn_again_is_rejected():
    check_draws(PLAIN)
    with pytest.raises(AssertionError, match="draws of noise"):
        check_draws(PLAIN, draw_twice)


def test_an_unfinished_cohort_that_is_released_is_rejected():
    check_unfinished(PLAIN)
    policy = mb.policies.SuccessiveElimination(unfinished="start")
    check_unfinished(policy)
    with pytest.raises(AssertionError, match="not whole"):
        check_unfinished(policy, release_unfinished)
