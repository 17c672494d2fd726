"""A confidence sequence for the difference of several arms together from one other, over the same people.

In an epoch the places of arms 1 to m and of arm b are dealt in random order over the same people, n_i and n_b of them.
The mean of all whom the m arms had is that of (n_i / sum of n) X_i / n_i over i: a mean of differences from b, of which
each has a bet of theory/differences.py, Y_i with w_i, the smaller of n_i and n_b. They share the people of b, so they
do not multiply. Bet

    θ₁ Y₁ + ... + θ_m Y_m,        θ_i = W n_i / (w_i * sum of n),        W such that they add up to 1.

By Hölder's inequality E exp of that is at most the product of the E exp(Y_i)^θ_i, whatever they have in common. So the
log-moments of the bet are at most the mean of theirs, by θ: margin, level, noise, and what unlike people cost. All that
theory/differences.py says of epochs stands, with weights θ_i w_i in place of w.
"""

from collections.abc import Iterable, Sequence
from math import fsum

import numpy as np

from maskedbandit.law import Law
from maskedbandit.theory.differences import PairSums, interval_of_pairs, pair_sums
from maskedbandit.theory.sequences import Interval, KnownTotal

PooledEpoch = tuple[Sequence[KnownTotal], KnownTotal]  # releases of several arms, and of the one that is compared


def share_bets(epoch: PooledEpoch) -> list[float]:
    """theta: the weight of each arm's bet.

    >>> from maskedbandit import Release
    >>> share_bets(([Release(0, 300, 0.0), Release(1, 100, 0.0)], Release(2, 100, 0.0)))
    [0.75, 0.25]
    """
    arms, other = epoch
    parts = [int(each.n) / min(int(each.n), int(other.n)) for each in arms]
    whole = sum(parts)
    return [part / whole for part in parts]


def pooled_sums(law: Law, epochs: Iterable[PooledEpoch], turned: bool = False) -> PairSums:
    """The sums over these epochs; `turned`: those of the other arm minus these arms."""
    known, weights = list[PairSums](), list[float]()
    for epoch in epochs:
        for each, theta in zip(epoch[0], share_bets(epoch), strict=True):
            pair = (epoch[1], each) if turned else (each, epoch[1])
            known.append(pair_sums(law, [pair]))
            weights.append(theta)
    margin, pooled, weight = (fsum(w * one[i] for w, one in zip(weights, known, strict=True)) for i in range(3))
    return PairSums(margin, pooled, weight, sum((w * one.cost for w, one in zip(weights, known, strict=True)), _ZERO))


def pooled_interval(law: Law, epochs: Sequence[PooledEpoch], alpha: float = 0.05) -> Interval:
    """An interval for the mean of several arms together minus that of one other, from the epochs that they share.

    **Guarantee**: with probability at least 1 - alpha it holds the average difference for the people of the epochs, at
    all times together, whatever rule chose cohorts and stopped, and however means move in time. Each arm of an epoch
    counts by its people, and each epoch by sum of theta_i w_i.

    >>> from maskedbandit import Release
    >>> from maskedbandit.law import LAPLACE
    >>> law = Law(LAPLACE, scale=2.0, grid=1, per_release=1)
    >>> epoch = [Release(0, 900, 520.0), Release(1, 900, 404.0)], Release(2, 200, 80.0)
    >>> [round(end, 3) for end in pooled_interval(law, [epoch] * 10)]
    [0.048, 0.178]
    """
    if not epochs:
        return Interval(-1.0, 1.0)
    return interval_of_pairs(law, pooled_sums(law, epochs), pooled_sums(law, epochs, turned=True), alpha)


def pooled_mean(epochs: Sequence[PooledEpoch]) -> float:
    """The estimate in the middle of it: the same average of what was released."""
    found, weights = list[float](), list[float]()
    for arms, other in epochs:
        for each, theta in zip(arms, share_bets((arms, other)), strict=True):
            w = theta * min(int(each.n), int(other.n))
            found.append(w * (each.total / each.n - other.total / other.n))
            weights.append(w)
    return fsum(found) / fsum(weights)


_ZERO = np.zeros((1, 1))
