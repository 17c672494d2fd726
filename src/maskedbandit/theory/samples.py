"""Lower bounds on the sample complexity of best-arm identification with error at most δ, for every policy.

    average number of pulls  ≥  T* kl(δ, 1 − δ)            for every δ < 1/2: nothing here is asymptotic

for every policy that is δ-correct on all Bernoulli instances, on each instance with a unique best arm. T* is a
characteristic time, whose divergence is the information of one pull:

    no_privacy    kl                                                                                  [GK16, Thm. 1]
    central       d_ε                                                                                 [JA25]
    central_tv    the larger of T*_KL and T*_TV / ε                                                   [Azi24, Cor. 4.25]
    local         kl between randomized bits
    local_tv2     the larger of T*_KL and T*_TV2 / c(ε), c(ε) = min{4, e^{2ε}} (e^ε − 1)²             [AJMB24]

Proof. Let λ be an instance with another best arm, and P the distribution of all that is shown. The best arm of μ is
named with probability ≥ 1 − δ under μ and ≤ δ under λ, so KL(P_μ, P_λ) ≥ kl(δ, 1 − δ) by data processing. On the other
side KL(P_μ, P_λ) ≤ sum over a of E[N_a] d(μ_a, λ_a). Central: couple each reward with one of mean φ_a that differs from
it with probability |φ_a − μ_a|, independently of all others. By group privacy ln P(shown | rewards) changes by at most
ε for each that differs, so on average by at most ε sum of E[N_a] |φ_a − μ_a|; by the chain rule the coupled rewards
have the divergence sum of E[N_a] kl(φ_a, λ_a); and the infimum over φ is d_ε. Local: what a user sends is a randomized
bit with more noise behind it [KOV17], whatever was sent before. Now take the infimum over λ, and the supremum over the
proportions E[N_a] / E[N].

Papers state ln(1 / (3 δ)) or ln(1 / (2.4 δ)); both are less than kl(δ, 1 − δ), which this proof gives. "central" is
never below "central_tv", for d_ε is at most kl and at most ε |x − y|; nor is "local" below "local_tv2", for kl between
randomized bits is at most kl, and at most c(ε) (x − y)² [DJW13, Thm. 1].
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from maskedbandit.checks import check_fraction
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.theory.bounds import to_positive
from maskedbandit.theory.characteristic_times import characteristic_time, proportions

ArmMeans = Sequence[float]


def contraction(epsilon: float) -> float:
    """c(eps): the divergence of two distributions behind a local channel is at most c(eps) times their squared distance
    [DJW13, Thm. 1]."""
    epsilon = min(epsilon, 300.0)
    return min(4.0, math.exp(2 * epsilon)) * math.expm1(epsilon) ** 2


def time_of_bits(means: ArmMeans, epsilon: float) -> float:
    """T*_KL of the means of randomized bits."""
    flip, slope = 1 / (1 + math.exp(min(epsilon, 700.0))), math.tanh(epsilon / 2)
    if slope < 1e-5:  # the means are too close to subtract, and kl is 2 slope^2 (x - y)^2 to ten digits
        return characteristic_time(means, "TV2") / (2 * slope * slope)
    return characteristic_time([flip + slope * mean for mean in means])


TIMES: dict[str, Callable[[ArmMeans, float], float]] = {
    "no_privacy": lambda means, epsilon: characteristic_time(means),
    "central": lambda means, epsilon: characteristic_time(means, epsilon=epsilon),
    "central_tv": lambda means, epsilon: max(characteristic_time(means), characteristic_time(means, "TV") / epsilon),
    "local": time_of_bits,
    "local_tv2": lambda means, epsilon: max(
        characteristic_time(means), characteristic_time(means, "TV2") / contraction(epsilon)
    ),
}


def least_samples(name: str, means: ArmMeans, delta: float, epsilon: float = math.inf) -> float:
    """The least average number of pulls of a policy that is delta-correct on all instances; see samples.py for `name`.

    >>> mu = [0.75, 0.625, 0.5, 0.375, 0.25]
    >>> [round(least_samples(name, mu, 0.01, epsilon=0.1)) for name in ("no_privacy", "central", "local")]
    [553, 1277, 257865]
    """
    if name not in TIMES:
        raise UnknownName("lower bound", name, TIMES)
    return TIMES[name](means, not_tiny(epsilon)) * nats_needed(delta)


def not_tiny(epsilon: float) -> float:
    """A loss whose square is far from the smallest number."""
    if to_positive("epsilon", epsilon) < 1e-100:
        raise InvalidValue("epsilon", epsilon, "at least 1e-100, as otherwise bounds are too large for a number")
    return epsilon


def nats_needed(delta: float) -> float:
    """kl(delta, 1 - delta), of which 1 - delta is not rounded to 1; 0 from 1/2 on, where guessing may suffice."""
    check_fraction("delta", delta)
    return (1 - 2 * delta) * (math.log1p(-delta) - math.log(delta)) if delta < 0.5 else 0.0


def critical_epsilon(name: str, means: ArmMeans) -> float:
    """The epsilon above which privacy costs nothing by one of the bounds: there it equals that of "no_privacy".

        central       where arms meet at w* is within eps of both, in logits: there d_eps is kl
        central_tv    T*_TV / T*_KL
        local_tv2     c(eps) = T*_TV2 / T*_KL

    For "local" it is infinite: randomized bits always have less information. The published condition for "central" is
    that the best arm is within eps of all others [JA25], which is more than is needed.

    >>> mu = [0.95, 0.9, 0.9, 0.9, 0.5]
    >>> [round(critical_epsilon(name, mu), 4) for name in ("central", "central_tv", "local_tv2")]
    [2.8721, 0.2079, 0.8649]
    """
    if name == "central":
        return farthest(means)
    if name == "central_tv":
        return characteristic_time(means, "TV") / characteristic_time(means)
    if name == "local_tv2":
        ratio = math.sqrt(characteristic_time(means, "TV2") / characteristic_time(means))
        # e^eps (e^eps - 1) up to eps = ln 2, and 2 (e^eps - 1) from there on
        return math.log((1 + math.sqrt(1 + 4 * ratio)) / 2) if ratio <= 2 else math.log1p(ratio / 2)
    if name == "local":
        characteristic_time(means)
        return math.inf
    raise UnknownName("regime", name, ("central", "central_tv", "local", "local_tv2"))


def farthest(means: ArmMeans) -> float:
    """How far, in logits, the best arm or a rival is from the x where they meet at w*."""
    w, arms = proportions(means), np.asarray(means, dtype=float)
    if arms.max() == 1 or arms.min() == 0:
        return math.inf
    best = int(arms.argmax())
    v = w / w[best]
    x = (arms[best] + v * arms) / (1 + v)
    top, meeting, arm = (np.log(m) - np.log1p(-m) for m in (arms[best], x, arms))
    return float(np.maximum(top - meeting, meeting - arm).max())
