"""For live studies, where days differ: arms are compared over the same users only.

Users come in epochs (see epochs.py): a leader and all challengers that may still be better share a stretch of users,
whose places are dealt in random order. With I_c the evidence against challenger c from all epochs that it shares with
the leader L, n_c its users whose rewards were released and m_c those in flight,

    f_c = ln(1 + 3 T / (4 (n_c + m_c))  min{1, T / (100 K n₁)}),

n₁ of each arm in the first epoch: less where the first epoch takes more than a hundredth of the horizon, as in
NoiseAwareKLUCB. c is a challenger while I_c (n_c + m_c) / n_c ≤ f_c: users in flight count as if they showed what the
others did. Where Laplace noise of scale 1/2 or more is added to whole sums of bits, I_c is by a bet
[parts/pair_bet.py], at the level that it has to reach: with j epochs that both arms share,

    g = f_c + ln(max{1, n₁ / 10}) / j,      l = g n_c / (n_c + m_c),      I_c = (f_c / g) max{0, Λ + l}² / (4 l),

so that c is ruled out where Λ > l; in a normal model that is the evidence of the best of all bets. Elsewhere it is that
of a Chernoff bound [parts/epochs.py]. A challenger gets

    min{(ratio − 1) n_c + m_c / 10,  max{n_c / 20, .35 (n_c f_c / I_c − n_c − m_c)}}

places, at least three tenths of the first size, and the leader as many as the largest challenger, times a lead of

    min{1.2 exp(.8 min_c I_c), 20}:

its places cost nothing if it is the best arm, and make its side of the comparison precise; a wrong leader is about as
unlikely as exp(−min_c I_c). The leader is the arm whose worst standardized difference to another one is highest. If
there is no challenger, the leader is served.

The first epoch gives every arm the least n ≥ 5/2 radius(noise of one release, f). Until it is released further epochs
are larger: three times its size, or a tenth of what is in flight, as each brings noise of its own. Later, while
anything is in flight, arms are challengers only if I_c is below a third of what rules them out: what is in flight may
rule them out anyway.

The policy is this project's own. **Not proved**: a bound on the regret. Sizes depend on releases, and the variance is
estimated, so bets are fair, and the Chernoff bound holds, only in approximation; docs/contemporaneous.md says what was
measured and what was tried.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_cohort
from maskedbandit.core import WAIT, Decision, large_kernel, lean_kernel
from maskedbandit.law import Law, is_laplace
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.batches import check_ratio
from maskedbandit.policies.parts.choice import NONE_YET, weigh_arm
from maskedbandit.policies.parts.epochs import (
    NEXT,
    Flight,
    Pairs,
    begin_flight,
    begin_pairs,
    epoch_evidence,
    fold_epochs,
    free_row,
    launch_epoch,
    next_of_plan,
    standardize_sum,
    store_arrival,
    unlike_size,
)
from maskedbandit.policies.parts.pair_bet import MOST_EPOCHS, KeptEpochs, begin_kept, bet_on_order, keep_epochs
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.likelihood import is_known

LEADER, EPOCHS, ASKED, RELEASED = range(1, 5)
QUIET_RADII = 2.5  # first cohorts, in radii of the noise
LEAST_LEAD, STEEPNESS, LARGEST_LEAD = 1.2, 0.8, 20.0  # of the leader over a challenger
AIM = 0.35  # the part of the users that are missing, at the rate so far
LEAST_STEP, LEAST_PART = 0.05, 0.3  # of an arm's users, and of its first cohort
BLIND, FLYING = 3, 0.1  # cohorts before the first release: in first cohorts, and in users in flight
SHORT = 100.0  # times the users in the first epoch: f is lower where the horizon is shorter
REST_OF_HORIZON = 0.75  # of the horizon, in the evidence that rules an arm out
AFFORDED = 10.0  # users that a bet may cost in the mean by failing at the first epoch
LEAST_NOISE = 0.5  # its scale, where bets were computed to be fair: epsilon = 2 under central trust
HASTE = 3.0  # times the evidence that rules out a challenger while something is in flight


class State(NamedTuple):
    """What was released, what is in flight, and the epoch that is being asked for."""

    total: np.ndarray  # [k] released
    n: np.ndarray  # [k] rewards in it
    flying: np.ndarray  # [k] users in flight
    against: np.ndarray  # [k] evidence against each arm
    judged: np.ndarray  # [3, k] the leader that it is for, and `n` and `flying` then: while they stay, it stays
    plan: np.ndarray  # [k] sizes of the epoch's cohorts
    pairs: Pairs
    kept: KeptEpochs
    flight: Flight
    clock: np.ndarray  # [5] next arm of the plan, leader or -1, epochs so far, users asked for, epochs released
    horizon: int
    ratio: float
    least: int


@large_kernel
@lean_kernel
def level(horizon: int, k: int, users: float, first: int) -> float:
    """f, for an arm with so many users, after a first epoch of so many for each."""
    return math.log1p(REST_OF_HORIZON * horizon / users * min(1.0, horizon / (SHORT * k * max(1, first))))


@large_kernel
@lean_kernel
def first_size(horizon: int, k: int, least: int, law: Law) -> int:
    """Users of every arm in the first epoch."""
    most = max(least, horizon // k)
    low, high = least - 1, least
    while high < most and high < QUIET_RADII * radius(law, 1, high, level(horizon, k, float(high), high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if middle >= QUIET_RADII * radius(law, 1, middle, level(horizon, k, float(middle), middle)):
            high = middle
        else:
            low = middle
    return min(high, most)


@large_kernel
@lean_kernel
def against(s: State, law: Law, first: int, c: int, leader: int) -> float:
    """I_c."""
    epochs, n, m, shared = s.clock[RELEASED], float(s.n[c]), float(s.flying[c]), 0
    by_bet = is_laplace(law) and is_known(law) and law.scale >= LEAST_NOISE
    if not by_bet or epochs > MOST_EPOCHS or s.pairs.weight[c, leader] == 0.0:
        return epoch_evidence(s.pairs, law, c, leader)
    for e in range(epochs):
        shared += s.kept.n[e, c] > 0 and s.kept.n[e, leader] > 0
    f = level(s.horizon, s.n.size, n + m, first)
    needed = f + math.log(max(1.0, first / AFFORDED)) / shared
    so_far = needed * n / (n + m)
    more = max(0.0, bet_on_order(s.pairs, s.kept, epochs, law, c, leader, so_far) + so_far)
    return f / needed * more * more / (4 * so_far)


@large_kernel
@lean_kernel
def judge(s: State, law: Law, rng: np.random.Generator) -> None:
    """Find the leader, and the evidence against all others."""
    k, best = s.n.size, NONE_YET
    first = first_size(s.horizon, k, s.least, law)
    for a in range(k):
        # the best so far comes first: most arms lose to it at once, and do not lead however much worse they are
        worst = standardize_sum(s.pairs, law, a, best.arm) if best.arm >= 0 else math.inf
        for c in range(k):
            if best.arm >= 0 and worst < best.value:
                break
            if c != a:
                worst = min(worst, standardize_sum(s.pairs, law, a, c))
        best = weigh_arm(best, a, worst, rng)
    s.clock[LEADER] = best.arm
    for c in range(k):
        leader, n, flying = s.judged[:, c]
        if leader != best.arm or n != s.n[c] or flying != s.flying[c] or s.clock[RELEASED] > MOST_EPOCHS:
            s.against[c] = 0.0 if c == best.arm else against(s, law, first, c, best.arm)
            s.judged[0, c], s.judged[1, c], s.judged[2, c] = best.arm, s.n[c], s.flying[c]


@large_kernel
@lean_kernel
def challengers(s: State, law: Law) -> bool:
    """Plan an epoch of the leader and its challengers; False if there is none."""
    k, leader, flying = s.n.size, s.clock[LEADER], 0
    first = first_size(s.horizon, k, s.least, law)
    for a in range(k):
        flying += s.flying[a]
        s.plan[a] = 0
    weakest, largest, haste = math.inf, 0, HASTE if flying > 0 else 1.0
    for c in range(k):
        n, m = float(s.n[c]), float(s.flying[c])
        f, against = level(s.horizon, k, n + m, first), s.against[c]
        if c != leader and haste * against * (n + m) <= f * n:
            size = (s.ratio - 1) * n + FLYING * m
            if against > 0.0:
                size = min(size, max(LEAST_STEP * n, AIM * (n * f / against - n - m)))
            s.plan[c] = max(s.least, math.ceil(max(size, LEAST_PART * first)))
            weakest, largest = min(weakest, against), max(largest, s.plan[c])
    s.plan[leader] = (
        math.ceil(min(LARGEST_LEAD, LEAST_LEAD * math.exp(min(STEEPNESS * weakest, 50.0))) * largest)
        if largest > 0
        else 0
    )
    return largest > 0


@large_kernel
@lean_kernel
def begin_epoch(s: State) -> bool:
    """Put the planned epoch in flight; False if it cannot end by the horizon, or too many are in flight."""
    row, users = free_row(s.flight), 0
    if row < 0:
        return False
    for a in range(s.n.size):
        if s.plan[a] > 0:
            s.plan[a] = unlike_size(s.flight, a, s.plan[a])
            users += s.plan[a]
    if s.clock[ASKED] + users > s.horizon and s.clock[EPOCHS] > 0:
        return False
    s.clock[ASKED] += users
    s.clock[EPOCHS] += 1
    launch_epoch(s.flight, row, s.clock[EPOCHS], s.plan, s.flying)
    s.clock[NEXT] = 0
    return True


@dataclass(frozen=True)
class ContemporaneousKLUCB(Policy):
    """For live studies: rewards may be late, and days may differ, as long as they differ alike for all arms.

    `ratio` is the largest growth of an arm's users in an epoch, `least` the smallest cohort.

    >>> from maskedbandit.law import LAPLACE
    >>> s, rng = ContemporaneousKLUCB().init(k=2, horizon=10**6), np.random.default_rng(1)
    >>> law = Law(LAPLACE, scale=10.0, grid=1, per_release=1)
    >>> [ContemporaneousKLUCB.ask(s, law, rng) for _ in range(2)]
    [Decision(arm=0, n=206, close=2), Decision(arm=1, n=206, close=1)]
    """

    goal = "regret"

    ratio: float = 1.7
    least: int = 1

    def __post_init__(self) -> None:
        check_ratio(self.ratio)
        check_cohort("least", self.least)

    def init(self, k: int, horizon: int) -> State:
        n, flying, plan = np.zeros((3, k), np.int64)
        clock = np.array([k, -1, 0, 0, 0])
        judged = np.full((3, k), -1)
        known = np.zeros(k), n, flying, np.zeros(k), judged, plan, begin_pairs(k), begin_kept(k), begin_flight(k), clock
        return State(*known, horizon, float(self.ratio), int(self.least))

    @staticmethod
    @large_kernel
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if s.clock[NEXT] < s.n.size:
            return next_of_plan(s.plan, s.clock)
        s.clock[RELEASED] = keep_epochs(s.kept, s.flight, s.clock[RELEASED])
        if fold_epochs(s.pairs, law, s.flight, s.n, s.total, s.flying) > 0:
            judge(s, law, rng)
        if s.clock[LEADER] >= 0:
            return (
                next_of_plan(s.plan, s.clock)
                if challengers(s, law) and begin_epoch(s)
                else Decision(int(s.clock[LEADER]), 0, 0)
            )
        first = first_size(s.horizon, s.n.size, s.least, law)
        for a in range(s.n.size):
            s.plan[a] = first if s.clock[EPOCHS] == 0 else max(BLIND * first, math.ceil(FLYING * s.flying[a]))
        return next_of_plan(s.plan, s.clock) if begin_epoch(s) else WAIT

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        store_arrival(s.flight, arm, n, total)
