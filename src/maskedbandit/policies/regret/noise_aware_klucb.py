"""KL-UCB that accounts for the noise: upper confidence bounds for rewards and noise together, on all releases.

Arms are played in batches (see batches.py), all releases count, and the arm with the largest index gets the next batch.
The index of an arm is an upper confidence bound of its mean at the level

    f = ln(1 + T / n_a  min{1, T / (20 max{10, K} K n₁)}),      n_a its users, n₁ those in its first batch:

* where the likelihood of the releases is known, by one bet against every candidate mean [theory/bet.py]: noise of known
  distribution that is added to whole sums of bits; where users may be lost with their noise, every release costs a
  bet what `log_allowance` says;
* elsewhere, or with `anytime`, by a Chernoff bound [theory/chernoff.py]: for every noise whose moments are bounded, and
  without noise, where it is KL-UCB.

Both lie below the mean with probability ≤ exp(−f), for each n, whatever other arms do. The channel's `failure` is added
for each sum that may wrap around its modulus. The policy is this project's own; docs/noise_aware_klucb.md has the
proofs.

A bound that fails when an arm has n users costs at most the T users that follow, and the next batch has about n users:
hence ln(1 + T / n). Where the horizon is short, first batches alone take a good part of it, and a run that loses its
best arm costs little more than one that does not: hence less where T is below two hundred times all first batches. With
K above ten it is less below 20 K times these: a lower level spares users of K − 1 arms, while the bound of only one of
them, if it fails, costs the best arm. Bets are at the level f + ln(max{1, n₁ / 100}) / m after m batches, the first of
n₁ users: where n₁ is large because noise is, one run in thousands would lose its best arm for good otherwise. With
`anytime` f is ln t, and the horizon is not used: there the bound holds for each t, but no bound on the regret is
proved, as times depend on releases.

With late rewards the bound is computed as if users in flight had shown what those before did (see batches.py). It is
then no bound at its probability until those are released, and no bound on the regret is proved; docs/regret.md has what
delays cost.

The first batch of an arm is the least n ≥ 2 radius(noise of one release, f): in a smaller one the noise would exceed
half a reward per user. With pure ε on a central channel, n is near 2 ln(ε T) / ε.

Regret ≤ ratio Σ_a gap_a ln T / d_ε(μ_a, μ*) + o(ln T) under central or distributed pure ε, if no gap is above ratio / 2
and no sum wraps around: the lower bound for bits times the factor `ratio` [AWHOIB25, docs/noise_aware_klucb.md].
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_cohort
from maskedbandit.core import Decision, kernel, large_kernel, lean_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.batches import (
    EARLY,
    FURTHER,
    USERS,
    all_released,
    check_ratio,
    close_cohort,
    first_cohort,
    grow_arm,
)
from maskedbandit.policies.parts.choice import pick_highest
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.bet import bet_bound
from maskedbandit.theory.chernoff import chernoff_bound
from maskedbandit.theory.likelihood import ArmReleases, is_known

MOST_KEPT = 64  # releases of one arm that are kept; with more, its index is the Chernoff bound
AFFORDED = 100.0  # users that a bound by bets may cost in the mean by failing at the first batch
SHORT = 20.0  # times the users in all first batches, and times the arms: the level is lower for shorter horizons
LEAST_ARMS = 10  # that count there
LARGEST_FIRST_BATCH = 2**50
FIRST_BATCH = 1  # of the clock


class State(NamedTuple):
    """What was released of each arm."""

    total: np.ndarray  # [k]
    n: np.ndarray  # [k] rewards in it
    totals: np.ndarray  # [k, MOST] of each release
    users: np.ndarray  # [k, MOST] rewards in it
    asked: np.ndarray  # [k] see batches.py
    flight: np.ndarray  # [k] see batches.py
    m: np.ndarray  # [k] releases in it
    value: np.ndarray  # [k] index; nan: to be computed
    clock: np.ndarray  # [2] see batches.py; users in each first batch
    horizon: int
    anytime: int
    ratio: float
    least: int


@kernel
def exploration_rate(s: State, n: int, n_1: int) -> float:
    """f, for an arm with n rewards, n_1 in its first batch; without noise close to that of KL-UCB++ [MG17]."""
    if s.anytime == 1:
        return math.log(s.clock[USERS] + 1.0)
    k = s.n.size
    return math.log1p(s.horizon / n * min(1.0, s.horizon / (SHORT * max(LEAST_ARMS, k) * k * max(1, n_1))))


@kernel
def kept_releases(s: State, a: int) -> ArmReleases:
    """The releases of an arm."""
    return ArmReleases(s.totals[a], s.users[a], s.m[a])


@kernel
def by_bets(s: State, law: Law, a: int) -> bool:
    """Whether the index of an arm is by bets."""
    return s.anytime == 0 and s.m[a] <= MOST_KEPT and is_known(law)


@kernel
def level(s: State, a: int) -> float:
    """The level that bets on the releases must reach, if users in flight will show the same as those before."""
    n_1 = s.clock[FIRST_BATCH]
    caution = math.log(max(1.0, n_1 / AFFORDED)) / s.m[a]
    return (exploration_rate(s, s.asked[a], n_1) + caution) * (s.n[a] / s.asked[a])


@kernel
def index(s: State, law: Law, a: int, most: float) -> float:
    """The upper confidence bound of an arm; if it is by bets, and larger than `most`, then `most`."""
    if by_bets(s, law, a):
        return bet_bound(law, kept_releases(s, a), s.n[a], level(s, a), most)
    n = s.asked[a]
    f = exploration_rate(s, n, s.clock[FIRST_BATCH])
    return chernoff_bound(law, s.total[a] * (n / s.n[a]), s.m[a] + s.flight[a], n, f)


@large_kernel
@lean_kernel
def choose_arm(s: State, law: Law, rng: np.random.Generator) -> int:
    """The arm with the largest index.

    If one index alone has to be computed, by bets, it does not matter how far it is above the largest of the others.
    """
    known, one, unknown = 0.0, -1, 0
    for a in range(s.n.size):
        if s.anytime == 1 or math.isnan(s.value[a]):
            one, unknown = a, unknown + 1
        else:
            known = max(known, s.value[a])
    if unknown == 1 and 0.0 < known < 1.0 and by_bets(s, law, one):
        value = index(s, law, one, known)
        if value >= known:
            return one
        s.value[one] = value
    else:
        for a in range(s.n.size):
            if s.anytime == 1 or math.isnan(s.value[a]):
                s.value[a] = index(s, law, a, 1.0)
    return pick_highest(s.value, rng)


@kernel
def quiet(s: State, law: Law, n: int) -> bool:
    """Whether the noise of a release of n rewards is below half a reward for each; with `anytime`, at the exploration
    rate after that cohort."""
    f = math.log1p(float(s.n.size) * n) if s.anytime == 1 else exploration_rate(s, n, n)
    return n >= 2 * radius(law, 1, n, f)


@large_kernel
@lean_kernel
def first_batch(s: State, law: Law) -> int:
    """Users in the first batch of every arm."""
    most = LARGEST_FIRST_BATCH if s.anytime == 1 else max(s.least, s.horizon // s.n.size)
    low, high, step = s.least - 1, s.least, 1
    while high < most and not quiet(s, law, high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if quiet(s, law, middle):
            high = middle
        else:
            low = middle
    return min(high, most)


@kernel
def add_release(s: State, arm: int, n: int, total: float) -> None:
    """Add a release to the state."""
    if s.m[arm] < MOST_KEPT:
        s.totals[arm, s.m[arm]] = total
        s.users[arm, s.m[arm]] = n
    s.total[arm] += total
    s.m[arm] += 1
    s.value[arm] = math.nan
    close_cohort(s, arm, n)


@dataclass(frozen=True)
class NoiseAwareKLUCB(Policy):
    """Optimism on all releases, under upper confidence bounds for rewards and noise together.

    `ratio` is the growth of batches, `least` the smallest cohort, `anytime` whether the horizon stays unused.

    >>> from maskedbandit.law import LAPLACE
    >>> s = NoiseAwareKLUCB().init(k=2, horizon=10**6)
    >>> NoiseAwareKLUCB.ask(s, Law(LAPLACE, scale=10.0, grid=1, per_release=1), np.random.default_rng(1))
    Decision(arm=1, n=174, close=1)
    """

    goal = "regret"

    ratio: float = 1.5
    least: int = 1
    anytime: bool = False

    def __post_init__(self) -> None:
        check_ratio(self.ratio)
        check_cohort("least", self.least)
        if not isinstance(self.anytime, bool):
            raise InvalidValue("anytime", self.anytime, "true or false")

    def init(self, k: int, horizon: int) -> State:
        n, asked, flight, m, clock = (np.zeros(size, np.int64) for size in (k, k, k, k, 2))
        settings = int(self.anytime), float(self.ratio), int(self.least)
        return State(
            np.zeros(k),
            n,
            np.zeros((k, MOST_KEPT)),
            np.zeros((k, MOST_KEPT), np.int64),
            asked,
            flight,
            m,
            np.full(k, math.nan),
            clock,
            horizon,
            *settings,
        )

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.n):
            users = s.clock[FIRST_BATCH] = first_batch(s, law)
            return first_cohort(s, users, FURTHER * users, EARLY, rng)
        best = choose_arm(s, law, rng)
        s.value[best] = math.nan
        return grow_arm(s, best, max(s.ratio, 1 + s.least / s.asked[best]))

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        add_release(s, arm, n, total)
