"""AdaC-OFUL: optimism in a linear model where contexts are public and rewards are not [Azi24, Alg. 9].

    V = ridge I + Σ z zᵀ,     w = V⁻¹ b,     b = sum of all releases of sum r z,     Y the noise in b
    arm = argmax  wᵀz + (β + γ) √(zᵀV⁻¹ z)
    β = √((ln(det V / ridge^d) / 2 + ln(2 / p)) / 2) + √(ridge) `norm`
    γ = (bound on |Y|) / √(smallest eigenvalue of V)

Contexts and arms are public, so V is known and decides when a cohort closes: once det V has grown by a factor of 1 +
`growth`, and the cohort has `LEAST_COHORT` users. So there are O(d ln T) releases, each with one draw of noise,
whatever the number of arms. With weights θ, |θ| ≤ `norm`, and independent rewards in [0, 1] of mean θᵀz, always

    |w − θ|_V ≤ β + γ         with probability at least 1 − p, p = `failure`:

β by [APS11, Thm. 1], as rewards are 1/2-sub-Gaussian, and γ as |Y|_{V⁻¹} ≤ |Y| / √(smallest eigenvalue). What is known
of the noise bounds |Y| after m releases with probability 1 − q, q = p / (2 m (m + 1)): if its d numbers are
sub-Gaussian of deviation s, and in general by Chernoff's bound for each of them,

    |Y| ≤ s √(d + 2 √(d x) + 2 x),     x = ln(1 / q)  [HKZ12],         |Y| ≤ √d radius(x + ln d + ln 2).

Departures: discrete Gaussian noise of a central server is the algorithm of [Azi24], where the smallest eigenvalue is
bounded from below by an assumption on contexts; here it is computed, as V is known. V depends on the noise of earlier
releases, by the arms that they led to, so the two are not independent: a bound on |Y| serves any V, one on |Y|_{V⁻¹}
would not.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_fraction, check_positive
from maskedbandit.core import kernel
from maskedbandit.law import NO_NOISE, Law, is_gaussian, is_noiseless
from maskedbandit.noise_bounds import deviation, radius
from maskedbandit.policies.contextual_policy import Aim, ContextualPolicy
from maskedbandit.policies.parts.linear import Models, begin_models, fit_model, highest_bound
from maskedbandit.privacy.statistics import clip_vector

LEAST_COHORT = 32  # users of a cohort: a sum of fewer is mostly noise, and shuffling needs a crowd
SQUARINGS = 6  # the largest eigenvalue is computed to within a factor of d^(1/128)


class State(NamedTuple):
    """Estimates of rewards, as of the last release; the contexts of all users."""

    model: Models  # its spread is that of bounds, times the square of the width
    inverse: np.ndarray  # [d, d] of V with the contexts of the open cohort
    grown: np.ndarray  # [2] ln det V: above that of ridge I at the last release, and how much it grew since
    width: np.ndarray  # [1] beta + gamma
    enough: float  # how much it grows in a cohort
    norm: float
    failure: float


@kernel
def largest(a: np.ndarray) -> float:
    """An upper bound on the largest eigenvalue of a positive matrix: |a^p|^(1/p), |.| the root of all squares."""
    d, power, scale, exponent = a.shape[0], a.copy(), 0.0, 1.0
    square = np.zeros((d, d))
    for step in range(SQUARINGS + 1):
        total = 0.0
        for i in range(d):
            for j in range(d):
                total += power[i, j] * power[i, j]
        norm = math.sqrt(total)
        scale += math.log(norm) / exponent
        if step == SQUARINGS:
            break
        for i in range(d):
            for j in range(d):
                inner = 0.0
                for k in range(d):
                    inner += power[i, k] * power[k, j]
                square[i, j] = inner / norm / norm
        power[:] = square
        exponent *= 2.0
    return math.exp(scale)


@kernel
def length(law: Law, m: int, n: int, d: int, x: float) -> float:
    """A bound on the norm of d numbers' noise in m releases over n users, wrong with probability at most exp(-x)."""
    if is_noiseless(law):
        return 0.0
    if is_gaussian(law):
        return deviation(law, m, n) * math.sqrt(d + 2 * math.sqrt(d * x) + 2 * x)
    return math.sqrt(d) * radius(law, m, n, x + math.log(2.0 * d))


@kernel
def refresh_models(s: State, law: Law) -> None:
    """Compute weights and widths from all releases."""
    model, d = s.model, s.inverse.shape[0]
    fit_model(model, 0, 0.0)
    s.inverse[:] = model.work[2]
    s.grown[:] = 0.0
    for i in range(d):
        s.grown[0] += 2 * math.log(model.work[0, i, i]) - math.log(model.ridge)
    m = int(model.releases[0])
    s.width[0] = math.sqrt((max(s.grown[0], 0.0) / 2 + math.log(2 / s.failure)) / 2) + math.sqrt(model.ridge) * s.norm
    if m > 0:
        noise = length(law, m, int(model.users[0]), d, math.log(2.0 * m * (m + 1) / s.failure))
        s.width[0] += noise * math.sqrt(largest(s.inverse))
    for i in range(model.spread.shape[1]):
        model.spread[0, i] *= s.width[0] * s.width[0]


@dataclass(frozen=True)
class AdaCOFUL(ContextualPolicy):
    """Optimism on public contexts; `norm` bounds |θ|, and `failure` the probability that an interval is wrong.

    `ridge` is the parameter of the ridge regression. A cohort closes once det V has grown by a factor of 1 + `growth`.

    >>> s, law, z = AdaCOFUL().init(k=2, aim=Aim(d=2, horizon=1000)), Law(NO_NOISE), np.array([0.5, 0.5])
    >>> AdaCOFUL.arrived(s, 1, z)
    >>> bool(AdaCOFUL.due(s, law, 0, 32))  # (ridge + 1/2) / ridge is 6
    True
    >>> AdaCOFUL.tell(s, law, model=0, n=1, sums=z)
    >>> (s.model.weights[0] * 1.2).round(12)
    array([1., 1.])
    """

    protects = "rewards"

    ridge: float = 0.1
    growth: float = 1.0
    norm: float = 1.0
    failure: float = 0.001

    def __post_init__(self) -> None:
        for name, value in (("ridge", self.ridge), ("growth", self.growth), ("norm", self.norm)):
            check_positive(name, value)
        check_fraction("failure", self.failure)

    def models(self, k: int) -> int:
        return 1

    def init(self, k: int, aim: Aim) -> State:
        model = begin_models(1, aim.d, 1.0, float(self.ridge), 1.0, 1, 0.0)
        numbers = math.log1p(self.growth), float(self.norm), float(self.failure)
        s = State(model, np.zeros((aim.d, aim.d)), np.zeros(2), np.zeros(1), *numbers)
        refresh_models(s, Law(NO_NOISE))
        return s

    def lacks(self, rows: int, fixed: bool) -> str:
        return "a context for every arm, as all arms share one model" if rows == 1 else ""

    @staticmethod
    @kernel
    def ask(s: State, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        return highest_bound(s.model, x, pool, rng)

    @staticmethod
    @kernel
    def direction(s: State, arm: int, x: np.ndarray, z: np.ndarray) -> None:
        for i in range(z.size):
            z[i] = x[i]
        clip_vector(z, True)

    @staticmethod
    @kernel
    def arrived(s: State, arm: int, z: np.ndarray) -> None:
        d, square = z.size, 0.0
        towards = np.zeros(d)  # V^-1 z
        for i in range(d):
            for j in range(d):
                s.model.gram[0, i, j] += z[i] * z[j]
                towards[i] += s.inverse[i, j] * z[j]
            square += towards[i] * z[i]
        s.grown[1] += math.log1p(square)
        for i in range(d):
            for j in range(d):
                s.inverse[i, j] -= towards[i] * towards[j] / (1 + square)

    @staticmethod
    @kernel
    def due(s: State, law: Law, model: int, n: int) -> bool:
        return n >= LEAST_COHORT and s.grown[1] > s.enough

    @staticmethod
    @kernel
    def tell(s: State, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        for i in range(sums.size):
            s.model.response[0, i] += sums[i]
        s.model.users[0] += n
        s.model.releases[0] += 1
        refresh_models(s, law)
