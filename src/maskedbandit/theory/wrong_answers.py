"""Probabilities of a wrong answer with a fixed number of people: an upper bound for fixed phases, a lower bound for
all.

**Phases of fixed sizes** (policies/parts/fixed_phases.py). Let arms be in the order of their means, arm 1 the best one,
and imagine releases also of arms that were dropped: all are independent, and which of them a policy reads does not
change what they are. Arm 1 leaves in phase p only if s_{p+1} arms or more have scores that are at least its own. For
each r in 2..s_{p+1} + 1 at least s_{p+1} − r + 2 of these are among the arms from r on, so by Markov's inequality

    P(wrong)  ≤  sum over p of  min over r of  sum over a ≥ r of q_{a,p} / (s_{p+1} − r + 2),

q_{a,p} the probability that arm a has a score of at least that of arm 1. If phases are forgotten, the scores of p are
independent of the arms that are left, and a goes only up to s_p: the best s_p arms are the worst case, as the bound
below is higher for higher means. If all releases count, they are not independent, and a goes up to K.

A score is the sum of c_j X_j with c_j = w_j / (n_j sum of w), so by Chernoff, for every λ ≥ 0,

    ln q_{a,p}  ≤  sum over j of  n_j psi(μ_a, λ c_j) + n_j psi(μ₁, −λ c_j) + 2 ln E exp(λ c_j Z_j),

psi(m, x) = ln(1 − m + m e^x), which no reward in [0, 1] of mean m exceeds, rounded or not, and Z_j the noise. On
randomized response X_j is a sum of flipped bits, whose psi is known.

**Every policy** (`least_wrong`). Average the probability of a wrong answer over all orders in which the arms may be
listed: that is the one, e, of the policy that lists them at random, which prefers no arm. Let nu be the instance, and
swap the means of arms 1 and b. Arm b is then the answer as often as arm 1 was, so the event that 1 is not the answer
has probability e under nu, and its complement at most e after the swap. By [LS20, Thm. 14.2]

    2 e  ≥  exp(−KL) / 2,        KL  ≤  E[N₁] d(μ₁, μ_b) + E[N_b] d(μ_b, μ₁)

with the d of samples.py. This holds for all b, so e ≥ exp(−T C) / 4, C the largest over proportions of pulls of the
least over b. (The exponent is that of telling the two instances apart, about four times what telling arms apart takes.)
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from maskedbandit.errors import UnknownName
from maskedbandit.golden_section import narrow_down, open_bracket
from maskedbandit.law import Law, is_response, largest_tilt
from maskedbandit.noise_bounds import deviation, log_mgf
from maskedbandit.theory.bounds import INFORMATION, rival_means, to_positive

TILT_STEPS = 80  # of a search for the least value


class PhasePlan(NamedTuple):
    """Phases: how many users each arm that is left gets, how many arms are left afterwards, and what counts."""

    sizes: tuple[int, ...]
    keep: tuple[int, ...]
    pooled: bool  # whether all releases of an arm count, or the last one alone


def weight(n: int, law: Law) -> float:
    """The precision of the mean of n rewards."""
    return n * n / (n / 4 + deviation(law, 1, n) ** 2)


def psi(mean: float, x: float) -> float:
    """ln(1 - mean + mean e^x), the largest log-moment of a reward in [0, 1] of this mean.

    >>> psi(0.5, 0.0), psi(1.0, -3.0), round(psi(0.25, 800.0), 3)
    (0.0, -3.0, 798.614)
    """
    if x > 0:
        return x + psi(1 - mean, -x)
    return math.log1p(mean * math.expm1(x)) if mean < 1 else x


def log_moment(law: Law, n: int, mean: float, x: float) -> float:
    """At least ln E exp(x X), X the released sum of n rewards of this mean."""
    if is_response(law):
        wide = x / (1 - 2 * law.flip)
        return n * (psi(law.flip + (1 - 2 * law.flip) * mean, wide) - wide * law.flip)
    return n * psi(mean, x) + log_mgf(law, n, abs(x))


def overtaking_bound(worse: float, best: float, sizes: Sequence[int], law: Law) -> float:
    """A bound on the probability that an arm with a worse mean has a score of at least that of the best one.

    >>> round(overtaking_bound(0.5, 0.6, [1000], Law(0)), 7), overtaking_bound(0.5, 0.6, [], Law(0))
    (3.89e-05, 1.0)
    """
    sizes = [n for n in sizes if n > 0]
    if not sizes or worse >= best:
        return 1.0
    weights = [weight(n, law) for n in sizes]
    parts = [w / (n * sum(weights)) for w, n in zip(weights, sizes, strict=True)]

    def exponent(lam: float) -> float:
        both = zip(parts, sizes, strict=True)
        return sum(log_moment(law, n, worse, lam * c) + log_moment(law, n, best, -lam * c) for c, n in both)

    high = min(largest_tilt(law) / max(parts), 1.0 / max(parts))
    if math.isinf(largest_tilt(law)):
        while exponent(2 * high) < exponent(high) and high < 700 / max(parts):
            high *= 2
        high *= 2
    section = open_bracket(0.0, high)
    for _ in range(TILT_STEPS):
        section = narrow_down(section, exponent(section.x))
    return math.exp(min(section.least, 0.0))


def most_wrong(plan: PhasePlan, means: Sequence[float], law: Law) -> float:
    """A bound on the probability of a wrong answer, by the formula of this module.

    >>> round(most_wrong(PhasePlan((2000,), (1,), pooled=True), [0.6, 0.5, 0.5], Law(0)), 10)
    3e-09
    """
    rival_means(means)
    best, *others = sorted(means, reverse=True)
    total, left = 0.0, len(means)
    for p, keep in enumerate(plan.keep):
        counted = plan.sizes[: p + 1] if plan.pooled else plan.sizes[p : p + 1]
        q = [overtaking_bound(mean, best, counted, law) for mean in (others if plan.pooled else others[: left - 1])]
        total += min(sum(q[skipped:]) / (keep - skipped) for skipped in range(keep))
        left = keep
    return min(total, 1.0)


def least_wrong(name: str, means: Sequence[float], people: int, epsilon: float = math.inf) -> float:
    """A lower bound for every policy with that many people, on average over the orders in which the arms may be listed.

    `name` is "no_privacy", "central" or "local", as in bounds.py.

    >>> means = [0.75, 0.625, 0.5, 0.375, 0.25]
    >>> [round(least_wrong(name, means, 100, epsilon=0.1), 4) for name in ("no_privacy", "central", "local")]
    [0.006, 0.0796, 0.2481]
    """
    if name not in INFORMATION:
        raise UnknownName("lower bound", name, INFORMATION)
    to_positive("epsilon", epsilon)
    rival_means(means)
    best, *others = sorted(means, reverse=True)
    d = INFORMATION[name]
    costs = [(d(best, mean, epsilon), d(mean, best, epsilon)) for mean in others]
    if any(min(pair) == 0 for pair in costs):
        return 0.25

    def least(of_best: float) -> float:
        """The common cost, if that proportion of pulls goes to the best arm."""
        low, high = 0.0, sum(max(pair) for pair in costs)
        for _ in range(TILT_STEPS):
            cost = (low + high) / 2
            if of_best + sum(max(cost - of_best * to, 0.0) / back for to, back in costs) < 1:
                low = cost
            else:
                high = cost
        return high

    section = open_bracket(0.0, 1.0)
    for _ in range(TILT_STEPS):
        section = narrow_down(section, -least(section.x))
    return math.exp(section.least * people) / 4
