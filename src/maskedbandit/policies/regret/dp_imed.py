"""DP-IMED: minimum empirical divergence for private bits, on batches that never forget [AWHOIB25].

Batches and sums S_a are those of DP-KLUCB; with the means m_a = clip(S_a / n_a) to [0, 1] and the best of them, m*,

    arm = argmin_a  n_a d_ε(m_a, m*) + ln n_a.

Without noise d_ε is kl, and users in flight count as in DP-KLUCB. The horizon and the time are not used.

Regret ≤ ratio Σ_a gap_a ln T / d_ε(μ_a, μ*) + o(ln T) for bits and central pure ε: the lower bound times the factor
`ratio` [AWHOIB25].

**Rare linear runs.** As with DP-KLUCB, d_ε allows for one draw of noise where the sums hold O(log n_a). So noise alone
can make an arm look hopeless, more often than the asymptotic bound suggests. No parameter here makes that rarer: means
over some hundred runs are dominated by a few of them.
"""

import math
from dataclasses import dataclass

import numpy as np

from maskedbandit.core import Decision, kernel
from maskedbandit.law import Law, is_noiseless
from maskedbandit.policies.parts.batches import all_released, first_cohort, grow_arm
from maskedbandit.policies.parts.choice import pick_highest
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.dp_klucb import DPKLUCB, State, clipped_mean
from maskedbandit.theory.divergences import kl, private_divergence


@dataclass(frozen=True)
class DPIMED(Policy):
    """The arm with the least evidence against it; `ratio` is the growth of batches.

    >>> s, rng = DPIMED().init(k=2, horizon=10**6), np.random.default_rng(1)
    >>> DPIMED.ask(s, None, rng), DPIMED.ask(s, None, rng)
    (Decision(arm=1, n=1, close=1), Decision(arm=0, n=1, close=1))
    """

    goal = "regret"

    ratio: float = 2.0

    def __post_init__(self) -> None:
        DPKLUCB(self.ratio)

    def needs(self, law: Law) -> str:
        return DPKLUCB(self.ratio).needs(law)

    def init(self, k: int, horizon: int) -> State:
        return DPKLUCB(self.ratio).init(k, horizon)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.n):
            return first_cohort(s, 1, 1, s.ratio, rng)
        best = 0.0
        for a in range(s.n.size):
            best = max(best, clipped_mean(s, a))
        for a in range(s.n.size):
            if is_noiseless(law):
                far = kl(clipped_mean(s, a), best)
            else:
                far = private_divergence(clipped_mean(s, a), best, 1 / law.scale)
            s.score[a] = -(s.asked[a] * far + math.log(s.asked[a]))
        return grow_arm(s, pick_highest(s.score, rng), s.ratio)

    tell = DPKLUCB.tell
