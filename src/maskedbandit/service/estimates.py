"""What the releases say of each arm: its mean with two bands, and how likely it is to be the best.

All of it is computed from released sums and from the law of their noise alone, so it costs nobody anything.

    Var(mean) = p (1 - p) / n + v / n^2,      p the mean, n the people, v the variance of the noise in their sum

The inner band has the first part, of the people; the outer band has both. A reward in [0, 1] varies at most so much,
also after it was rounded at random, and bits vary exactly so much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from scipy.special import log_ndtr

from maskedbandit.law import Law, deviation

WIDE = 1.959963984540054  # standard deviations on either side: 95 in 100
CELLS = 4000  # of the range in which the best mean may lie
FAR = 9.0  # standard deviations: nothing is beyond them


class Estimate(Struct, frozen=True):
    """The mean reward of an arm, scaled to [0, 1], in what was released; it may be outside because of the noise."""

    n: int
    cohorts: int
    mean: float
    people: float  # half the width of the inner band
    both: float  # half the width of the outer band

    @property
    def widening(self) -> float:
        """By how much the noise makes the band wider."""
        return self.both / self.people


def estimate(law: Law, cohorts: int, n: int, total: float) -> Estimate:
    """The estimate from so many releases, which have n people and this sum.

    >>> found = estimate(Law(1, scale=10.0, grid=1.0, per_release=1.0), cohorts=1, n=100, total=50)
    >>> found.mean, round(found.people, 3), round(found.both, 3), round(found.widening, 2)
    (0.5, 0.098, 0.294, 3.0)
    """
    p = min(max((total + 2) / (n + 4), 2 / (n + 4)), (n + 2) / (n + 4))  # two successes and two failures more
    people, noise = math.sqrt(p * (1 - p) / n), deviation(law, cohorts, n) / n
    return Estimate(n, cohorts, total / n, WIDE * people, WIDE * math.hypot(people, noise))


def chances(found: Sequence[Estimate | None]) -> tuple[float, ...]:
    """The chance of each arm to have the highest mean: before any release every mean from 0 to 1 is as likely.

    The estimates are taken to be normal. It is a sum over a fixed grid, so it is the same each time.

    >>> chances([None, None])
    (0.5, 0.5)
    """
    return _chances(tuple(None if each is None else (each.mean, each.both / WIDE) for each in found))


@lru_cache(maxsize=256)
def _chances(found: tuple[tuple[float, float] | None, ...]) -> tuple[float, ...]:
    low = max((min(max(mean - FAR * width, 0.0), 1.0) for mean, width in filter(None, found)), default=0.0)
    edges = np.linspace(min(low, 1 - 1e-9), 1.0, CELLS + 1)
    below = np.array([edges if each is None else _below(edges, *each) for each in found])  # that a mean is below each
    inside, lower = np.diff(below), below[:, :-1]
    logs = np.log(np.maximum(lower + inside / 2, 1e-300))  # that it is below the middle of a cell
    wins = (inside * np.exp(logs.sum(axis=0) - logs)).sum(axis=1)
    return tuple(float(each) for each in wins / wins.sum())


def _below(edges: np.ndarray, mean: float, width: float) -> np.ndarray:
    """The probability that a mean between 0 and 1 is below each of these, given its normal estimate."""
    ends = (np.concatenate(([0.0, 1.0], edges)) - mean) / width
    side = 1.0 if mean <= 0.5 else -1.0  # in the tail in which the logarithms differ
    logs = log_ndtr(-side * ends)
    top = max(logs[0], logs[1])
    tail = np.exp(logs - top)
    return np.clip((tail[0] - tail[2:]) / (tail[0] - tail[1]), 0.0, 1.0)
