"""Divergences, lower bounds and guarantees, as numbers."""

import math
from collections.abc import Sequence
from typing import Any

from maskedbandit.core import Floats
from maskedbandit.errors import UnknownName
from maskedbandit.theory import guarantees
from maskedbandit.theory.amplification import closed_epsilon, local_epsilon_for, shuffled_delta, shuffled_epsilon
from maskedbandit.theory.bounds import INFORMATION, lower_bound, minimax
from maskedbandit.theory.characteristic_times import KINDS, characteristic_time, proportions
from maskedbandit.theory.divergences import kl, kl_upper, private_divergence, private_upper
from maskedbandit.theory.noise_pmf import epsilon_left
from maskedbandit.theory.samples import TIMES, critical_epsilon, least_samples
from maskedbandit.theory.search_guarantees import RATES, most_samples
from maskedbandit.theory.selection import least_samples_above, least_samples_top
from maskedbandit.theory.wrong_answers import least_wrong

LOWER = tuple(INFORMATION)
UPPER = ("ada_cucb", "ada_p_ucb", "dpucb", "ldp_ucb", "noise_aware_klucb", "thompson_sampling", "ucb1")
SAMPLES = tuple(TIMES)
UPPER_SAMPLES = tuple(RATES)
WITHOUT_EPSILON = ("no_privacy", "thompson_sampling", "ucb1")
CURVES = {  # all names, and what each curve means
    **dict.fromkeys(LOWER, "asymptotic lower bound"),
    "minimax": "lower bound for the worst instance",
    **dict.fromkeys(UPPER, "guarantee of the policy"),
    **dict.fromkeys(("noise_aware_klucb", "thompson_sampling"), "asymptotic guarantee of the policy"),
}
__all__ = [
    "CURVES",
    "KINDS",
    "LOWER",
    "SAMPLES",
    "UPPER",
    "UPPER_SAMPLES",
    "WITHOUT_EPSILON",
    "characteristic_time",
    "closed_epsilon",
    "critical_epsilon",
    "curve",
    "epsilon_left",
    "kl",
    "kl_upper",
    "least_samples",
    "least_samples_above",
    "least_samples_top",
    "least_wrong",
    "local_epsilon_for",
    "lower_bound",
    "minimax",
    "most_samples",
    "private_divergence",
    "private_upper",
    "proportions",
    "shuffled_delta",
    "shuffled_epsilon",
    "upper_bound",
]


def upper_bound(name: str, means: Sequence[float], t: Any, epsilon: float = math.inf, **parameters: float) -> Floats:
    """The upper bound of the algorithm `name` on its regret after t users; see guarantees.py.

    >>> upper_bound("ada_p_ucb", [0.9, 0.5], [10**6], epsilon=0.5, beta=4).round()
    array([2222.])
    """
    if name not in UPPER:
        raise UnknownName("guarantee", name, UPPER)
    answer: Floats = getattr(guarantees, name)(means, t, epsilon, **parameters)
    return answer


def curve(name: str, means: Sequence[float], t: Any, epsilon: float = math.inf) -> Floats:
    """A lower or an upper bound by name: what experiments draw."""
    if name not in CURVES:
        raise UnknownName("theory", name, CURVES)
    if name == "minimax":
        return minimax(len(means), t, epsilon)
    return (lower_bound if name in LOWER else upper_bound)(name, means, t, epsilon)
