"""AdaP-TT: the top two arms, each known by the noisy mean of its last phase [AJMB23, Alg. 1; Azi24, Alg. 10].

Users come one by one. A phase of an arm ends when the arm's pulls have doubled, so phases have 1, 1, 2, 4, ... users;
the sum of a phase is released, and earlier phases are forgotten. Of arm a let m_a be the mean of the last phase, w_a
its users and j_a its number, and n_a the pulls of all phases. With S(u, v) = 1/u + 1/v and (x)_+ = max{x, 0},

    W_ab(m, w) = 2 (m_a − m_b)_+² / S(w_a, w_b)

is the evidence that a is better than b. The policy stops with a = argmax_a m_a once W_ab(m, w) ≥ c_ab for all b. Until
then the leader and the challenger are

    B = argmax_a  m_a + √(j_a / w_a) + radius(noise, j_a) / w_a,
    C = argmin over a ≠ B of  W_Ba(m, n),

and B is pulled in a fraction `beta` of the rounds in which it leads, by tracking, else C. The threshold is

    c_ab = 2 (2 C_G(ln((K − 1) / d) / 2) + 2 ln(4 + ln w_a) + 2 ln(4 + ln w_b)) + 4 (r_a² / w_a + r_b² / w_b),
    d = δ / (2 ζ(2)² k_a² k_b²),   r_a = radius(noise, ln(2 K ζ(2) k_a² / δ)),   k = 2 + log2 w.

Phases go on while sums are in flight (see phases.py). If a phase overtook another, the larger of them counts.

**Guarantee**: wrong with probability ≤ δ, on every channel and for every delay, plus the `failure` of the channel for
each sum that may wrap around. The sizes of phases are known beforehand, so (m_a − m_b) − (μ_a − μ_b) = D + Y with D of
variance proxy S/4 and Y_a, −Y_b each above r / w with probability ≤ the part of δ that is given to k; (D + Y)_+² ≤ 2
D_+² + 2 Y_+², and Y_+² is at most S (r_a² / w_a + r_b² / w_b) by Cauchy-Schwarz. (C_G allows for a maximum over all n,
which the fixed sizes make needless: Hoeffding's ln((K − 1) / d) would do.) Devices may drop out if that does not depend
on rewards: w counts the users in the release. While these are at least an eighth of every phase, k is at least 2 and j
− 3, so the parts of δ still add up to at most δ.

E τ ≤ 4 T*_β (1 + √(1 + 8 gap_max² / ε²)) ln(1/δ) (1 + o(1)) under central trust, if no two means are equal, T*_β the
characteristic time of Gaussian arms of variance 1/4 [Azi24, Thm. 5.20].

Departures: noise may be any of known tails; with discrete Laplace noise r is ln(.) / ε, as published. If worse arms
have equal means, the published policy may never stop; so every arm gets a minimum fraction of the pulls, unless
`forced=0` (see phases.py). `threshold="heuristic"` is the rule of the published program, W / 4 ≥ ln(1/δ) + ln(1 + ln
w_a) + ln(1 + ln w_b) + r_a² / w_a + r_b² / w_b with r = radius(noise, ln(1/δ)): not proved.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice, check_fraction
from maskedbandit.core import Decision, Floats, kernel, large_kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.choice import NONE_YET, Turns, begin_turns, pick_highest, take_turn, weigh_arm
from maskedbandit.policies.parts.phases import (
    BEST,
    LEADER,
    NEWS,
    PhaseProgress,
    begin_phases,
    check_forced,
    decide_settled,
    has_news,
    is_settled,
    is_starved,
    lacks_grid,
    note_failure,
    note_phase,
    pull_arm,
)
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.thresholds import ZETA_2, gaussian_base, gaussian_threshold


class State(NamedTuple):
    """The largest released phase of every arm, and the one under way."""

    mean: np.ndarray  # [k] of that phase: the last one, if none overtook another
    size: np.ndarray  # [k] its users
    cost: np.ndarray  # [k] of making this arm look as good as the leader, up to the current number of pulls
    phases: PhaseProgress
    turns: Turns
    delta: float
    heuristic: int


@kernel
def challenger(s: State, rng: np.random.Generator) -> int:
    """The starved arm with the fewest pulls, else the arm of least cost; ties are broken at random."""
    pulls, leader, best = s.phases.pulls, s.phases.clock[LEADER], NONE_YET
    n = pulls[leader]
    for a in range(pulls.size):
        if a != leader:
            value = 1.0 / pulls[a] if is_starved(s.phases, a) else -(s.cost[a] * pulls[a] / (pulls[a] + n))
            best = weigh_arm(best, a, value, rng)
    return best.arm


@kernel
def rank_all(s: State, law: Law, most: float, rng: np.random.Generator) -> int:
    """Find the leader, the costs of the others, gap min(gap, most), and the best arm."""
    for a in range(s.mean.size):
        j, w = s.phases.number[a], s.size[a]
        s.cost[a] = s.mean[a] + math.sqrt(j / w) + radius(law, 1, w, j) / w
    leader = pick_highest(s.cost, rng)
    for a in range(s.mean.size):
        gap = max(0.0, s.mean[leader] - s.mean[a])
        s.cost[a] = gap * min(gap, most)
    best = pick_highest(s.mean, rng)
    s.phases.clock[LEADER], s.phases.clock[BEST] = leader, best
    return best


@kernel
def doubt_of(arms: int, w: int, delta: float) -> float:
    """ln(K zeta(2) k^2 / delta), for one arm and the phase of w users."""
    k = 2 + math.log2(w)
    return math.log(arms * ZETA_2 * k * k / delta)


@kernel
def gap_threshold(law: Law, arms: int, w_a: int, w_b: int, delta: float) -> float:
    """The proved threshold of W_ab, for phases of w_a and w_b users."""
    k = (2 + math.log2(w_a)) * (2 + math.log2(w_b)) * ZETA_2
    rewards = gaussian_threshold(gaussian_base(arms, delta / (2 * k * k)), w_a, w_b)
    r_a = radius(law, 1, w_a, doubt_of(arms, w_a, delta / 2))
    r_b = radius(law, 1, w_b, doubt_of(arms, w_b, delta / 2))
    return 2 * rewards + 4 * (r_a * r_a / w_a + r_b * r_b / w_b)


@kernel
def heuristic_threshold(law: Law, w_a: int, w_b: int, delta: float) -> float:
    """The threshold of W_ab in the published program."""
    x = math.log(1 / delta)
    r_a, r_b = radius(law, 1, w_a, x), radius(law, 1, w_b, x)
    rewards = x + math.log1p(math.log(w_a)) + math.log1p(math.log(w_b))
    return 4 * (rewards + r_a * r_a / w_a + r_b * r_b / w_b)


@kernel
def weigh(s: State, law: Law, rng: np.random.Generator) -> None:
    """After a release: the best arm, the leader and all tests."""
    if not has_news(s.phases):
        return
    k, a = s.mean.size, rank_all(s, law, math.inf, rng)
    for b in range(k):
        if b != a:
            u, v, gap = s.size[a], s.size[b], s.mean[a] - s.mean[b]
            enough = heuristic_threshold(law, u, v, s.delta) if s.heuristic else gap_threshold(law, k, u, v, s.delta)
            if not 2 * gap * gap * (u * v / (u + v)) >= enough:  # a nan threshold is never reached
                note_failure(s.phases, b)


@kernel
def next_pull(s: State, rng: np.random.Generator) -> Decision:
    """The next decision, once all tests are up to date."""
    if is_settled(s.phases):
        return decide_settled(s.phases, rng)
    leader = int(s.phases.clock[LEADER])
    arm = leader if take_turn(s.turns, leader) else challenger(s, rng)
    return pull_arm(s.phases, arm)


@dataclass(frozen=True)
class AdaPTT(Policy):
    """Stopping by the noisy means of the last phases. `beta` is the fraction of pulls of the leader; `forced` is the
    minimum number of pulls of an arm, as a fraction of all pulls / K (see phases.py).

    >>> from maskedbandit.law import LAPLACE
    >>> law = Law(LAPLACE, scale=1.0, grid=1, per_release=1)
    >>> round(gap_threshold(law, 5, 1024, 1024, 0.01), 4)
    63.2267
    """

    goal = "identify"

    beta: float = 0.5
    forced: float = 0.5
    threshold: Literal["proved", "heuristic"] = "proved"

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)
        check_forced(self.forced)
        check_choice("threshold", self.threshold, ("proved", "heuristic"))

    def init(self, k: int, delta: float) -> State:
        return begin_tt(k, self.beta, self.forced, delta, self.threshold == "heuristic")

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

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if n >= s.size[arm]:
            s.mean[arm] = total / n
            s.size[arm] = n
        note_phase(s.phases, arm)


def begin_tt(k: int, beta: float, forced: float, delta: float, heuristic: bool = False) -> State:
    """The state of k arms before the first release."""
    known = np.zeros(k), np.zeros(k, np.int64), np.zeros(k), begin_phases(k, 2.0, forced), begin_turns(k, beta)
    return State(*known, float(delta), int(heuristic))
