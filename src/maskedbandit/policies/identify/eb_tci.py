"""EB-TCI: the arm that looks best against the one that is hardest to tell from it [JDBHK22].

    B = argmax_a m_a,      C = argmin_{b ≠ B} Z_Bb + ln N_b,      arm = B or C, by tracking (see choice.py)

m_a is the mean of the N_a bits of arm a and Z_Bb the likelihood ratio of B over b (see one_by_one.py). The logarithm
makes an arm with few pulls the challenger now and then, so every arm is explored. The policy stops with B as soon as
Z_Bb reaches its threshold for all b.

Wrong with probability ≤ δ if the threshold is proved (see thresholds.py), on the raw channel for rewards in [0, 1] and
on randomized response. For Bernoulli rewards whose means all differ E[τ] ≤ T*_β ln(1/δ) (1 + o(1)) as δ goes to 0, T*_β
the least possible if the best arm gets a fraction β of the pulls, at most twice T* for β = 1/2 [JDBHK22].

Departures: the threshold "proved" is this project's, by the exact regret of a mixture (see thresholds.py). That of
[GK16], "published", and that of papers' experiments, "heuristic", can be had by name.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice, check_fraction
from maskedbandit.core import Decision, kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.choice import NONE_YET, Turns, begin_turns, take_turn, weigh_arm
from maskedbandit.policies.parts.one_by_one import (
    THRESHOLD_NAMES,
    Coins,
    OneByOnePolicy,
    begin_coins,
    find_best,
    first_pull,
    none_due,
    passes_tests,
    serve_one,
)


class State(NamedTuple):
    """Statistics of the rewards, and how often each arm led."""

    coins: Coins
    turns: Turns


@kernel
def challenger(s: Coins, best: int, rng: np.random.Generator) -> int:
    """The arm of the least Z + ln N; ties are broken at random."""
    best_rival = NONE_YET
    for b in range(s.n.size):
        if b != best:
            best_rival = weigh_arm(best_rival, b, -(s.z[b] + s.log_n[b]), rng)
    return best_rival.arm


@dataclass(frozen=True)
class EBTCI(OneByOnePolicy):
    """Empirical best leader, transportation cost challenger with a penalty, one user at a time.

    `beta` is the leader's fraction of pulls; `threshold` is "proved", "published" or "heuristic" (not proved), see
    one_by_one.py.

    >>> from maskedbandit.law import NO_NOISE
    >>> s = EBTCI().init(k=2, delta=0.01)
    >>> EBTCI.ask(s, Law(NO_NOISE), np.random.default_rng(1))
    Decision(arm=0, n=1, close=1)
    """

    beta: float = 0.5
    threshold: Literal["proved", "published", "heuristic"] = "proved"

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)
        check_choice("threshold", self.threshold, THRESHOLD_NAMES)

    def init(self, k: int, delta: float) -> State:
        return State(begin_coins(k, delta, self.threshold), begin_turns(k, self.beta))

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not none_due(s.coins):
            return first_pull(s.coins)
        best = find_best(s.coins, law, rng)
        if passes_tests(s.coins):
            return Decision(best, 0, 0)
        return serve_one(s.coins, best if take_turn(s.turns, best) else challenger(s.coins, best, rng))
