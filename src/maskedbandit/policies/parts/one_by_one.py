"""One user at a time, and Bernoulli rewards: what policies share that stop by a likelihood ratio.

Every arm is pulled once; then the policy waits for each release before the next decision, because its test is repeated
after every reward: for rewards that come late use a policy of phases or cohorts. Rewards are called coins here. On
randomized response they are the bits that users sent: 1 with probability f + (1 − 2f) r for a reward r, so their means
have the same order as those of the rewards. On the raw channel they are the rewards, bits or not.

The statistic against an arm is the likelihood ratio Z of thresholds.py, and there are three thresholds for it: "proved"
is the lowest that is proved there, "published" is ln(2 t (K − 1)/δ) [GK16], proved too, and "heuristic" is ln((1 + ln
t)/δ), which is **not proved** but is what papers use in experiments [GK16].
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from maskedbandit.core import WAIT, Decision, Floats, kernel, lean_kernel
from maskedbandit.law import Law, adds_noise, is_response
from maskedbandit.policies.parts.choice import pick_highest
from maskedbandit.policies.policy import Policy, means_of
from maskedbandit.theory.thresholds import highest_likelihood, redundancy

ASKED, RELEASED, LAST, BEST, RIVAL = range(5)
THRESHOLD_NAMES = ("proved", "published", "heuristic")
PROVED, PUBLISHED, HEURISTIC = range(3)


class SingleCounts(Protocol):
    """The state that every policy of single users has."""

    @property
    def total(self) -> np.ndarray: ...  # [k] released
    @property
    def n(self) -> np.ndarray: ...  # [k]
    @property
    def clock(self) -> np.ndarray: ...  # users asked for, users released, arm released last, and more


class Coins(NamedTuple):
    """Statistics of each arm's coins, and how certain the answer must be."""

    total: np.ndarray  # [k] released
    n: np.ndarray  # [k]
    ones: np.ndarray  # [k] sum of the coins
    mean: np.ndarray  # [k]
    likely: np.ndarray  # [k] highest log-likelihood
    log_n: np.ndarray  # [k]
    z: np.ndarray  # [k] Z of the best arm over this one
    clock: np.ndarray  # [5] as in Counts, then the arm that z is of, and the rival that failed the test last
    sure: float  # the part of the threshold that does not change
    threshold: int  # its index in THRESHOLDS


def begin_coins(k: int, delta: float, threshold: str) -> Coins:
    """The state before the first release."""
    sure = math.log((1 if threshold == "heuristic" else max(k - 1, 1)) / delta)
    total, ones, mean, likely, log_n, z = np.zeros((6, k))
    n, clock = np.zeros(k, np.int64), np.array([0, 0, 0, -1, 0])
    return Coins(total, n, ones, mean, likely, log_n, z, clock, sure, THRESHOLD_NAMES.index(threshold))


def lacks_coins(law: Law) -> str:
    """What a channel lacks for these policies."""
    return "rewards themselves, or one randomized bit of each user" if adds_noise(law) else ""


@kernel
def serve_one(s: SingleCounts, arm: int) -> Decision:
    """One user, whose reward is released at once."""
    s.clock[ASKED] += 1
    return Decision(int(arm), 1, 1)


@kernel
def none_due(s: SingleCounts) -> bool:
    """Whether every arm was pulled, and no release is awaited."""
    return s.clock[RELEASED] >= s.n.size and s.clock[RELEASED] == s.clock[ASKED]


@kernel
def first_pull(s: SingleCounts) -> Decision:
    """Every arm once; then wait."""
    return serve_one(s, s.clock[ASKED]) if s.clock[ASKED] < s.n.size else WAIT


@kernel
def add_reward(s: SingleCounts, arm: int, n: int, total: float) -> None:
    """Add a release to the statistics."""
    s.total[arm] += total
    s.n[arm] += n
    s.clock[RELEASED] += n
    s.clock[LAST] = arm


@kernel
def count_ones(law: Law, total: float, n: float) -> float:
    """The sum of the coins behind a released sum."""
    if is_response(law):
        return float(round(total * (1 - 2 * law.flip) + n * law.flip))  # whole, except for rounding errors
    return total


@kernel
def recount_arm(s: Coins, law: Law, a: int) -> None:
    """Bring up to date what depends on the releases of an arm."""
    n = float(s.n[a])
    s.ones[a] = count_ones(law, s.total[a], n)
    s.mean[a] = s.ones[a] / n
    s.likely[a] = highest_likelihood(s.ones[a], n)
    s.log_n[a] = math.log(n)


@kernel
def z_ratio(s: Coins, a: int, b: int) -> float:
    """Z of a over b; 0 if a does not look better than b."""
    z = 0.0
    if s.mean[a] > s.mean[b]:
        pooled = highest_likelihood(s.ones[a] + s.ones[b], float(s.n[a] + s.n[b]))
        z = max(z, s.likely[a] + s.likely[b] - pooled)
    return z


@kernel
def find_best(s: Coins, law: Law, rng: np.random.Generator) -> int:
    """The arm of the highest mean, with ties broken at random, after z was updated with the last release."""
    k, last = s.n.size, s.clock[LAST]
    if s.clock[BEST] < 0:
        for a in range(k):
            recount_arm(s, law, a)
    recount_arm(s, law, last)
    best = pick_highest(s.mean, rng)
    if best == s.clock[BEST] and best != last:
        s.z[last] = z_ratio(s, best, last)
    else:
        for b in range(k):
            s.z[b] = z_ratio(s, best, b)
    s.clock[BEST] = best
    return best


@kernel
def is_certain(s: Coins, b: int) -> bool:
    """Whether Z of the best arm over b reaches its threshold."""
    a, excess = s.clock[BEST], s.z[b] - s.sure
    if excess > 0.0 and s.threshold == HEURISTIC:
        excess -= math.log1p(math.log(s.clock[RELEASED]))
    elif excess > 0.0 and s.threshold == PUBLISHED:
        excess -= math.log(2.0 * s.clock[RELEASED])
    elif excess > (s.log_n[a] + s.log_n[b]) / 2:  # below that the losses are larger, and are not computed
        excess -= redundancy(s.ones[a], float(s.n[a])) + redundancy(s.ones[b], float(s.n[b]))
    else:
        excess = -1.0
    return excess >= 0.0


@kernel
def passes_tests(s: Coins) -> bool:
    """Whether the best arm passes its test against every rival; the rival that failed last is checked first."""
    best, b = s.clock[BEST], 0
    if s.clock[RIVAL] != best and not is_certain(s, s.clock[RIVAL]):
        b = -1
    while 0 <= b < s.n.size:
        if b != best and not is_certain(s, b):
            s.clock[RIVAL] = b
            b = -1
        else:
            b += 1
    return b > 0


class OneByOnePolicy(Policy):
    """A search for the best arm whose state keeps `coins`; a subclass has `init` and `ask`."""

    goal = "identify"

    def needs(self, law: Law) -> str:
        return lacks_coins(law)

    def means(self, s: Any) -> Floats:
        return means_of(s.coins.total, s.coins.n)

    @staticmethod
    @lean_kernel
    def tell(s: Any, arm: int, n: int, total: float) -> None:
        add_reward(s.coins, arm, n, total)
