"""Every arm in turn, until the likelihood ratio is large enough: a baseline that does not adapt its pulls.

    arm = t mod K;      stop with B = argmax_a m_a as soon as Z_Bb reaches its threshold for all b (see one_by_one.py)

Wrong with probability ≤ δ if the threshold is proved (see thresholds.py), on the raw channel for rewards in [0, 1] and
on randomized response. E[τ] is near T ln(1/δ) as δ goes to 0, 1/T the least over b of the information in uniform pulls,
(kl(μ*, x) + kl(μ_b, x)) / K, x the mean of both.

The baseline is this project's own; theory/thresholds.py has the proof of its threshold.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from maskedbandit.checks import check_choice
from maskedbandit.core import Decision, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.one_by_one import (
    ASKED,
    THRESHOLD_NAMES,
    Coins,
    add_reward,
    begin_coins,
    find_best,
    first_pull,
    lacks_coins,
    none_due,
    passes_tests,
    serve_one,
)
from maskedbandit.policies.policy import Policy


@dataclass(frozen=True)
class UniformGLR(Policy):
    """Arms in turn, one user at a time, and the stopping rule of those that adapt.

    `threshold` is "proved", "published" or "heuristic" (not proved), see one_by_one.py.

    >>> from maskedbandit.law import NO_NOISE
    >>> s = UniformGLR().init(k=2, delta=0.01)
    >>> UniformGLR.ask(s, Law(NO_NOISE), np.random.default_rng(1))
    Decision(arm=0, n=1, close=1)
    """

    goal = "identify"

    threshold: Literal["proved", "published", "heuristic"] = "proved"

    def __post_init__(self) -> None:
        check_choice("threshold", self.threshold, THRESHOLD_NAMES)

    def needs(self, law: Law) -> str:
        return lacks_coins(law)

    def init(self, k: int, delta: float) -> Coins:
        return begin_coins(k, delta, self.threshold)

    @staticmethod
    @lean_kernel
    def ask(s: Coins, law: Law, rng: np.random.Generator) -> Decision:
        if not none_due(s):
            return first_pull(s)
        best = find_best(s, law, rng)
        return Decision(best, 0, 0) if passes_tests(s) else serve_one(s, s.clock[ASKED] % s.n.size)

    @staticmethod
    @lean_kernel
    def tell(s: Coins, arm: int, n: int, total: float) -> None:
        add_reward(s, arm, n, total)
