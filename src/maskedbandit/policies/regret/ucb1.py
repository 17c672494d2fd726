"""UCB1: the arm of the highest upper confidence bound [ACF02, Fig. 1].

    arm = argmax_a  S_a / n_a + sqrt(2 ln t / n_a) + radius(noise of the n_a pulls, 4 ln t) / n_a

S_a is the released total of n_a pulls. The last term is ours, and zero without noise: with it the index is above the
true mean with probability >= 1 - O(t^-4), for each number of pulls, on every channel. Every pull is a cohort of its
own, so noise is added to every single reward; policies that ask for batches pay far less.

Regret <= 8 sum_a ln T / gap_a + (1 + pi^2 / 3) sum_a gap_a without noise [ACF02, Thm. 1].
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import Decision, large_kernel, lean_kernel
from maskedbandit.law import Law, is_noiseless
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.choice import in_turn
from maskedbandit.policies.policy import Policy


class State(NamedTuple):
    """What UCB1 remembers of each arm."""

    total: np.ndarray  # [k] sum of released rewards
    n: np.ndarray  # [k] their number
    mean: np.ndarray  # [k] total / n; -inf: no release yet
    width: np.ndarray  # [k] 1 / sqrt(n): only the released arm changes, so divisions are done there
    asked: np.ndarray  # [2] pulls asked for, and arms with a release
    spread: np.ndarray  # [1] sqrt(2 ln t) of the next pull: computed a pull ahead, so that no pull waits for it
    best: np.ndarray  # [1] the last arm asked for
    early: np.ndarray  # [k] pulls asked for before all arms had a release


@large_kernel
def noise_bound(law: Law, n: int, x: float) -> float:
    """A bound on the noise of n pulls, a release each. (A call of its own: inlined, it would slow the loop down.)"""
    return radius(law, n, n, x)


@dataclass(frozen=True)
class UCB1(Policy):
    """Optimism in the face of uncertainty, one user at a time.

    >>> import numpy as np
    >>> from maskedbandit.law import NO_NOISE
    >>> s = UCB1().init(k=2, horizon=100)
    >>> UCB1.tell(s, 0, 1, 1.0), UCB1.tell(s, 1, 1, 0.0)
    (None, None)
    >>> [UCB1.ask(s, Law(NO_NOISE), np.random.default_rng(1)).arm for _ in range(3)]
    [0, 0, 0]
    """

    goal = "regret"

    def needs(self, law: Law) -> str:
        return ""

    def init(self, k: int, horizon: int) -> State:
        total, n, width = np.zeros((3, k))
        asked, best, early = (np.zeros(size, np.int64) for size in (2, 1, k))
        return State(total, n, np.full(k, -math.inf), width, asked, np.zeros(1), best, early)

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        k, t, spread = s.n.size, s.asked[0] + 1, s.spread[0]
        s.asked[0], s.spread[0] = t, math.sqrt(2 * math.log(t + 1))
        if s.asked[1] < k:  # in turn until all arms have a release: rewards may be late
            s.best[0] = in_turn(s.early, rng)
            return Decision(int(s.best[0]), 1, 1)
        top = -math.inf
        for a in range(k):
            index = s.mean[a] + spread * s.width[a]
            if not is_noiseless(law):
                noise = noise_bound(law, int(s.n[a]), 2 * spread * spread)
                index += noise * (s.width[a] * s.width[a])  # not ** 2, which Python rounds differently
            if index > top:
                s.best[0] = a  # a store, so that the processor guesses the arm instead of waiting for it
                top = index
        return Decision(int(s.best[0]), 1, 1)

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if s.n[arm] == 0:
            s.asked[1] += 1
        total, pulls = s.total[arm] + total, s.n[arm] + n
        s.total[arm], s.n[arm] = total, pulls
        s.mean[arm], s.width[arm] = total / pulls, 1 / math.sqrt(pulls)
