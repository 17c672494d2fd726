"""AdaP-TT*: AdaP-TT with a cost that is linear in gaps above 3 ε [Azi24, Sec. 5.4.3; AJMB24].

Phases, leader, tracking and forced exploration are those of AdaP-TT (see ada_p_tt.py, also for the notation); with g =
(m_a − m_b)_+,

    W_ab(m, w) = 2 g min(3 e, g) / S(w_a, w_b),         e = 1 / radius(noise, 1): ε, with Laplace noise,

and with r = radius(noise, ln(3 K ζ(2) k² / δ)) and 2 h = Wbar(2 ln(3 K ζ(2) k² / δ) + 4 ln(4 + ln w) + 1/2) the
threshold is

    c_ab(2 δ / 3) / 2 + 2 √2 (r_a √(h_a / w_a) + r_b √(h_b / w_b))                if g < 3 e,
    12 e max(r_a, r_b) + 3 √2 e (√(w_a h_a) + √(w_b h_b))                             otherwise.

**Guarantee**: wrong with probability ≤ δ, on every channel. With D and Y as in AdaP-TT, and except with probability δ /
3 each, D is bounded as there, its part of each arm by √(h / 2 w), the noise of each arm by r / w. In (D + Y)² = D² + Y²
+ 2 D Y the last is at most the second term of the first threshold, as h and r grow with w.

E τ = O(T*_TV / ε) ln(1/δ) under central trust, if ε is small and no two means are equal [Azi24, Thm. 5.23]. For gaps on
both sides of 3 ε it can be slower than AdaP-TT: the second threshold grows like the root of the users of the better
arm, W with those of the worse one alone.

Departures: in the thesis the maximum of k lacks its square. 12 e max(r_a, r_b) could be half of that. Noise and forced
exploration are as in AdaP-TT. No heuristic threshold was published.
"""

import math
from dataclasses import dataclass

import numpy as np

from maskedbandit.checks import check_fraction
from maskedbandit.core import Decision, Floats, kernel, large_kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.identify.ada_p_tt import (
    AdaPTT,
    State,
    begin_tt,
    doubt_of,
    gap_threshold,
    next_pull,
    rank_all,
)
from maskedbandit.policies.parts.phases import NEWS, check_forced, has_news, lacks_grid, note_failure
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.thresholds import w_bar


@kernel
def linear_from(law: Law) -> float:
    """3 e: costs are linear in gaps above it. Infinite without noise."""
    noise = radius(law, 1, 1, 1.0)
    return 3 / noise if noise > 0.0 else math.inf


@kernel
def spread(arms: int, w: int, delta: float) -> float:
    """h, for w users."""
    return w_bar(2 * doubt_of(arms, w, delta / 3) + 4 * math.log(4 + math.log(w)) + 0.5) / 2


@kernel
def reach(law: Law, arms: int, w: int, delta: float) -> float:
    """r, for w users."""
    return radius(law, 1, w, doubt_of(arms, w, delta / 3))


@kernel
def near_threshold(law: Law, arms: int, w_a: int, w_b: int, delta: float) -> float:
    """The threshold of W_ab for a gap below 3 e."""
    r_a, r_b = reach(law, arms, w_a, delta), reach(law, arms, w_b, delta)
    cross = r_a * math.sqrt(spread(arms, w_a, delta) / w_a) + r_b * math.sqrt(spread(arms, w_b, delta) / w_b)
    return gap_threshold(law, arms, w_a, w_b, 2 * delta / 3) / 2 + 2 * math.sqrt(2.0) * cross


@kernel
def far_threshold(law: Law, arms: int, w_a: int, w_b: int, delta: float) -> float:
    """The threshold of W_ab for a gap of 3 e or more."""
    noise = max(reach(law, arms, w_a, delta), reach(law, arms, w_b, delta))
    rewards = math.sqrt(w_a * spread(arms, w_a, delta)) + math.sqrt(w_b * spread(arms, w_b, delta))
    return linear_from(law) * (4 * noise + math.sqrt(2.0) * rewards)


@kernel
def weigh(s: State, law: Law, rng: np.random.Generator) -> None:
    """After a release: the best arm, the leader and all tests."""
    if not has_news(s.phases):
        return
    k, linear = s.mean.size, linear_from(law)
    a = rank_all(s, law, linear, rng)
    for b in range(k):
        if b != a:
            u, v, gap = s.size[a], s.size[b], s.mean[a] - s.mean[b]
            enough = near_threshold(law, k, u, v, s.delta) if gap < linear else far_threshold(law, k, u, v, s.delta)
            if not 2 * gap * min(gap, linear) * (u * v / (u + v)) >= enough:
                note_failure(s.phases, b)


@dataclass(frozen=True)
class AdaPTTStar(Policy):
    """AdaP-TT with a cost that takes into account how noise hides large gaps; the parameters are those of AdaP-TT.

    >>> from maskedbandit.law import LAPLACE
    >>> law = Law(LAPLACE, scale=1.0, grid=1, per_release=1)
    >>> round(near_threshold(law, 5, 1024, 1024, 0.01), 4), round(far_threshold(law, 5, 1024, 1024, 0.01), 4)
    (42.088, 1356.9999)
    """

    goal = "identify"

    beta: float = 0.5
    forced: float = 0.5

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)
        check_forced(self.forced)

    def init(self, k: int, delta: float) -> State:
        return begin_tt(k, self.beta, self.forced, delta)

    def needs(self, law: Law) -> str:
        return super().needs(law) or lacks_grid(law)

    def means(self, s: State) -> Floats:
        return np.where(s.size > 0, s.mean, np.nan)

    @staticmethod
    @large_kernel
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if s.phases.clock[NEWS] == 1:
            weigh(s, law, rng)
        return next_pull(s, rng)

    tell = AdaPTT.tell
