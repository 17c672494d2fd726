"""A broken twin: the chance of each arm to have the highest mean, from each arm's own people.

It takes means for normal, with every mean from 0 to 1 as likely before the study. A policy deals its arms to other
days, so if days differ it is wrong; and it is too sure of gaps that are small beside that range.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr

from maskedbandit.core import Release
from maskedbandit.law import Law
from maskedbandit.noise_bounds import deviation

CELLS = 1000  # of the range in which the best mean may lie
FAR = 9.0  # standard deviations: nothing is beyond them


def chances(law: Law, arms: Sequence[Sequence[Release]]) -> dict[int, float]:
    """The chance of each arm to be the best, as the page once said it."""
    found = [mean_and_error(law, of) for of in arms]
    low = max(min(max(mean - FAR * width, 0.0), 1.0) for mean, width in found)
    edges = np.linspace(min(low, 1 - 1e-9), 1.0, CELLS + 1)
    below = np.array([chance_below(edges, *each) for each in found])
    inside, lower = np.diff(below), below[:, :-1]
    logs = np.log(np.maximum(lower + inside / 2, 1e-300))
    wins = (inside * np.exp(logs.sum(axis=0) - logs)).sum(axis=1)
    return {arm: float(each) for arm, each in enumerate(wins / wins.sum())}


def mean_and_error(law: Law, of: Sequence[Release]) -> tuple[float, float]:
    """The plain mean of an arm, and its standard error."""
    n, total = sum(each.n for each in of), math.fsum(each.total for each in of)
    p = min(max((total + 2) / (n + 4), 2 / (n + 4)), (n + 2) / (n + 4))
    return total / n, math.hypot(math.sqrt(p * (1 - p) / n), deviation(law, len(of), n) / n)


def chance_below(edges: np.ndarray, mean: float, width: float) -> np.ndarray:
    """The probability that a mean between 0 and 1 is below each of these, given its normal estimate."""
    ends = (np.concatenate(([0.0, 1.0], edges)) - mean) / width
    side = 1.0 if mean <= 0.5 else -1.0
    logs = log_ndtr(-side * ends)
    tail = np.exp(logs - max(logs[0], logs[1]))
    return np.clip((tail[0] - tail[2:]) / (tail[0] - tail[1]), 0.0, 1.0)
