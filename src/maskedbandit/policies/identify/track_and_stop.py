"""Track-and-Stop: pull the arms in the proportions that are optimal for the estimated means [GK16].

After t users m_a is the mean of the N_a rewards of arm a, and w_a(t) the optimal proportion of its pulls if these were
the true means (see theory/transport.py). With `tracking="direct"`

    arm = argmin_a N_a  if min_a N_a < √t − K/2,  else  argmax_a (t w_a(t) − N_a),

and with "cumulative"

    arm = argmax_a (Σ_{s ≤ t} v_a(s) − N_a),

v(s) the proportions of at least 1 / (2 √(K² + s)) that are nearest to w(s) in the maximum norm. If several arms look
best, a random one of them is pulled, and no proportions are computed. The policy stops with B = argmax_a m_a as soon as
the likelihood ratio Z_Bb of B over b reaches its threshold for all b (see one_by_one.py).

Wrong with probability ≤ δ if the threshold is proved (see thresholds.py), on the raw channel for rewards in [0, 1] and
on randomized response. E[τ] ≤ T* ln(1/δ) (1 + o(1)) as δ goes to 0, the optimum for Bernoulli rewards [GK16, Thm. 14];
over randomized response T* is that of the bits that users sent.

Departures: the threshold "proved" is this project's, by the exact regret of a mixture (see thresholds.py). That of
[GK16], "published", and that of papers' experiments, "heuristic", can be had by name.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice
from maskedbandit.core import Decision, kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.choice import pick_highest
from maskedbandit.policies.parts.one_by_one import (
    RELEASED,
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
from maskedbandit.theory.transport import kl_proportions


class State(NamedTuple):
    """Statistics of the rewards, and the proportions that are tracked."""

    coins: Coins
    proportion: np.ndarray  # [k] w
    due: np.ndarray  # [k] sum of w, if it is tracked
    lag: np.ndarray  # [k] by how many pulls an arm is behind
    cumulative: int


@kernel
def lift(w: np.ndarray, least: float) -> None:
    """Move w to the nearest proportions that are at least `least`: all larger ones are reduced by the same amount, but
    none below `least`."""
    k = w.size
    paid, excess = 0.0, 1.0
    for _ in range(k):
        excess, rich = -1.0, 0
        for a in range(k):
            excess += max(w[a] - paid, least)
            if w[a] - paid > least:
                rich += 1
        if excess <= 1e-15 or rich == 0:
            break
        paid += excess / rich
    for a in range(k):
        w[a] = max(w[a] - paid, least)


@kernel
def alone(mean: np.ndarray, best: int) -> bool:
    """Whether no other arm looks as good."""
    equals = 0
    for a in range(mean.size):
        equals += mean[a] == mean[best]
    return equals == 1


@kernel
def furthest_behind(s: State, rng: np.random.Generator) -> int:
    """The arm that is furthest behind its proportion."""
    k, t = s.proportion.size, float(s.coins.clock[RELEASED])
    for a in range(k):
        s.lag[a] = -float(s.coins.n[a])
    rare = pick_highest(s.lag, rng)
    if s.cumulative == 0 and s.coins.n[rare] < math.sqrt(t) - k / 2:
        return rare
    kl_proportions(s.coins.mean, s.proportion)
    if s.cumulative == 1:
        lift(s.proportion, 0.5 / math.sqrt(k * k + t))
    for a in range(k):
        s.due[a] = s.due[a] + s.proportion[a] if s.cumulative == 1 else t * s.proportion[a]
        s.lag[a] += s.due[a]
    return pick_highest(s.lag, rng)


@dataclass(frozen=True)
class TrackAndStop(OneByOnePolicy):
    """The optimal proportions for the estimated means, one user at a time.

    `tracking` is "direct" or "cumulative"; `threshold` is "proved", "published" or "heuristic" (not proved), see
    one_by_one.py.

    >>> from maskedbandit.law import NO_NOISE
    >>> s = TrackAndStop().init(k=2, delta=0.01)
    >>> TrackAndStop.ask(s, Law(NO_NOISE), np.random.default_rng(1))
    Decision(arm=0, n=1, close=1)
    """

    tracking: Literal["direct", "cumulative"] = "direct"
    threshold: Literal["proved", "published", "heuristic"] = "proved"

    def __post_init__(self) -> None:
        check_choice("threshold", self.threshold, THRESHOLD_NAMES)
        check_choice("tracking", self.tracking, ("direct", "cumulative"))

    def init(self, k: int, delta: float) -> State:
        proportion, due, lag = np.zeros((3, k))
        return State(begin_coins(k, delta, self.threshold), proportion, due, lag, int(self.tracking == "cumulative"))

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not none_due(s.coins):
            return first_pull(s.coins)
        best = find_best(s.coins, law, rng)
        if passes_tests(s.coins):
            return Decision(best, 0, 0)
        return serve_one(s.coins, furthest_behind(s, rng) if alone(s.coins.mean, best) else best)
