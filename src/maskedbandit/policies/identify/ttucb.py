"""TTUCB: the arm of the highest upper confidence bound against the one that is hardest to tell from it [JD23].

    B = argmax_a m_a + 2 σ √(ln n / N_a),      C = argmin_{b ≠ B} W_Bb,      n = number of this pull
    W_ab = (m_a − m_b)_+² / (2 σ² (1/N_a + 1/N_b)),      arm = B or C, by tracking (see choice.py)

It stops with i = argmax_a m_a as soon as for all b

    W_ib ≥ 2 C_G(ln((K − 1)/δ) / 2) + 4 ln(4 + ln(t/2)),      t = n − 1 users so far (see thresholds.py).

Rewards in [0, 1] are sub-Gaussian with σ = 1/2, and so are the bits of randomized response. **Over randomized response
this is CTB-TT**, the algorithm for local privacy of [AJMB24]: m_a is then the mean of the bits that users sent, which
shrinks gaps by (e^ε − 1)/(e^ε + 1), and nothing else changes; the threshold has no term for privacy, because all noise
is in the bits. Gaussian noise in each release makes σ² = 1/4 + its variance. Other noise is refused, because its tails
are heavier than sub-Gaussian or their size is not known.

Wrong with probability ≤ δ. If all means differ, E[τ] ≤ T*_β ln(1/δ) (1 + o(1)) as δ goes to 0, T*_β the least possible
for Gaussian rewards of this σ and a fraction β of pulls for the best arm [JD23]; over randomized response that is at
most (1 + 2/(e^ε − 1))² times the time for TV² [AJMB24].

`threshold="heuristic"` is ln((1 + ln t)/δ), which is **not proved** but is what papers use in experiments.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice, check_fraction
from maskedbandit.core import Decision, kernel, lean_kernel
from maskedbandit.law import Law, adds_noise, count_draws, is_gaussian
from maskedbandit.policies.parts.choice import NONE_YET, Turns, begin_turns, take_turn, weigh_arm
from maskedbandit.policies.parts.one_by_one import (
    LAST,
    RELEASED,
    add_reward,
    count_ones,
    first_pull,
    none_due,
    serve_one,
)
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.thresholds import gaussian_base

RIVAL = 3  # in the clock: the rival that failed the test last


class State(NamedTuple):
    """What TTUCB remembers of each arm."""

    total: np.ndarray  # [k] released
    n: np.ndarray  # [k]
    mean: np.ndarray  # [k] of rewards, or of bits
    inverse: np.ndarray  # [k] 1 / n
    width: np.ndarray  # [k] 1 / sqrt(n)
    clock: np.ndarray  # [4] see one_by_one.py
    noise: np.ndarray  # [2] sigma^2 (0: not known yet) and the last threshold computed, in units of 2 sigma^2
    turns: Turns
    base: float  # the part of the threshold that does not grow
    heuristic: int


VARIANCE, THRESHOLD = range(2)


@kernel
def recount(s: State, law: Law, a: int) -> None:
    """Bring up to date what depends on the releases of an arm."""
    n = float(s.n[a])
    s.mean[a] = count_ones(law, s.total[a], n) / n
    s.inverse[a] = 1 / n
    s.width[a] = 1 / math.sqrt(n)


@kernel
def apart(s: State, a: int, b: int) -> float:
    """2 sigma^2 W_ab."""
    gap = s.mean[a] - s.mean[b]
    return gap * gap / (s.inverse[a] + s.inverse[b]) if gap > 0.0 else 0.0


@kernel
def far(s: State, a: int, b: int) -> bool:
    """Whether W_ab reaches its threshold. Thresholds grow, so comparing with the last one computed usually settles
    that it does not."""
    if apart(s, a, b) < s.noise[THRESHOLD]:
        return False
    t = float(s.clock[RELEASED])
    growth = math.log1p(math.log(t)) if s.heuristic == 1 else 4 * math.log(4 + math.log(t / 2))
    s.noise[THRESHOLD] = 2 * s.noise[VARIANCE] * (s.base + growth)
    return apart(s, a, b) >= s.noise[THRESHOLD]


@kernel
def passes_all_tests(s: State, best: int) -> bool:
    """Whether the best arm passes its test against every rival; the rival that failed last is checked first."""
    if s.clock[RIVAL] != best and not far(s, best, s.clock[RIVAL]):
        return False
    for b in range(s.n.size):
        if b != best and not far(s, best, b):
            s.clock[RIVAL] = b
            return False
    return True


@kernel
def leader(s: State, rng: np.random.Generator) -> int:
    """The arm of the highest bound; ties are broken at random."""
    spread = 2 * math.sqrt(s.noise[VARIANCE] * math.log(s.clock[RELEASED] + 1.0))
    best = NONE_YET
    for a in range(s.n.size):
        best = weigh_arm(best, a, s.mean[a] + spread * s.width[a], rng)
    return best.arm


@kernel
def challenger(s: State, best: int, rng: np.random.Generator) -> int:
    """The arm that is hardest to tell from the leader; ties are broken at random, as among all arms that look at least
    as good."""
    nearest = NONE_YET
    for b in range(s.n.size):
        if b != best:
            nearest = weigh_arm(nearest, b, -apart(s, best, b), rng)
    return nearest.arm


@dataclass(frozen=True)
class TTUCB(Policy):
    """Upper confidence bound leader, transportation cost challenger, one user at a time.

    `beta` is the leader's fraction of pulls.

    >>> from maskedbandit.law import NO_NOISE
    >>> s = TTUCB().init(k=2, delta=0.01)
    >>> TTUCB.ask(s, Law(NO_NOISE), np.random.default_rng(1))
    Decision(arm=0, n=1, close=1)
    """

    goal = "identify"

    beta: float = 0.5
    threshold: Literal["proved", "heuristic"] = "proved"

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)
        check_choice("threshold", self.threshold, ("proved", "heuristic"))

    def needs(self, law: Law) -> str:
        usable = (is_gaussian(law) or not adds_noise(law)) and law.counter == 0
        return "" if usable else "Gaussian noise, one randomized bit of each user, or no noise"

    def init(self, k: int, delta: float) -> State:
        heuristic = self.threshold == "heuristic"
        base = math.log(1 / delta) if heuristic else gaussian_base(k, delta)
        total, mean, inverse, width = np.zeros((4, k))
        n, clock, noise = np.zeros(k, np.int64), np.zeros(4, np.int64), np.zeros(2)
        led = begin_turns(k, self.beta)
        return State(total, n, mean, inverse, width, clock, noise, led, base, int(heuristic))

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not none_due(s):
            return first_pull(s)
        if s.noise[VARIANCE] == 0.0:
            for a in range(s.n.size):
                recount(s, law, a)
            s.noise[VARIANCE] = 0.25 + (count_draws(law, 1, 1) * law.scale * law.scale if is_gaussian(law) else 0.0)
        recount(s, law, s.clock[LAST])
        best = int(s.mean.argmax())
        if passes_all_tests(s, best):
            return Decision(best, 0, 0)
        top = leader(s, rng)
        return serve_one(s, top if take_turn(s.turns, top) else challenger(s, top, rng))

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        add_reward(s, arm, n, total)
