"""Upper bounds on the expected regret of algorithms after t users, with all constants.

    ucb1          sum  8 ln t / gap + (1 + π² / 3) gap                                       [ACF02, Thm. 1]
    ldp_ucb       sum  8 c² ln t / gap + (1 + π² / 3) gap,   c = (e^ε + 1) / (e^ε − 1)
    ada_p_ucb     sum  16 β ln t / min{gap, ε} + 3 β / (β − 3)                               [AB22]
    ada_cucb      sum  8 β ln t / gap + 8 √(β ln t / ρ) + 2 β / (β − 3),  ρ = ε² / 2         [Azi24]
    dpucb         sum  max{32 ln t / gap, 4 G} + (1 + π² / 3) gap,  and once max gap
    noise_aware_klucb      ln t sum  max{ratio gap / d_ε, 2 gap / ε} + o(ln t)               [docs/noise_aware_klucb.md]
    thompson_sampling      (1 + slack) ln t sum  gap / kl(μ_a, μ*) + O(k / slack²)           [LN11, Thm. 11.1; AG13]

Sums are over the arms that are not the best. `ldp_ucb` is UCB1 on randomized bits, whose gaps are gap / c while a pull
costs gap: so it follows from the theorem above it. AdaP-UCB and AdaC-UCB need β > 3 in the policy too. Where a paper
does not say whether a last term is counted once or for each arm, it is counted for each: the bound holds either way. Of
the noise-aware index and of Thompson sampling only the leading term is known, so their curves may be crossed at a
finite t. Bounds above t max gap are trivial, and are cut there.

The slack of Thompson sampling is called ε in the theorem, and has nothing to do with privacy. The lecture states it for
every slack above 0. Its last step, (1 + x)² ≤ 1 + 3x with slack = 3x, needs x ≤ 1: so here slack is at most 3. As slack
falls to 0 the leading term becomes the lower bound without privacy [LR85], and the rest grows without limit.

`dpucb` is for binary trees of length T, the horizon, and failure 1 / T. With probability 1 − 1 / T the noise of every
arm is in [−G, G] at all times; the rest costs T max gap:

    G = h / ε (2 √(h x) + x),     x = ln(2 k T²),     h = floor(log2 T) + 1 levels

Then the index is that of UCB1 plus something in [0, 2 G / n]. Beyond n = max{32 ln t / gap², 4 G / gap} users of an arm
both 2 √(2 ln t / n) and 2 G / n are at most gap / 2, so it is only chosen if Hoeffding's bound failed for it or the
best arm: the argument of [ACF02, Thm. 1], whose π² / 3 is the probability of that, added up over t.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue
from maskedbandit.theory.bounds import rival_means, to_positive, to_times
from maskedbandit.theory.divergences import kl, private_divergence


def gaps(means: Sequence[float]) -> Floats:
    """The gaps of the arms that are not the best."""
    return max(means) - np.array(rival_means(means))


def total(rate: Floats, rest: Floats | float, means: Sequence[float], t: Any, once: float = 0.0) -> Floats:
    """The sum over arms of rate ln t + rest, where that is below the regret of always choosing the worst arm."""
    t = to_times(t)[..., None]
    answer: Floats = np.minimum((rate * np.log(t) + rest).sum(axis=-1) + once, (max(means) - min(means)) * t[..., 0])
    return answer


def ucb1(means: Sequence[float], t: Any, epsilon: float = math.inf) -> Floats:
    """UCB1 without privacy.

    >>> ucb1([0.9, 0.5], [10**6]).round(2)
    array([278.03])
    """
    gap = gaps(means)
    return total(8 / gap, (1 + math.pi**2 / 3) * gap, means, t)


def ldp_ucb(means: Sequence[float], t: Any, epsilon: float) -> Floats:
    """UCB1 on randomized bits."""
    gap, slope = gaps(means), math.tanh(to_positive("epsilon", epsilon) / 2)
    return total(8 / (slope**2 * gap), (1 + math.pi**2 / 3) * gap, means, t)


def ada_p_ucb(means: Sequence[float], t: Any, epsilon: float, beta: float = 3.1) -> Floats:
    """AdaP-UCB on a central channel of pure loss epsilon."""
    gap = gaps(means)
    least = np.minimum(gap, to_positive("epsilon", epsilon))
    return total(16 * above_three(beta) / least, 3 * beta / (beta - 3), means, t)


def ada_cucb(means: Sequence[float], t: Any, epsilon: float, beta: float = 3.1) -> Floats:
    """AdaC-UCB on a central channel of Gaussian noise of standard deviation 1 / epsilon: rho = epsilon^2 / 2."""
    gap, rho = gaps(means), to_positive("epsilon", epsilon) ** 2 / 2
    noise = 8 * np.sqrt(above_three(beta) * np.log(to_times(t)[..., None]) / rho)
    return total(8 * beta / gap, noise + 2 * beta / (beta - 3), means, t)


def dpucb(means: Sequence[float], t: Any, epsilon: float) -> Floats:
    """DP-UCB, corrected, on binary trees of pure loss epsilon; the largest t is the policy's horizon.

    >>> dpucb([0.9, 0.5], [10**6], 1.0).round()
    array([6178.])
    """
    gap, horizon = gaps(means), int(to_times(t).max())
    levels, x = horizon.bit_length(), math.log(2 * len(means) * horizon**2)
    noise = levels / to_positive("epsilon", epsilon) * (2 * math.sqrt(levels * x) + x)
    needed = np.maximum(32 * np.log(to_times(t)[..., None]) / gap, 4 * noise)
    return total(0 * gap, needed + (1 + math.pi**2 / 3) * gap, means, t, once=max(means) - min(means))


def noise_aware_klucb(means: Sequence[float], t: Any, epsilon: float, ratio: float = 1.5) -> Floats:
    """The leading term of the noise-aware index under central or distributed pure loss epsilon, as t grows.

    >>> noise_aware_klucb([0.9, 0.5], [10**6], 1.0).round(2), noise_aware_klucb([0.9, 0.0], [10**6], 1.0).round(2)
    (array([24.28]), array([24.87]))
    """
    gap = gaps(means)
    rate = np.array(
        [private_divergence(mean, max(means), to_positive("epsilon", epsilon)) for mean in rival_means(means)]
    )
    return total(np.maximum(ratio * gap / rate, 2 * gap / epsilon), 0.0, means, t)


def above_three(beta: float) -> float:
    """Check the exploration parameter of both theorems."""
    if not beta > 3:
        raise InvalidValue("beta", beta, "above 3, as the theorem needs")
    return beta


def thompson_sampling(means: Sequence[float], t: Any, epsilon: float = math.inf, slack: float = 0.5) -> Floats:
    """The leading term of Thompson sampling with Beta posteriors, without privacy, as t grows.

    >>> thompson_sampling([0.9, 0.5], [10**6]).round(2)
    array([16.23])
    """
    if not 0 < slack <= 3:
        raise InvalidValue("slack", slack, "above 0 and at most 3, as the proof of the theorem needs")
    rate = np.array([kl(mean, max(means)) for mean in rival_means(means)])
    return total((1 + slack) * gaps(means) / rate, 0.0, means, t)
