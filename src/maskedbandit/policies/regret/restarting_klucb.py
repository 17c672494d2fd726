"""For arms that change: noise-aware KL-UCB in windows, and a new window as soon as an arm is seen to have changed.

In each window the policy is NoiseAwareKLUCB [noise_aware_klucb.py] with the window's length as horizon, and knows the
releases of this window only. A window ends, and all that it knows is forgotten,

* when its users are over: with `window` they are so many; else the j-th window after a change, or after the start, has
  j s users, s = 50 K max{users in a first cohort, 40}, so that the users who are spent on looking again grow only as
  the square root of all users;
* when an arm has changed: of its releases in this window, the last 1, 2, 3, 4, 5, 7, ... contradict those before them
  at the level 15 [theory/chernoff.py], which without a change has probability ≤ 32 e⁻¹⁵ in each test. Then windows
  are short again.

So that a change shows soon, a cohort has at most as many users as a first one, or a fortieth of the window.

With windows of W users, T in all, means that change at C times, and R a bound on the regret of a window without change,

    regret ≤ (T / W + 1 + C) R / (1 − .01 K) + C V,

if K < 100, rewards are not late and nobody drops out; V is W, the first cohorts, and what the last one may add. The
policy is this project's own, after [BKMS22]; docs/changing_arms.md has the proof, the same for windows that grow, what
noise adds, and what is lost where nothing changes.

Rewards that are still on their way when a window ends teach nothing: as many releases of an arm as it had in flight are
dropped. Until every arm has a release in the new window users are spread evenly, so without `window` the j-th window
has at least 10 j times as many users as came until then.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_cohort
from maskedbandit.core import Decision, Floats, kernel, large_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.batches import EARLY, FURTHER, USERS, all_released, first_cohort, grow_arm
from maskedbandit.policies.policy import Policy, means_of
from maskedbandit.policies.regret import noise_aware_klucb
from maskedbandit.policies.regret.noise_aware_klucb import (
    FIRST_BATCH,
    MOST_KEPT,
    NoiseAwareKLUCB,
    add_release,
    choose_arm,
    first_batch,
)
from maskedbandit.theory.chernoff import Sum, has_changed

NUMBER, LENGTH, END, BEGAN = range(4)
COHORTS, QUICK = 50, 40  # users of the first window: so many cohorts for each arm, of so many users at least
WINDOW_PARTS = 40  # of a window: the largest cohort
RESTART_PATIENCE = 10  # times the users before the first releases: the least window, for each that has no change
SURE = 15.0  # nats: a change is found
RATIO = 1.5


class State(NamedTuple):
    """What was released in this window, and where it ends."""

    known: noise_aware_klucb.State  # its horizon is not used: see `within`
    old: np.ndarray  # [k] cohorts in flight since before this window
    tested: np.ndarray  # [k] releases when they were tested last
    clock: np.ndarray  # [4] number of the window since a change, its users, user after it or 0, users before it
    horizon: int
    window: int  # users in each; 0: they grow


@kernel
def within(s: State, horizon: int) -> noise_aware_klucb.State:
    """The state of the policy for so many users."""
    of = s.known
    return noise_aware_klucb.State(
        of.total,
        of.n,
        of.totals,
        of.users,
        of.asked,
        of.flight,
        of.m,
        of.value,
        of.clock,
        horizon,
        of.anytime,
        of.ratio,
        of.least,
    )


@kernel
def renew(s: State, law: Law, number: int) -> None:
    """Begin a new window: the first, the second, ... since a change."""
    of = s.known
    length = s.window
    if length == 0:
        length = number * COHORTS * of.n.size * max(first_batch(within(s, s.horizon), law), QUICK)
    s.clock[NUMBER], s.clock[BEGAN], s.clock[END] = number, of.clock[USERS], 0
    left = s.horizon - of.clock[USERS]
    s.clock[LENGTH] = min(length, left if left > 0 else s.horizon)  # more users than planned: as if planned again
    for a in range(of.n.size):
        s.old[a] += of.flight[a]
        of.total[a], of.value[a] = 0.0, math.nan
        of.n[a], of.asked[a], of.flight[a], of.m[a], s.tested[a] = 0, 0, 0, 0, 0


@kernel
def arm_changed(s: State, law: Law, arm: int) -> bool:
    """Whether the last releases of an arm contradict those before."""
    of, m, x, n, due = s.known, s.known.m[arm], 0.0, 0, 1
    for late in range(1, m):
        x, n = x + of.totals[arm, m - late], n + of.users[arm, m - late]
        if late == due:
            due = max(late + 1, math.floor(1.4 * late))
            before = Sum(of.total[arm] - x, m - late, of.n[arm] - n)
            if has_changed(law, before, Sum(x, late, n), SURE):
                return True
    return False


@large_kernel
def any_changed(s: State, law: Law) -> bool:
    """Whether an arm has changed, by its releases since the last test."""
    for a in range(s.tested.size):
        m = s.known.m[a]
        if s.tested[a] < m <= MOST_KEPT:
            s.tested[a] = m
            if arm_changed(s, law, a):
                return True
    return False


@dataclass(frozen=True)
class RestartingKLUCB(Policy):
    """For arms that may change in different ways: it forgets what it learned now and then, and after each change.

    `window` is the number of users after which it is forgotten; without it windows are short after a change, and grow
    while nothing changes. `least` is the smallest cohort.

    >>> from maskedbandit.law import LAPLACE
    >>> s = RestartingKLUCB().init(k=2, horizon=10**6)
    >>> RestartingKLUCB.ask(s, Law(LAPLACE, scale=10.0, grid=1, per_release=1), np.random.default_rng(1))
    Decision(arm=1, n=91, close=1)
    """

    goal = "regret"

    window: int | None = None
    least: int = 1

    def __post_init__(self) -> None:
        if self.window is not None:
            check_cohort("window", self.window)
        check_cohort("least", self.least)

    def init(self, k: int, horizon: int) -> State:
        known = NoiseAwareKLUCB(ratio=RATIO, least=self.least).init(k, horizon)
        old, tested, clock = (np.zeros(size, np.int64) for size in (k, k, 4))
        return State(known, old, tested, clock, int(horizon), int(self.window or 0))

    def means(self, s: State) -> Floats:
        return means_of(s.known.total, s.known.n)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        told = all_released(s.known.n)
        if s.clock[NUMBER] == 0 or (told and any_changed(s, law)):
            renew(s, law, 1)
        elif told and 0 < s.clock[END] <= s.known.clock[USERS]:
            renew(s, law, s.clock[NUMBER] + 1)
        if s.clock[END] == 0 and all_released(s.known.n):
            if s.window == 0:
                early = s.known.clock[USERS] - s.clock[BEGAN]
                s.clock[LENGTH] = max(s.clock[LENGTH], RESTART_PATIENCE * s.clock[NUMBER] * early)
            s.clock[END] = s.known.clock[USERS] + s.clock[LENGTH]
        of = within(s, s.clock[LENGTH])
        if not all_released(of.n):
            users = of.clock[FIRST_BATCH] = first_batch(of, law)
            return first_cohort(of, users, FURTHER * users, EARLY, rng)
        most = max(of.clock[FIRST_BATCH], s.clock[LENGTH] // WINDOW_PARTS)
        best = choose_arm(of, law, rng)
        of.value[best] = math.nan
        return grow_arm(of, best, max(min(RATIO, 1 + most / of.asked[best]), 1 + of.least / of.asked[best]))

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if s.old[arm] > 0:
            s.old[arm] -= 1
        else:
            add_release(s.known, arm, n, total)
