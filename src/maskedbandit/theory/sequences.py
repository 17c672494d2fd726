"""Confidence sequences from releases: intervals that are valid at all times, under any adaptive assignment.

A cohort of n people is released as T = X + Z: X the sum of n rewards in [0, 1] of mean μ, and Z the noise, of which ln
E exp(λ Z) ≤ K_n(λ) is known from the law. The choice of n depends on earlier releases, and on nothing else about
rewards. A reward in [0, 1] has at most the log-moments of a bit of the same mean, so for every λ the product over an
arm's releases of

    exp(λ T − n ln(1 + μ (e^λ − 1)) − K_n(λ))

is a non-negative supermartingale from 1, and so is M(μ), the mean of it over a grid of λ > 0. It ever reaches 2 / α
with probability ≤ α / 2 [Vil39]. M falls as μ grows, so all μ below some bound are ruled out; the failures n − T give
the upper bound. One bet is worth its factor as long as √V λ is near its best value, V the variance of the total, so a
grid that is even in ln λ serves all sizes of studies, for a price of some three nats [HRMS21].

If means move, the logarithm above is concave in μ: then the interval holds the average of the means of the people who
were released, person by person. Nothing is assumed of how they move.

Under randomized response all this is done for the bits that devices send. On a tree releases are not independent, but
the noise in the sum of the first m of them is known, and independent of rewards: M is divided by m (m + 1), and the
union bound is over m. A sum that wraps around its modulus, with probability at most the channel's `failure`, is not
covered.

**Restarts.** M begins with the first release. If an arm was far within a limit for long, M must first make up for that
before it shows that the arm is now beyond it. So let M_s be the same process from release s on, 1 before it, and

    S = sum over s = 1, 2, ... of M_s / (s (s + 1)).

The weights add up to 1. If the average over the people since any release was within the limit, each M_s is at most a
non-negative supermartingale from 1, and so is S. So S ever reaches 1 / a with probability ≤ a [Vil39], however long
releases go on. What begins with release s pays ln(s (s + 1)) nats for it: 0.7 with the first, 9 with the hundredth.

M_s is a mean over bets, and what a bet is worth is a product over releases. So one number for each bet is enough,
whatever the number of releases: (the sum before + the weight of what begins now) x the factor of this release.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from maskedbandit.checks import check_fraction
from maskedbandit.core import Floats
from maskedbandit.law import Law, draws_of_one, is_laplace, is_noiseless, is_response, largest_tilt
from maskedbandit.noise_bounds import cumulant, log_mgf, log_mgf_of_sum

BETS = 32  # on the grid
LARGEST_MEAN_BET = 4.0  # lam; from there on e^-lam is little beside 1
MOST_TILT = 0.9  # of the lam at which the moments of the noise become infinite
HALVINGS = 44
FINEST = 2**30  # steps of a reward; noise on a finer grid is as good as continuous


class KnownTotal(Protocol):
    """A release: the noisy total of n rewards."""

    @property
    def n(self) -> int: ...

    @property
    def total(self) -> float: ...


class Interval(NamedTuple):
    """The means, or the differences, that are not ruled out."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The distance between its ends."""
        return self.high - self.low


class Sums(NamedTuple):
    """The sums of an arm's releases; or arrays, of many arms or times."""

    total: Any  # of ones, or under randomized response of bits
    n: Any
    moments: Floats  # [..., bets] log-moments of the noise


def mean_bets(law: Law, largest: float = LARGEST_MEAN_BET) -> Floats:
    """The grid of lam, even in ln lam."""
    top = min(largest, MOST_TILT * largest_tilt(law))
    grid: Floats = top * np.sqrt(0.5) ** np.arange(BETS)
    return grid


def log_moments(law: Law, n: int, lam: float) -> float:
    """K_n(lam), also if devices dropped out of a larger cohort: Laplace tails are heavier on its finer grid."""
    if is_laplace(law) and law.root > 0.0:
        return cumulant(law, law.scale, draws_of_one(law, n), FINEST, lam)
    return log_mgf(law, n, lam)


@lru_cache(maxsize=4096)
def noise_moments(law: Law, n: int) -> Floats:
    """K_n at the bets."""
    return np.array([log_moments(law, n, float(lam)) for lam in mean_bets(law)])


def sum_releases(law: Law, releases: Iterable[KnownTotal]) -> Sums:
    """The sums of these releases of one arm; on a tree they are its first ones."""
    known = list(releases)
    n, total = sum(int(each.n) for each in known), math.fsum(each.total for each in known)
    moments = np.zeros(BETS)
    if is_response(law):
        total = total * (1 - 2 * law.flip) + n * law.flip
    elif law.counter > 0 and known:
        m = len(known)
        moments += [log_mgf_of_sum(law, m, n, float(lam)) for lam in mean_bets(law)] + np.log(m) + np.log1p(m)
    elif not is_noiseless(law):
        for size, count in Counter(int(each.n) for each in known).items():
            moments += count * noise_moments(law, size)
    return Sums(total, n, moments)


def of_sums(law: Law, mean: Any) -> Any:
    """The mean of what is added up, if this is the mean of rewards: under randomized response that of the bits."""
    return law.flip + (1 - 2 * law.flip) * mean


def sum_failures(known: Sums) -> Sums:
    """The same of one minus each reward: the noise is symmetric."""
    return known._replace(total=known.n - known.total)


def log_mean_exp(terms: Floats) -> Any:
    """ln of the mean of e^x over the last axis; x is below infinity, and not always minus that."""
    top = terms.max(axis=-1, keepdims=True)
    return np.log(np.exp(terms - top).mean(axis=-1)) + top[..., 0]


def worth_of_bets(law: Law, known: Sums, mean: Any) -> Floats:
    """A lower bound on ln of the worth of each bet against this mean; it adds up over releases."""
    lam = mean_bets(law)
    total, n, mean = (np.asarray(each)[..., None] for each in (known.total, known.n, mean))
    worth: Floats = lam * total - n * np.log1p(mean * np.expm1(lam)) - known.moments
    return worth


def mean_evidence(law: Law, known: Sums, mean: Any) -> Any:
    """ln M, in nats: how surprisingly large the sum is for this mean, at the most."""
    return log_mean_exp(worth_of_bets(law, known, mean))


def least_allowed(ruled_out: Callable[[Floats], Any], low: Any, high: Any) -> Any:
    """The least value that is not ruled out, if those that are come first; never above it. Or arrays of them."""
    start, none = low, np.logical_not(ruled_out(low))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        out = ruled_out(middle)
        low, high = np.where(out, middle, low), np.where(out, high, middle)
    return np.where(none, start, low)


def mean_interval(law: Law, releases: Iterable[KnownTotal], alpha: float = 0.05) -> Interval:
    """An interval for the mean reward of an arm, from all that was released of it.

    **Guarantee**: with probability at least 1 - alpha it holds the average of the means of the people in the releases,
    at all times together, whatever rule chose cohorts and stopped.

    >>> from maskedbandit import Release
    >>> from maskedbandit.law import LAPLACE
    >>> law = Law(LAPLACE, scale=10.0, grid=1, per_release=1)
    >>> low, high = mean_interval(law, [Release(0, 1000, 312.0), Release(0, 2000, 588.0)])
    >>> round(low, 3), round(high, 3)
    (0.256, 0.345)
    """
    check_fraction("alpha", alpha)
    (found,) = mean_intervals(law, [sum_releases(law, releases)], alpha)
    return found


def mean_intervals(law: Law, arms: Sequence[Sums], alpha: float = 0.05) -> list[Interval]:
    """The same for many arms at once; each interval has an error probability of at most alpha."""
    known = Sums(*map(np.array, zip(*arms, strict=True)))
    enough, zeros = math.log(2 / alpha), np.zeros(len(arms))

    def lower(of: Sums) -> Floats:
        found: Floats = least_allowed(lambda mean: mean_evidence(law, of, mean) >= enough, zeros, zeros + 1)
        return found

    ends = np.stack([lower(known), 1 - lower(sum_failures(known))])
    if is_response(law):  # from bits to rewards
        ends = np.clip((ends - law.flip) / (1 - 2 * law.flip), 0.0, 1.0)
    return [Interval(float(low), float(high)) for low, high in ends.T]


class Restarts:
    """S so far, which also finds late changes, from the factor of each release in each bet.

    Without `anew` it is M alone, which never begins again.

    >>> late, once = Restarts(), Restarts(anew=False)
    >>> for worth in [-0.5] * 40 + [0.5] * 30:
    ...     late.add(np.array([worth]))
    ...     once.add(np.array([worth]))
    >>> round(late.evidence, 1), once.evidence
    (9.0, -5.0)
    """

    def __init__(self, anew: bool = True) -> None:
        self.anew, self.releases = anew, 0
        self._worth: Floats | float = -math.inf  # ln of the weighted sum over all that has begun, of each bet

    def add(self, worth: Floats) -> None:
        """Take in ln of the next release's factor in each bet."""
        s = self.releases = self.releases + 1
        weight = 1 / (s * (s + 1)) if self.anew else float(s == 1)
        begins = math.log(weight) if weight else -math.inf
        self._worth = np.logaddexp(self._worth, begins) + worth

    @property
    def evidence(self) -> float:
        """ln S, in nats."""
        if not self.releases:
            return 0.0
        begun = log_mean_exp(np.asarray(self._worth))
        later = -math.log(self.releases + 1) if self.anew else -math.inf  # what begins with releases that are to come
        return float(np.logaddexp(begun, later))
