"""KL-UCB that accounts for the noise: one Chernoff bound for rewards and noise together, on all releases.

Arms are played in batches (see batches.py) and all releases count: X_a is the sum of all m_a released totals of arm
a, n_a the number of rewards in it. For rewards of mean q in [0, 1] and noise Z of those m releases

    P(X <= x) <= exp(-I(q)),    I(q) = sup over lam >= 0 of  -lam x - n ln(1 - q + q e^-lam) - ln E exp(lam Z),

and the arm with the largest index max{q : I(q) <= f} gets the next batch. Both parts of the bound are exact Chernoff
bounds, so for each n the index lies below the mean with probability <= exp(-f), for every distribution of rewards in
[0, 1] and on every channel whose noise has such moments. The channel's `failure` is added for each sum that may wrap
around its modulus. docs/noise_aware_klucb.md has the proofs. As I(q) <= f means that the exponent is <= f for every
lam, and exponent = f is solved for q in closed form, the index is

    min over lam of  (1 - exp(-(f + lam X + ln E exp(lam Z)) / n)) / (1 - e^-lam).

Randomized response adds no noise: there the bound is that of KL-UCB on the bits.

The exploration rate is f = ln(1 + T / n_a): a bound that fails when an arm has n users costs at most the T users that
follow, and the next batch has about n users. With `anytime` it is ln t, and the horizon is not used: there the bound
holds for each t, but no bound on the regret is proved, as times depend on releases.

With late rewards the bound is computed as if users in flight had shown the mean that was released, with the noise of
their releases (see batches.py). It is then no bound at its probability until those are released, and no bound on the
regret is proved; docs/regret.md has what delays cost.

The first batch of an arm is the least n >= 2 radius(noise of one release, f): in a smaller one the noise would exceed
half a reward per user. With pure epsilon on a central channel, n is near 2 ln(epsilon T) / epsilon.

Regret <= ratio sum_a gap_a ln T / d_epsilon(mu_a, mu*) + o(ln T) under central or distributed pure epsilon, if no gap
is above ratio / 2 and no sum wraps around: the lower bound for bits times the factor `ratio` [AWHOIB25,
docs/noise_aware_klucb.md].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.checks import check_cohort
from maskedbandit.core import Decision, kernel, large_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, radius
from maskedbandit.policies.parts.batches import EARLY, FURTHER, USERS, close, first, grow, ready
from maskedbandit.policies.parts.choice import highest
from maskedbandit.policies.parts.means import means_of
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.bet import bet_bound, evidence, shift
from maskedbandit.theory.chernoff import chernoff_bound
from maskedbandit.theory.likelihood import Releases, is_known

MOST = 64  # releases of one arm that are kept
FOREVER = 2**50


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
    clock: np.ndarray  # [1] see batches.py
    horizon: int
    anytime: int
    ratio: float
    least: int


@kernel
def exploration_rate(s: State, n: int) -> float:
    """f, for an arm with n rewards; without noise close to that of KL-UCB++ [MG17]."""
    return math.log(s.clock[USERS] + 1.0) if s.anytime == 1 else math.log1p(s.horizon / n)


@kernel
def releases(s: State, a: int) -> Releases:
    """The releases of an arm."""
    return Releases(s.totals[a], s.users[a], s.m[a])


@kernel
def bets(s: State, law: Law, a: int) -> bool:
    """Whether the index of an arm is by bets: the likelihood of its releases is known."""
    return is_known(law) and s.anytime == 0 and s.m[a] <= MOST


@kernel
def level(s: State, a: int) -> float:
    """The level of the bets, as if users in flight had shown what the others did."""
    return exploration_rate(s, s.asked[a]) * (s.n[a] / s.asked[a])


@kernel
def index(s: State, law: Law, a: int) -> float:
    """The upper confidence bound of an arm."""
    if bets(s, law, a):
        return bet_bound(law, releases(s, a), s.n[a], level(s, a))
    n = s.asked[a]
    return chernoff_bound(law, s.total[a] * (n / s.n[a]), s.m[a] + s.flight[a], n, exploration_rate(s, n))


@large_kernel
def choice(s: State, law: Law, rng: np.random.Generator) -> int:
    """The arm of the highest index."""
    unknown, last, high = 0, -1, 0.0
    for a in range(s.n.size):
        if s.anytime == 1 or math.isnan(s.value[a]):
            unknown, last = unknown + 1, a
        else:
            high = max(high, s.value[a])
    if unknown == 1 and 0.0 < high < 1.0 and bets(s, law, last):  # its index is at least that of all others
        q = high
        if evidence(law, releases(s, last), q, q - shift(law, s.m[last], s.n[last], level(s, last), q)) <= level(s, last):
            return last
    for a in range(s.n.size):
        if s.anytime == 1 or math.isnan(s.value[a]):
            s.value[a] = index(s, law, a)
    return highest(s.value, rng)


@kernel
def quiet(s: State, law: Law, n: int) -> bool:
    """Whether the noise of a release of n rewards is below half a reward for each; with `anytime`, at the exploration
    rate after that cohort."""
    f = math.log1p(float(s.n.size) * n) if s.anytime == 1 else exploration_rate(s, n)
    return n >= 2 * radius(law, 1, n, f)


@kernel
def smallest(s: State, law: Law) -> int:
    """Users in the first batch of every arm."""
    most = FOREVER if s.anytime == 1 else max(s.least, s.horizon // s.n.size)
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


@dataclass(frozen=True)
class NoiseAwareKLUCB(Policy):
    """Optimism on all releases, under a Chernoff bound for rewards and noise together.

    `ratio` is the growth of batches, `least` the smallest cohort, `anytime` whether the horizon stays unused.

    >>> from maskedbandit.law import LAPLACE
    >>> s = NoiseAwareKLUCB().init(k=2, horizon=10**6)
    >>> NoiseAwareKLUCB.ask(s, Law(LAPLACE, scale=10.0, grid=1, per_release=1), np.random.default_rng(1))
    Decision(arm=0, n=174, close=1)
    """

    goal = "regret"

    ratio: float = 1.5
    least: int = 1
    anytime: bool = False

    def __post_init__(self) -> None:
        if not 1 < self.ratio <= 100:
            raise InvalidValue("ratio", self.ratio, "a number above 1 and at most 100")
        check_cohort("least", self.least)
        if not isinstance(self.anytime, bool):
            raise InvalidValue("anytime", self.anytime, "true or false")

    def init(self, k: int, horizon: int) -> State:
        n, asked, flight, m, clock = (np.zeros(size, np.int64) for size in (k, k, k, k, 1))
        settings = int(self.anytime), float(self.ratio), int(self.least)
        return State(np.zeros(k), n, np.zeros((k, MOST)), np.zeros((k, MOST), np.int64), asked, flight, m, np.full(k, math.nan), clock, horizon, *settings)

    def means(self, s: State) -> npt.NDArray[np.float64]:
        return means_of(s.total, s.n)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not ready(s.n):
            users = smallest(s, law)
            return first(s, users, FURTHER * users, EARLY)
        best = choice(s, law, rng)
        s.value[best] = math.nan
        return grow(s, best, max(s.ratio, 1 + s.least / s.asked[best]))

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if s.m[arm] < MOST:
            s.totals[arm, s.m[arm]] = total
            s.users[arm, s.m[arm]] = n
        s.total[arm] += total
        s.m[arm] += 1
        s.value[arm] = math.nan
        close(s, arm, n)
