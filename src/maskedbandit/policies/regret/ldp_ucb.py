"""LDP-UCB: UCB on what users themselves have randomized, one user at a time [RZLS20].

Variant B is for one random bit per user, Y_a the sum of the n_a bits of arm a at time t:

    arm = argmax_a  Y_a / n_a + √(2 ln t / n_a).

Variant L is for Laplace noise of scale 1/ε, X_a the sum of n_a noisy rewards:

    arm = argmax_a  X_a / n_a + √(2 ln t / n_a) + √(32 ln t / (ε² n_a)).

L first pulls every arm that has n_a ≤ 4 ln(t + 1), where the tails of the noise
are not yet Gaussian, the arm of the fewest pulls first. A bit is 1 with probability f + (1 − 2f) r for a reward r, f =
1 / (1 + e^ε), so the channel's unbiased totals are turned back into sums of bits, which stay in [0, 1] and need no
radius for noise.

Regret ≤ 8 / (1 − 2f)² Σ_a ln T / gap_a + (1 + π² / 3) Σ_a gap_a for B, 1 − 2f = (e^ε − 1) / (e^ε + 1): UCB1 on bits,
whose gaps are 1 − 2f times as wide [ACF02, Thm. 1]. O(Σ_a ln T / (ε² gap_a)) for L [RZLS20].

Departures: the noise of the channel decides which of the two is used; without noise B is plain UCB. One detail of the
published program is left out: there an arm begins with one pull of reward 0, here it counts from its first real pull.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import Decision, kernel
from maskedbandit.law import Law, adds_noise, is_laplace, is_one_laplace_draw
from maskedbandit.policies.parts.choice import pick_fewest
from maskedbandit.policies.policy import Policy


class State(NamedTuple):
    """Statistics of each arm."""

    total: np.ndarray  # [k] sum of released rewards
    n: np.ndarray  # [k] their number
    mean: np.ndarray  # [k] total / n; -inf: no release yet
    width: np.ndarray  # [k] 1 / sqrt(n)
    asked: np.ndarray  # [k] pulls asked for


@dataclass(frozen=True)
class LDPUCB(Policy):
    """Optimism over randomized rewards: L on Laplace noise, B on randomized bits, UCB without noise.

    >>> import numpy as np
    >>> from maskedbandit.law import RESPONSE
    >>> s, rng = LDPUCB().init(k=2, horizon=100), np.random.default_rng(1)
    >>> law = Law(RESPONSE, grid=1.0, flip=0.25)
    >>> [LDPUCB.ask(s, law, rng).arm for _ in range(2)]
    [1, 0]
    >>> LDPUCB.tell(s, 0, 1, -0.5), LDPUCB.tell(s, 1, 1, 1.5)  # bits 0 and 1
    (None, None)
    >>> LDPUCB.ask(s, law, rng)
    Decision(arm=1, n=1, close=1)
    """

    goal = "regret"

    def needs(self, law: Law) -> str:
        if not adds_noise(law) or is_one_laplace_draw(law, 1):
            return super().needs(law)
        return "randomized bits, or one draw of Laplace noise in the reward of one user"

    def init(self, k: int, horizon: int) -> State:
        total, n, width = np.zeros((3, k))
        return State(total, n, np.full(k, -math.inf), width, np.zeros(k, np.int64))

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        t = s.asked.sum() + 1
        least, spread = 0.0, math.sqrt(2 * math.log(t))
        if is_laplace(law):
            least = 4 * math.log(t + 1)
            spread *= 1 + 4 * law.scale
        best, top = -1, -math.inf
        for a in range(s.n.size):
            if s.asked[a] <= least or s.n[a] == 0.0:  # rewards may be late
                best = pick_fewest(s.asked, rng)
                break
            index = (1 - 2 * law.flip) * s.mean[a] + spread * s.width[a]  # without f, which all arms have in common
            if index > top:
                best, top = a, index
        s.asked[best] += 1
        return Decision(best, 1, 1)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        s.total[arm] += total
        s.n[arm] += n
        s.mean[arm] = s.total[arm] / s.n[arm]
        s.width[arm] = 1 / math.sqrt(s.n[arm])
