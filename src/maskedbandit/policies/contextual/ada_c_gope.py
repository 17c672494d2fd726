"""AdaC-GOPE: elimination in phases, each a G-optimal design, where arms are fixed and public [Azi24, Alg. 8].

In phase l = 1, 2, ... the arms A_l are left and span r dimensions, π is a G-optimal design on them (see design.py), g =
max aᵀV(π)⁻¹ a is about r, and

    T(a) = ceil(c π(a)) pulls,     z_a = √(c / g) L⁻¹ a,  LLᵀ = Σ_a T(a) a aᵀ,     M = Σ_a T(a) z_a aᵀ,
    w = M⁻¹ (released sum of r z),     A_{l+1} = {a : wᵀa + e_a ≥ max_b (wᵀb − e_b)}.

|z_a| ≤ 1, as aᵀ(LLᵀ)⁻¹ a ≤ g / c: so noise on r z is as wide as on a reward, and the noise of w has the covariance (g
/ c) (LLᵀ)⁻¹ times the variance of the channel's noise, independently in every phase. That is the noise of [Azi24],
made by any channel. z is cut to steps of 1/256, so M is computed from the rounded vectors: w is unbiased.

For rewards in [0, 1], wᵀa is off by more than e_a with probability at most p / (k l (l + 1)), where p = `failure` and

    e_a = √((x/2) Σ_b T(b) (vᵀz_b)²) + |v| Q,     v = (Mᵀ)⁻¹ a,     x = ln(4 k l (l + 1) / p),

the first term by Hoeffding's inequality, and Q by Chernoff's bound at x for the noise of one number. The noise of a
vector has a cumulant K(λ) that is convex in λ², so a combination of unit length has one of at most K. c is the least
with

    √(g x / (2 c)) + (g / c) Q ≤ 2^−l.

Then with probability at least 1 − p the best arm is never lost, and all arms left after phase l are within 4 2^−l of
it.

Of the arms of a phase the one with the most pulls left is next, with ties broken at random.

With delays, users can come when all pulls of a phase are asked for but some are not yet released: they get the arm that
looks best, and add nothing to any sum (z = 0).

Departures: [Azi24] bounds the noise of w in all directions at once, by a norm. Only the directions of k arms matter,
and x includes their union bound already; the Q of [Azi24] is larger by a factor of about √(1 + d / (2 x)).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_fraction
from maskedbandit.core import kernel
from maskedbandit.law import Law, is_noiseless, is_one_laplace_draw
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.contextual_policy import Aim, ContextualPolicy
from maskedbandit.policies.parts.choice import NONE_YET, weigh_arm
from maskedbandit.policies.parts.design import factor_information, optimize_weights, write_coordinates
from maskedbandit.policies.parts.linear import factor_matrix, invert_triangle
from maskedbandit.privacy.statistics import clip_vector

PHASE, RANK, PLANNED, ARRIVED = range(4)


class State(NamedTuple):
    """The plan of a phase, and the results of the phases before."""

    arms: np.ndarray  # [k, d] features
    left: np.ndarray  # [k] bool: not eliminated
    value: np.ndarray  # [k] estimated at the last release; -inf: eliminated
    u: np.ndarray  # [k, d] features in the first coordinates of a basis
    z: np.ndarray  # [k, d] what a planned reward is multiplied with, on the grid
    pulls: np.ndarray  # [k] of the plan
    open: np.ndarray  # [k] of them, not yet served
    inverse: np.ndarray  # [d, d] of M
    clock: np.ndarray  # [4] phase, dimensions, pulls of the plan, and those that have arrived
    horizon: int
    failure: float


@kernel
def direction_noise(law: Law, n: int, x: float) -> float:
    """Q: the noise in one release over n users, combined in any direction, exceeds it with a chance below 2 exp(-x)."""
    if is_noiseless(law):
        return 0.0
    if is_one_laplace_draw(law, n):  # `radius` uses the tail of one draw; combinations have others
        square = x * (1 + x / 2) / (1 + x * (2 + x / 2))
        return law.scale * (x - math.log1p(-square)) / math.sqrt(square)
    return radius(law, 1, n, x)


@kernel
def chances(s: State) -> float:
    """x in phase l."""
    phase = float(s.clock[PHASE])
    return math.log(4 * s.arms.shape[0] * phase * (phase + 1) / s.failure)


@kernel
def phase_budget(s: State, law: Law, g: float) -> int:
    """c, the pulls of the phase; larger than the number of users left if the phase cannot end before the horizon."""
    x, aim, low, high = chances(s), 0.5 ** s.clock[PHASE], 1, s.horizon
    while low < high:
        c = (low + high) // 2
        if math.sqrt(g * x / (2 * c)) + g / c * direction_noise(law, c, x) <= aim:
            high = c
        else:
            low = c + 1
    return high


@kernel
def begin_phase(s: State, law: Law) -> None:
    """Begin the next phase."""
    k = s.arms.shape[0]
    s.clock[PHASE] += 1
    s.clock[PLANNED] = s.clock[ARRIVED] = 0
    s.pulls[:] = 0
    s.open[:] = 0
    weights = np.zeros(k)
    r = write_coordinates(s.arms, s.left, s.u, weights)
    s.clock[RANK] = r
    several = 0
    for a in range(k):
        several += s.left[a]
    if several < 2 or r == 0:
        return  # the best arm is found
    g = optimize_weights(s.u, r, s.left, weights)
    c = phase_budget(s, law, g)
    for a in range(k):
        weights[a] = math.ceil(c * weights[a])
    lower, low = np.zeros((r, r)), np.zeros((r, r))
    factor_information(s.u, r, weights, lower)
    invert_triangle(lower, low)
    m, gram, scale = np.zeros((r, r)), np.zeros((r, r)), math.sqrt(c / g)
    for a in range(k):
        s.z[a] = 0.0
        for i in range(r):
            for j in range(i + 1):
                s.z[a, i] += scale * low[i, j] * s.u[a, j]
        clip_vector(s.z[a], True)
        seen = False
        for i in range(r):
            seen = seen or s.z[a, i] != 0.0
        if seen and weights[a] > 0:
            s.pulls[a] = s.open[a] = int(weights[a])
            s.clock[PLANNED] += s.pulls[a]
            for i in range(r):
                for j in range(r):
                    m[i, j] += s.pulls[a] * s.z[a, i] * s.u[a, j]
    for i in range(r):
        for j in range(r):
            for b in range(r):
                gram[i, j] += m[b, i] * m[b, j]
    factor_matrix(gram, 0.0, lower)
    invert_triangle(lower, low)
    s.inverse[:] = 0.0
    for i in range(r):  # M^-1 = (M' M)^-1 M'
        for j in range(r):
            for b in range(r):
                for e in range(max(i, b), r):
                    s.inverse[i, j] += low[e, i] * low[e, b] * m[j, b]


@kernel
def margin(s: State, law: Law, n: int, a: int) -> float:
    """e_a, after the plan's rewards were released in a cohort of n users."""
    r, x = s.clock[RANK], chances(s)
    v, square, spread = np.zeros(r), 0.0, 0.0
    for j in range(r):
        for i in range(r):
            v[j] += s.inverse[i, j] * s.u[a, i]
        square += v[j] * v[j]
    for b in range(s.pulls.size):
        if s.pulls[b] > 0:
            inner = 0.0
            for j in range(r):
                inner += v[j] * s.z[b, j]
            spread += s.pulls[b] * inner * inner
    return math.sqrt(x / 2 * spread) + math.sqrt(square) * direction_noise(law, n, x)


@dataclass(frozen=True)
class AdaCGOPE(ContextualPolicy):
    """Elimination of fixed arms; with chance `failure` the best is lost. Arms have the same contexts in every round.

    >>> from maskedbandit.law import NO_NOISE
    >>> s, law, x = AdaCGOPE().init(k=2, aim=Aim(d=2, horizon=10**6)), Law(NO_NOISE), np.eye(2)
    >>> AdaCGOPE.ask(s, x, np.array([0, 1]), law, np.random.default_rng(1))
    0
    >>> s.pulls.tolist()  # of phase 1, whose margin is 1/2
    [20, 20]
    """

    protects = "rewards"

    failure: float = 0.001

    def __post_init__(self) -> None:
        check_fraction("failure", self.failure)

    def models(self, k: int) -> int:
        return 1

    def init(self, k: int, aim: Aim) -> State:
        (arms, u, z), (pulls, left) = np.zeros((3, k, aim.d)), np.zeros((2, k), np.int64)
        inverse, clock, failure = np.zeros((aim.d, aim.d)), np.zeros(4, np.int64), float(self.failure)
        return State(arms, left == 0, np.zeros(k), u, z, pulls, left, inverse, clock, aim.horizon, failure)

    def needs(self, law: Law) -> str:
        return "releases that are independent of one another" if law.counter > 0 else super().needs(law)

    def lacks(self, rows: int, fixed: bool) -> str:
        return "" if rows > 1 and fixed else "a context for every arm, the same in every round"

    def findings(self, s: State) -> dict[str, float]:
        return {"phases": float(max(s.clock[PHASE] - 1, 0)), "arms left": float(s.left.sum())}

    @staticmethod
    @kernel
    def ask(s: State, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        if s.clock[PHASE] == 0:  # the first contexts are those of every round: arms are fixed and public
            s.arms[:] = x
            begin_phase(s, law)
        planned, other = NONE_YET, NONE_YET
        for i in range(pool.size):
            arm = int(pool[i])
            if s.open[arm] > 0:
                planned = weigh_arm(planned, arm, float(s.open[arm]), rng)
            elif planned.arm < 0:
                other = weigh_arm(other, arm, s.value[arm], rng)
        best = planned.arm if planned.arm >= 0 else other.arm
        for i in range(x.shape[1]):
            if x[best, i] != s.arms[best, i]:
                return -1  # the features of the arm have changed
        return best

    @staticmethod
    @kernel
    def direction(s: State, arm: int, x: np.ndarray, z: np.ndarray) -> None:
        z[:] = 0.0
        if s.open[arm] > 0:
            s.open[arm] -= 1
            for i in range(z.size):
                z[i] = s.z[arm, i]

    @staticmethod
    @kernel
    def arrived(s: State, arm: int, z: np.ndarray) -> None:
        for i in range(z.size):
            if z[i] != 0.0:
                s.clock[ARRIVED] += 1
                break

    @staticmethod
    @kernel
    def due(s: State, law: Law, model: int, n: int) -> bool:
        return 0 < s.clock[PLANNED] == s.clock[ARRIVED]

    @staticmethod
    @kernel
    def tell(s: State, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        r, floor = s.clock[RANK], -math.inf
        margins = np.zeros(s.left.size)
        for a in range(s.left.size):
            if s.left[a]:
                s.value[a] = 0.0
                for i in range(r):
                    for j in range(r):
                        s.value[a] += s.u[a, i] * s.inverse[i, j] * sums[j]
                margins[a] = margin(s, law, n, a)
                floor = max(floor, s.value[a] - margins[a])
        for a in range(s.left.size):
            if s.left[a] and s.value[a] + margins[a] < floor:
                s.left[a] = False
                s.value[a] = -math.inf
        begin_phase(s, law)
