"""Confidence sequences for the difference of two arms: over the same people, or from each arm's own releases.

**Over the same people.** In an epoch the places of several arms are dealt in random order over the same people. For
arms a and b with cohorts of n_a and n_b people in it, w the smaller, and totals X_a, X_b, bet on

    λ (X_a w / n_a − X_b w / n_b) − c (X_a w / n_a + X_b w / n_b),         0 < c < λ or −λ < c ≤ 0.

Let A = e^(λ − c) − 1 and B = e^(−λ − c) − 1. Whoever the people of the epoch are, let p_a and p_b be the averages, over
all who got a or b, of their means under either arm. The log-moments of the bet are at most those of the noise and

    w (ln(1 + p_a A) + ln(1 + p_b B)) − ln(1 − 2 tanh(λ)²) / 2.                                                 (1)

The last term, below 1.1 and near λ², is the price of people who differ from each other; docs/estimate.md has the proof.
With the level q = (p_a + p_b) / 2 and the difference D = p_a − p_b, (1) is concave in (q, D), so over all epochs it
adds up to at most its value at the averages; and its highest point in q is -(A + B) / (2 A B), whatever D is. So c can
be chosen such that it is at any level wanted. There the bound is that of the true variance, 2 q (1 − q) w, and
elsewhere the tangent to it. M(D) is the mean over a grid of λ and of five levels; it falls as D grows, and ever reaches
2 / α with probability ≤ α / 2.

So the interval holds the average of D over the epochs, each weighted by w, for any people and any drift. If drift is
common to both arms it is the difference of their means.

An epoch counts once both its totals are released. A study must not be stopped between the two because of the first, and
the people of a cohort that is dealt again are not those of its epoch.

**From each arm.** For arms that were not played together, the product of M_a(m + D) for a and that of the failures of b
at m is a supermartingale too, at the true m. A difference D is ruled out if the product reaches 2 / α for every m. The
interval holds the difference of the averages over each arm's own people: if means move, these are other people.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.checks import check_fraction
from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, is_noiseless, is_response
from maskedbandit.theory.sequences import (
    BETS,
    Interval,
    KnownTotal,
    Sums,
    least_allowed,
    log_mean_exp,
    log_moments,
    mean_bets,
    mean_evidence,
    sum_failures,
    sum_releases,
)

LEVELS = np.array([0.03, 0.15, 0.5, 0.85, 0.97])[:, None]
LARGEST_PAIR_BET = 0.8  # lam; tanh(lam)^2 must be below 1/2
SEARCH_POINTS, ZOOMS = 33, 7  # of the search for the least product
SEARCH_SLACK = 1e-4  # nats: what it may miss


class PairSums(NamedTuple):
    """The sums of both arms over the epochs that they share; or arrays, of many pairs or times."""

    margin: Any  # sum of w (X_a / n_a - X_b / n_b), of bits under randomized response
    pooled: Any  # sum of w (X_a / n_a + X_b / n_b)
    weight: Any  # sum of w
    cost: Floats  # [..., levels, bets] log-moments of the noise, and what unlike people cost


class PairBets(NamedTuple):
    """The bets on a difference."""

    lam: Floats  # [bets]
    c: Floats  # [levels, bets]
    up: Floats  # A
    down: Floats  # B


@lru_cache(maxsize=256)
def grid(law: Law) -> PairBets:
    """All bets, with the c that puts the highest point of (1) at each level."""
    lam = mean_bets(law, LARGEST_PAIR_BET)
    lean = (1 - 2 * LEVELS) * np.cosh(lam)  # q x^2 + lean x - (1 - q) = 0 for x = e^-c
    root = np.sqrt(lean**2 + 4 * LEVELS * (1 - LEVELS))
    x = np.where(lean >= 0, 2 * (1 - LEVELS) / (lean + root), (root - lean) / (2 * LEVELS))
    c = -np.log(x)
    return PairBets(lam, c, np.expm1(lam - c), np.expm1(-lam - c))


@lru_cache(maxsize=4096)
def cost_of_epoch(law: Law, n_a: int, n_b: int) -> Floats:
    """Log-moments of the noise in a bet, and the price of people who differ."""
    lam, c, _, _ = grid(law)
    cost: Floats = np.zeros_like(c) - np.log1p(-2 * np.tanh(lam) ** 2) / 2
    if is_noiseless(law) or is_response(law):
        return cost
    w = min(n_a, n_b)
    for size, tilts in ((n_a, lam - c), (n_b, lam + c)):
        cost += np.reshape([log_moments(law, size, float(each) * w / size) for each in tilts.flat], c.shape)
    return cost


def pair_sums(law: Law, epochs: Iterable[tuple[KnownTotal, KnownTotal]]) -> PairSums:
    """The sums over these epochs, each a release of a and one of b."""
    margin, pooled, weight, cost = [0.0], [0.0], 0, np.zeros((LEVELS.size, BETS))
    sizes = Counter[tuple[int, int]]()
    for a, b in epochs:
        w, flip = min(int(a.n), int(b.n)), law.flip if is_response(law) else 0.0
        x, y = (w * (each.total / each.n * (1 - 2 * flip) + flip) for each in (a, b))
        margin.append(x - y)
        pooled.append(x + y)
        weight += w
        sizes[int(a.n), int(b.n)] += 1
    for (n_a, n_b), count in sizes.items():
        cost += count * cost_of_epoch(law, n_a, n_b)
    return PairSums(math.fsum(margin), math.fsum(pooled), weight, cost)


def worth_of_bets_on_pair(law: Law, known: PairSums, difference: Any) -> Floats:
    """A lower bound on ln of the worth of each bet against this difference; it adds up over epochs."""
    lam, c, up, down = grid(law)
    margin, pooled, weight, difference = (np.asarray(each)[..., None, None] for each in (*known[:3], difference))
    half = np.abs(difference) / 2
    q = np.clip(LEVELS, half, 1 - half)  # means stay in [0, 1]
    rewards = np.log1p((q + difference / 2) * up) + np.log1p((q - difference / 2) * down)
    worth: Floats = lam * margin - c * pooled - weight * rewards - known.cost
    return worth.reshape(*worth.shape[:-2], -1)


def evidence_of_pair(law: Law, known: PairSums, difference: Any) -> Any:
    """ln M: how surprisingly large the margin is for this difference, at the most."""
    return log_mean_exp(worth_of_bets_on_pair(law, known, difference))


def difference_interval(law: Law, epochs: Sequence[tuple[KnownTotal, KnownTotal]], alpha: float = 0.05) -> Interval:
    """An interval for the mean of arm a minus that of arm b, from the epochs that they share: a release of each.

    **Guarantee**: with probability at least 1 - alpha it holds the average difference for the people of the epochs, at
    all times together, whatever rule chose cohorts and stopped, and however means move in time.

    >>> from maskedbandit import Release
    >>> from maskedbandit.law import LAPLACE
    >>> law = Law(LAPLACE, scale=2.0, grid=1, per_release=1)
    >>> shared = [(Release(0, 900, 520.0), Release(1, 900, 404.0)), (Release(0, 900, 611.0), Release(1, 900, 498.0))]
    >>> low, high = difference_interval(law, shared)
    >>> round(low, 3), round(high, 3)
    (0.061, 0.193)
    """
    check_fraction("alpha", alpha)
    if not epochs:
        check_independent(law)
        return Interval(-1.0, 1.0)
    return interval_of_pairs(law, pair_sums(law, epochs), pair_sums(law, [(b, a) for a, b in epochs]), alpha)


def interval_of_pairs(law: Law, known: PairSums, turned: PairSums, alpha: float) -> Interval:
    """The same from the sums over the epochs, and from those with both arms exchanged."""
    check_independent(law)
    enough = math.log(2 / alpha)

    def lower(known: PairSums) -> float:
        return float(least_allowed(lambda difference: evidence_of_pair(law, known, difference) >= enough, -1.0, 1.0))

    return from_bits(law, lower(known), -lower(turned))


def check_independent(law: Law) -> None:
    """Raise `InvalidValue` if releases share their noise."""
    if law.counter > 0:
        raise InvalidValue("law", law, "that of independent releases: on a tree they share their noise")


def evidence_apart(law: Law, a: Sums, b: Sums, difference: Any) -> Any:
    """ln of the least product, over all m, of M for a at m + difference and of M for the failures of b at m.

    Or arrays of them, of several pairs.
    """
    low, high = np.maximum(0.0, -difference), np.minimum(1.0, 1.0 - difference)
    for _ in range(ZOOMS):  # it is convex in m
        m = np.linspace(low, high, SEARCH_POINTS)
        products = mean_evidence(law, a, m + difference) + mean_evidence(law, b, 1 - m)
        i = products.argmin(axis=0)[None]
        ends = np.maximum(i - 1, 0), np.minimum(i + 1, SEARCH_POINTS - 1)
        low, high = (np.take_along_axis(m, end, 0)[0] for end in ends)
    return np.take_along_axis(products, i, 0)[0] - SEARCH_SLACK


def difference_apart(law: Law, of_a: Iterable[KnownTotal], of_b: Iterable[KnownTotal], alpha: float = 0.05) -> Interval:
    """An interval for the mean of arm a minus that of arm b, from all releases of each.

    **Guarantee**: with probability at least 1 - alpha it holds the difference of the averages of the means of the
    people in each arm's releases, at all times together, whatever rule chose cohorts and stopped.

    >>> from maskedbandit import Release
    >>> from maskedbandit.law import NO_NOISE
    >>> low, high = difference_apart(Law(NO_NOISE), [Release(0, 1000, 520.0)], [Release(1, 5000, 2020.0)])
    >>> round(low, 3), round(high, 3)
    (0.048, 0.184)
    """
    check_fraction("alpha", alpha)
    a, b, enough = sum_releases(law, of_a), sum_releases(law, of_b), math.log(2 / alpha)
    pairs = (a, b), (sum_failures(b), sum_failures(a))  # each sum, and the failures of the other arm
    known, failures = (Sums(*map(np.array, zip(*each, strict=True))) for each in pairs)

    def ruled_out(difference: Floats) -> Any:
        return evidence_apart(law, known, failures, difference) >= enough

    low, turned = least_allowed(ruled_out, -np.ones(2), np.ones(2))
    return from_bits(law, float(low), -float(turned))


def from_bits(law: Law, low: float, high: float) -> Interval:
    """The interval of a difference of rewards, from that of the bits under randomized response."""
    scale = 1 - 2 * law.flip if is_response(law) else 1.0
    return Interval(max(low / scale, -1.0), min(high / scale, 1.0))
