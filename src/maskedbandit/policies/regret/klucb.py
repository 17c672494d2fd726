"""KL-UCB: the arm whose mean could be highest by the exact Chernoff bound for bits, one user at a time [GC11].

    arm = argmax_a  max{q : kl(m_a, q) ≤ ln t / n_a},        m_a the mean of the n_a bits of arm a

On randomized response the bits are those that users sent: 1 with probability f + (1 − 2f) r for a reward r in [0, 1], f
= 1 / (1 + e^ε). Means of bits are ordered as those of rewards, so nothing has to be inverted, and as the noise is in
the bits there is no radius for it. This is KLUCB-CF [GUK18] for the corruption of randomized response. Without noise
m_a is the mean of the rewards, bits or not [GC11].

Regret ≤ Σ_a gap_a ln T / kl(b_a, b*) + o(ln T), b = f + (1 − 2f) μ the means of the bits, is proved for the exploration
rate ln t + 3 ln ln t, and ln t is what is recommended [GC11]. For rewards that are bits no policy does better on this
channel [GUK18]; the bound is near 2 ln T / (ε² gap_a) for each arm if ε is small.

Few of the k indices are computed in a step. As a function of ln t an index is concave, so its tangent from the step in
which it was computed is above it. Only the arm with the highest tangent is considered, and computed anew if it may not
be the highest, until one with a current index is.

Departures: the cap of KLUCB-CF at 1 − f is left out, as no bit has a larger mean and the cap matters only where several
arms reach it. Noise that is added to rewards is treated as in `UCB1`: m_a is then the released mean plus radius(noise
of n_a releases, ln t) / n_a, at most 1.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import Decision, kernel
from maskedbandit.law import Law, adds_noise, is_response
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.choice import in_turn
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.divergences import kl, kl_upper


class State(NamedTuple):
    """Statistics of each arm; its index is at most start + slope ln t."""

    total: np.ndarray  # [k] sum of released rewards
    n: np.ndarray  # [k] their number
    start: np.ndarray  # [k] inf: to be computed
    slope: np.ndarray  # [k]
    known: np.ndarray  # [k] the step in which the index was computed
    asked: np.ndarray  # [2] pulls asked for, and arms with a release
    early: np.ndarray  # [k] pulls asked for before all arms had a release


@kernel
def centre(law: Law, total: float, n: int, f: float) -> float:
    """m: the mean of n bits or rewards, from their released sum.

    >>> from maskedbandit.law import RESPONSE
    >>> centre(Law(RESPONSE, grid=1.0, flip=0.25), 6.0, 8, 1.0)  # 5 bits of 8
    0.625
    """
    if is_response(law):
        total = math.floor((1 - 2 * law.flip) * total + law.flip * n + 0.5)  # bits are whole
    elif adds_noise(law):
        total += radius(law, n, n, f)
    return min(1.0, max(0.0, total / n))


@kernel
def is_above(s: State, law: Law, arm: int, rival: float, f: float) -> bool:
    """Whether the index of an arm is certainly above that of its rival; that takes one divergence and no index."""
    n = s.n[arm]
    if n == 0 or rival >= 1:
        return False
    m = centre(law, s.total[arm], n, f)
    return rival < m or kl(m, rival) < f / n * (1 - 1e-9)  # not of equals, whatever the rounding


@kernel
def compute(s: State, law: Law, arm: int, f: float) -> None:
    """Compute the index of an arm at exploration rate f = ln t, and its tangent there: dq/df = 1 / (n kl'(m, q))."""
    n = s.n[arm]
    s.start[arm], s.slope[arm], s.known[arm] = 0.0, 0.0, s.asked[0]
    if n > 0:
        m = centre(law, s.total[arm], n, f)
        q = kl_upper(m, f / n)
        if m < q < 1:
            s.slope[arm] = q * (1 - q) / ((q - m) * n)
        s.start[arm] = q - s.slope[arm] * f


@dataclass(frozen=True)
class KLUCB(Policy):
    """The highest mean that the bits do not rule out, one user at a time.

    >>> import numpy as np
    >>> from maskedbandit.law import NO_NOISE
    >>> s, rng = KLUCB().init(k=2, horizon=100), np.random.default_rng(1)
    >>> [KLUCB.ask(s, Law(NO_NOISE), rng).arm for _ in range(2)]
    [1, 0]
    >>> KLUCB.tell(s, 0, 1, 0.0), KLUCB.tell(s, 1, 1, 1.0)
    (None, None)
    >>> KLUCB.ask(s, Law(NO_NOISE), rng)
    Decision(arm=1, n=1, close=1)
    """

    goal = "regret"

    def init(self, k: int, horizon: int) -> State:
        n, known, early = np.zeros((3, k), np.int64)
        return State(np.zeros(k), n, np.zeros(k), np.zeros(k), known, np.zeros(2, np.int64), early)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        s.asked[0] += 1
        t = s.asked[0]
        if s.asked[1] < s.n.size:  # in turn until all arms have a release: rewards may be late
            return Decision(in_turn(s.early, rng), 1, 1)
        f = math.log(t)
        if adds_noise(law):
            s.start[:] = math.inf  # the radius grows with t, which no tangent allows for
        while True:
            best, top, rival = 0, -math.inf, -math.inf
            for a in range(s.n.size):
                bound = s.start[a] + s.slope[a] * f
                if bound > top:
                    best, top, rival = a, bound, top
                elif bound > rival:
                    rival = bound
            if s.known[best] == t or is_above(s, law, best, rival, f):
                return Decision(best, 1, 1)
            compute(s, law, best, f)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if s.n[arm] == 0:
            s.asked[1] += 1
        s.total[arm] += total
        s.n[arm] += n
        s.start[arm] = math.inf
