"""NewtonUCB: LinUCB for rewards that are bits, with a logistic model that takes a step of Newton's method per release.

    P(r = 1) = μ(wᵀz),     μ(s) = 1 / (1 + e^{−s}),     arm = argmax  w_aᵀz + α width_a(z)

All users of a cohort have the weights w that were fitted to the releases before. With p = μ(wᵀz), a user adds

    (c a z zᵀ, b z),     a = 4 p (1 − p) / D,     b = (r − p) / D,     D = 2 μ(|w|),     c = `products`.

|wᵀz| ≤ |w| and 1 ≤ D ≤ 2, so 0 ≤ a ≤ 1 and |b| ≤ 1/2: the bounds on which the noise is calibrated (see
privacy/statistics.py). At w = 0 noise is half as wide, in units of r z, as where |w| is large. Times D / (4 c) and D, a
release is

    H = Σ p (1 − p) z zᵀ,     g = Σ (r − p) z,

the curvature and the slope of the cohort's log-likelihood at its weights. The sum of these parabolas over all releases,
with a penalty ridge |w|² / 2, is highest where the slope G(w) = Σ_i (H_i (w_i − w) + g_i) − ridge w is 0. From 0 the
weights make three steps of iterated ridge regression towards it (see parts/linear.py), with V = Σ_i H_i + (ridge +
shift) I and width(z)² = zᵀV⁻¹ z.

So every user counts in one step only, at weights that were known when the user's cohort began. Later cohorts are
larger, and their weights better: what is wrong with the parabolas of the first ones then matters little. The noise of
H_i is multiplied by w_i − w, and matters little too. On a tree, later releases take back the noise of earlier ones, if
all are in the same units: as D is not, trees are refused.

**Guarantee**: what a user adds enters one release of each model, and depends on nobody but through earlier releases. So
a user loses what one release costs, as with LinUCB: the steps of Newton's method cost nothing more.

It is this project's own, and has no proved bound on its regret. [Sar26] has logistic policies with such bounds, which
solve a private optimization problem whenever they refit; docs/contextual.md says what is known of them.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.contextual.lin_ucb import LinUCB
from maskedbandit.policies.parts.linear import (
    LinearPolicy,
    Models,
    add_sums,
    entry_noise,
    fit_model,
    predict_value,
    repeat_fit,
)
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.statistics import Factors, Statistics, clip_factors, weighted_sums

LARGEST_LOG_ODDS = 30.0  # beyond, a mean is 0 or 1 to thirteen digits


@kernel
def logistic_mean(log_odds: float) -> float:
    """μ."""
    return 1.0 / (1.0 + math.exp(-min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)))


@kernel
def residual_range(s: Models, model: int) -> float:
    """D: twice the largest |r - p| of any user at the model's weights."""
    square = 0.0
    for i in range(s.weights.shape[1]):
        square += s.weights[model, i] * s.weights[model, i]
    return 2.0 * logistic_mean(math.sqrt(square))


@dataclass(frozen=True)
class NewtonUCB(LinearPolicy):
    """Optimism in a logistic model of rewards that are bits; for the parameters see `LinearPolicy`.

    Widths are in log-odds, of which four make about one of a mean: so `alpha` is larger than in a linear model.

    >>> from maskedbandit.law import NO_NOISE
    >>> from maskedbandit.policies.contextual_policy import Aim
    >>> s, law, z = NewtonUCB(products=1).init(k=2, aim=Aim(d=1, horizon=1000)), Law(NO_NOISE), np.array([1.0])
    >>> NewtonUCB.factors(s, 1, z, 1.0)  # before anything is known every mean is 1/2
    Factors(products=1.0, reward=0.5)
    >>> NewtonUCB.tell(s, law, model=1, n=9, sums=np.array([9.0, 4.5]))  # nine users with this z and a reward of 1
    >>> s.weights[:, 0].round(2).tolist()
    [0.0, 1.38]
    """

    alpha: float = 4.0
    products: Number = Fraction(1, 2)

    ask = LinUCB.ask

    def statistics(self, d: int, signed: bool) -> Statistics:
        return weighted_sums(d, Fraction(self.products))

    def needs(self, law: Law) -> str:
        return "releases that are independent of one another" if law.counter > 0 else super().needs(law)

    @staticmethod
    @kernel
    def factors(s: Models, model: int, z: np.ndarray, reward: float) -> Factors:
        p, wide = logistic_mean(predict_value(s, model, z)), residual_range(s, model)
        return clip_factors(4.0 * p * (1.0 - p) / wide, (reward - p) / wide)

    @staticmethod
    @kernel
    def tell(s: Models, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        d, wide, entry = s.weights.shape[1], residual_range(s, model), 0
        step, found = np.zeros(d), np.zeros(sums.size)  # H w, and the sums in units of H and g
        for i in range(d):
            for j in range(i, d):
                found[entry] = sums[entry] * wide / 4.0
                step[i] += found[entry] / s.products * s.weights[model, j]
                if i < j:
                    step[j] += found[entry] / s.products * s.weights[model, i]
                entry += 1
        for i in range(d):
            found[entry + i] = sums[entry + i] * wide + step[i]
        add_sums(s, model, n, found)
        fit_model(s, model, entry_noise(s, law, model) * wide / 4.0)
        repeat_fit(s, model)
