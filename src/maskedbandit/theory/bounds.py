"""Lower bounds on the regret of every policy, with and without privacy, for Bernoulli rewards.

    liminf  regret(t) / ln t  ≥  sum over a of  gap_a / I(μ_a, μ*)

for every policy whose regret grows slower than any power of t on every instance. I is the information of one reward:

    no privacy    kl(μ_a, μ*)                                                                          [LR85]
    central       d_ε(μ_a, μ*) = inf over z of ε |z − μ_a| + kl(z, μ*)                                 [AWHOIB25]
    local         kl(b_a, b*),  b = (1 + (e^ε − 1) μ) / (e^ε + 1) the mean of a randomized bit

Shuffled and distributed channels of a pure loss obey the central bound, because it only needs private decisions. Every
local channel of loss ε, applied to a bit, is randomized response followed by more noise [KOV17], so by data processing
no information exceeds kl(b_a, b*). That is at most min{4, e^{2ε}} (e^ε − 1)² gap², the bound that holds for all
distributions of rewards [DJW13, Thm. 1]. These three bounds are asymptotic: at a finite t a policy may be below them,
on instances that suit it.

`minimax` is for every t: on one of two Bernoulli instances that differ in one arm, every policy has a regret of

    sup over gap ≤ 1/4 of  t gap / 8  exp(−t / (k − 1) d_ε(1/2, 1/2 + 2 gap))

by the argument of [LS20, Thm. 15.2], where the divergence of what is shown is at most d_ε for each pull of that arm.
The published max{√(t (k − 1)) / 27, (k − 1) / (131 ε)} [AB22] has the constants of Gaussian rewards of variance 1. They
do not apply to bits, whose variance is at most 1/4, so that their information is four times as large.
"""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.theory.divergences import kl, private_divergence


def response_divergence(x: float, y: float, epsilon: float) -> float:
    """Divergence between randomized bits of rewards of means x and y: the largest behind a local channel.

    >>> round(response_divergence(0.3, 0.6, 1.0), 6), response_divergence(0.3, 0.6, 800.0) == kl(0.3, 0.6)
    (0.038605, True)
    """
    flip = 1 / (1 + math.exp(min(epsilon, 700.0)))
    return kl(flip + (1 - 2 * flip) * x, flip + (1 - 2 * flip) * y)


INFORMATION: dict[str, Callable[[float, float, float], float]] = {
    "no_privacy": lambda x, y, epsilon: kl(x, y),
    "central": private_divergence,
    "local": response_divergence,
}


def lower_bound(name: str, means: Sequence[float], t: Any, epsilon: float = math.inf) -> Floats:
    """The least regret, to first order, after t users, of a policy that is good on every instance; see bounds.py.

    `name` is "no_privacy", "central" or "local". The bound is never above the regret of always choosing the worst arm.

    >>> lower_bound("central", [0.75, 0.625, 0.5, 0.375, 0.25], [10**5, 10**6], epsilon=0.1).round(1)
    array([479.8, 575.8])
    """
    if name not in INFORMATION:
        raise UnknownName("lower bound", name, INFORMATION)
    if name != "no_privacy":
        to_positive("epsilon", epsilon)
    best = max(means)
    rate = sum((best - mean) / INFORMATION[name](mean, best, epsilon) for mean in rival_means(means))
    answer: Floats = np.minimum(rate * np.log(to_times(t)), (best - min(means)) * to_times(t))
    return answer


def minimax(k: int, t: Any, epsilon: float = math.inf) -> Floats:
    """A regret that every policy exceeds on some instance of k arms, after t users: for all t, not asymptotically.

    >>> minimax(2, [100, 10_000]).round(2), minimax(11, [10_000], epsilon=0.001).round()
    (array([0.19, 1.9 ]), array([190.]))
    """
    if k < 2:
        raise InvalidValue("k", k, "a whole number of at least 2")
    to_positive("epsilon", epsilon)
    gaps = np.geomspace(1e-9, 0.25, 2000)
    cost = np.array([private_divergence(0.5, 0.5 + 2 * gap, epsilon) for gap in gaps.tolist()])
    t = to_times(t)[..., None]
    answer: Floats = (t * gaps / 8 * np.exp(-t / (k - 1) * cost)).max(axis=-1)
    return answer


def rival_means(means: Sequence[float]) -> list[float]:
    """The means of the arms that are not the best, after a check of all means."""
    if len(means) < 2 or not all(0 <= mean <= 1 for mean in means):
        raise InvalidValue("means", means, "at least two numbers in [0, 1]")
    return [float(mean) for mean in means if mean < max(means)]


def to_times(t: Any) -> Floats:
    """Numbers of users, as an array."""
    found = np.asarray(t, dtype=float)
    if not np.all(found >= 1):
        raise InvalidValue("t", t, "at least 1")
    return found


def to_positive(name: str, value: float) -> float:
    """A parameter that must be above 0."""
    if not isinstance(value, Real) or not value > 0:
        raise InvalidValue(name, value, "a number above 0")
    return value
