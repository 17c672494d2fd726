"""What the releases say of each arm: its mean with two bands, what it has more than another, and whether it is best.

All of it is computed from released sums and from the distribution of their noise alone, so it costs nobody anything.

The outer band is a confidence sequence (theory/sequences.py): in 95 of 100 studies it holds the mean at all times,
however the policy goes by what was released, and whenever somebody looks. The inner band is what it would be if the
same total had no noise. Each mean is that of the arm's own people. What an arm has more than another, and which arm is
best, is said of people to whom both were dealt (theory/differences.py, theory/best.py): for if days differ, an arm's
mean is as good as the days on which it was dealt.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from maskedbandit import core
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.noise_bounds import deviation
from maskedbandit.theory.best import Confidence, confidence_of_best
from maskedbandit.theory.differences import difference_interval
from maskedbandit.theory.pooled_differences import pooled_interval, pooled_mean
from maskedbandit.theory.sequences import Interval, mean_intervals, sum_releases

ALPHA = 0.05
COMPARED = 40  # arms: with more of them the page would be slow


class Estimate(Struct, frozen=True):
    """The mean reward of an arm, scaled to [0, 1], in what was released; it may be outside because of the noise."""

    n: int
    cohorts: int
    mean: float
    error: float  # standard error of the mean
    inner: Interval
    outer: Interval

    @property
    def widening(self) -> float:
        """By how much the noise makes the band wider."""
        return self.outer.width / self.inner.width


def estimate_arms(law: Law, arms: Sequence[Sequence[core.Release]]) -> tuple[Estimate | None, ...]:
    """The estimate of each arm from its releases; None without any.

    >>> found, none = estimate_arms(Law(1, scale=10.0, grid=1.0, per_release=1.0), [[core.Release(0, 100, 50.0)], []])
    >>> found.mean, [round(each, 2) for each in found.inner], [round(each, 2) for each in found.outer], none
    (0.5, [0.33, 0.67], [0.0, 1.0], None)
    """
    return _estimates(law, tuple(map(tuple, arms)))


@lru_cache(maxsize=64)
def _estimates(law: Law, arms: tuple[tuple[core.Release, ...], ...]) -> tuple[Estimate | None, ...]:
    known = [sum_releases(law, releases) for releases in arms]
    totals = [(sum(each.n for each in of), math.fsum(each.total for each in of)) for of in arms]
    plain = [sum_releases(EXACT_LAW, [core.Release(0, n, min(max(total, 0.0), float(n)))]) for n, total in totals]
    inner, outer = mean_intervals(EXACT_LAW, plain, ALPHA), mean_intervals(law, known, ALPHA)
    found: list[Estimate | None] = []
    for of, (n, total), *bands in zip(arms, totals, inner, outer, strict=True):
        p = min(max((total + 2) / (n + 4), 2 / (n + 4)), (n + 2) / (n + 4))  # two successes and two failures more
        error = math.hypot(math.sqrt(p * (1 - p) / n), deviation(law, len(of), n) / n) if n else math.inf
        found.append(Estimate(n, len(of), total / n, error, *bands) if n else None)
    return tuple(found)


EXACT_LAW = Law(NO_NOISE)


class ArmDifference(Struct, frozen=True):
    """A mean minus that of the arm that others are compared with, over the same people, scaled to -1 to 1."""

    mean: float
    interval: Interval


def estimate_differences(
    law: Law, arms: Sequence[Sequence[core.Release]], control: int | None = None
) -> tuple[ArmDifference | None, ...]:
    """What each arm has more than the control, over the epochs that they share; None if they share none.

    Without a control it is what each has more than the first one, and there is none of arms whose first epoch is not
    also that of the first arm. For more than `COMPARED` arms, and on trees, there is none.
    """
    base = control or 0
    if len(arms) > COMPARED or law.counter > 0 or not arms[base]:
        return (None,) * len(arms)
    epochs = {each.epoch: each for each in arms[base]}
    found = list[ArmDifference | None]()
    for arm, of in enumerate(arms):
        together = control is not None or (bool(of) and min(each.epoch for each in of) == min(epochs))
        pairs = [(each, epochs[each.epoch]) for each in of if each.epoch in epochs] if together and arm != base else []
        found.append(_difference(law, tuple(pairs)) if pairs else None)
    return tuple(found)


@lru_cache(maxsize=1024)
def _difference(law: Law, pairs: tuple[tuple[core.Release, core.Release], ...]) -> ArmDifference:
    weights = [min(a.n, b.n) for a, b in pairs]
    margins = [w * (a.total / a.n - b.total / b.n) for w, (a, b) in zip(weights, pairs, strict=True)]
    return ArmDifference(math.fsum(margins) / sum(weights), difference_interval(law, pairs, ALPHA))


def estimate_gain(
    law: Law, arms: Sequence[Sequence[core.Release]], control: int, asked: Mapping[int, int]
) -> ArmDifference | None:
    """What everybody whom the policy placed had more than the control, over the same people; None if nothing is known.

    An epoch counts once all cohorts that were `asked` for in it are released; it says how many these are.
    """
    if law.counter > 0:
        return None
    together: dict[int, list[core.Release]] = {each.epoch: [] for each in arms[control]}
    for arm, of in enumerate(arms):
        for each in of:
            if arm != control and each.epoch in together:
                together[each.epoch].append(each)
    found = tuple(
        (tuple(together[each.epoch]), each)
        for each in arms[control]
        if together[each.epoch] and len(together[each.epoch]) + 1 == asked[each.epoch]
    )
    return _gain(law, found) if found else None


@lru_cache(maxsize=64)
def _gain(law: Law, epochs: tuple[tuple[tuple[core.Release, ...], core.Release], ...]) -> ArmDifference:
    return ArmDifference(pooled_mean(epochs), pooled_interval(law, epochs, ALPHA))


def find_confidences(
    law: Law, arms: Sequence[Sequence[core.Release]], in_play: Collection[int], began: int
) -> dict[int, Confidence]:
    """How surely each arm in play is the best, or is beaten; of none if they are more than `COMPARED`, or on trees."""
    if len(in_play) > COMPARED or law.counter > 0:
        return {}
    return _confidences(law, tuple(map(tuple, arms)), tuple(in_play), began)


_confidences = lru_cache(maxsize=256)(confidence_of_best)  # of all studies in a list
