"""UCB1: the arm of the highest upper confidence bound [ACF02, Fig. 1].

    arm = argmax_a  S_a / n_a + √(2 ln t / n_a) + radius(noise of the n_a pulls, 4 ln t) / n_a

S_a is the released total of n_a pulls. Every pull is a cohort of its own, so noise is added to every single reward;
policies that ask for batches pay far less.

Regret ≤ 8 Σ_a ln T / gap_a + (1 + π² / 3) Σ_a gap_a without noise [ACF02, Thm. 1].

Departures: the last term is this project's, and zero without noise. With it the index is above the true mean with
probability ≥ 1 − O(t⁻⁴), for each number of pulls, on every channel. Without noise arms are skipped that cannot have
the highest index, see parts/race.py: decisions are those of comparing all.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import Decision, large_kernel, lean_kernel
from maskedbandit.law import Law, is_noiseless
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.choice import in_turn
from maskedbandit.policies.parts.race import (
    FEW,
    HIGH,
    LOW,
    Race,
    begin_race,
    bound_rivals,
    build_tree,
    change_leader,
    raise_rivals,
    span_bounds,
    span_from,
)
from maskedbandit.policies.policy import Policy


class State(NamedTuple):
    """What UCB1 remembers of each arm."""

    total: np.ndarray  # [k] sum of released rewards
    n: np.ndarray  # [k] their number
    mean: np.ndarray  # [k] total / n; -inf: no release yet
    width: np.ndarray  # [k] 1 / sqrt(n): only the released arm changes, so divisions are done there
    asked: np.ndarray  # [2] pulls asked for, and arms with a release
    best: np.ndarray  # [1] the last arm asked for
    early: np.ndarray  # [k] pulls asked for before all arms had a release
    race: Race
    spread: np.ndarray  # [2] bounds of sqrt(2 ln t) over a span of the race


@large_kernel
def noise_bound(law: Law, n: int, x: float) -> float:
    """A bound on the noise of n pulls, a release each. (A call of its own: inlined, it would slow the loop down.)"""
    return radius(law, n, n, x)


@lean_kernel
def bound_index(s: State, a: int, side: int) -> float:
    """A bound of arm a's index over the span of the race."""
    return s.mean[a] + s.spread[side] * s.width[a]


@lean_kernel
def knows_best(s: State) -> bool:
    """Whether the best arm is known without comparing all."""
    race, best = s.race, s.best[0]
    if race.left[0] == 0:
        return False
    race.left[0] -= 1
    if bound_index(s, best, LOW) > race.rival[0]:
        return True
    leader = change_leader(race, best, bound_index(s, best, HIGH))
    if s.n.size <= FEW:
        return False
    s.best[0] = leader
    return bound_index(s, leader, LOW) > race.rival[0]


@lean_kernel
def compare_arms(s: State, law: Law) -> None:
    """Find the arm of the highest index, the first one of several, and bounds for the next pulls."""
    t, race, top = s.asked[0], s.race, -math.inf
    spread = math.sqrt(2 * math.log(t))
    if s.n.size <= FEW and is_noiseless(law):
        best = 0  # no store: a wrong guess would cost more than waiting for a few arms
        for a in range(s.n.size):
            index = s.mean[a] + spread * s.width[a]
            if index > top:
                best, top = a, index
        s.best[0] = best
    else:
        for a in range(s.n.size):
            index = s.mean[a] + spread * s.width[a]
            if not is_noiseless(law):
                noise = noise_bound(law, int(s.n[a]), 2 * spread * spread)
                index += noise * (s.width[a] * s.width[a])  # not ** 2, which Python rounds differently
            if index > top:
                s.best[0] = a  # a store, so that the processor guesses the arm instead of waiting for it
                top = index
    if race.left[0] == 0 and is_noiseless(law):
        race.left[0] = span_from(t, s.n.size)
        s.spread[LOW], s.spread[HIGH] = span_bounds(spread, math.sqrt(2 * math.log(t + race.left[0])))
        if race.left[0] > 0:
            for a in range(s.n.size):
                race.high[race.high.size // 2 + a] = bound_index(s, a, HIGH)
            build_tree(race)
    if race.left[0] > 0:
        race.rival[0] = bound_rivals(race, s.best[0])


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
        return State(total, n, np.full(k, -math.inf), width, asked, best, early, begin_race(k), np.zeros(2))

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        s.asked[0] += 1
        if not knows_best(s):
            if s.asked[1] < s.n.size:  # in turn until all arms have a release: rewards may be late
                s.best[0] = in_turn(s.early, rng)
            else:
                compare_arms(s, law)
        return Decision(int(s.best[0]), 1, 1)

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if s.n[arm] == 0:
            s.asked[1] += 1
        total, pulls = s.total[arm] + total, s.n[arm] + n
        s.total[arm], s.n[arm] = total, pulls
        s.mean[arm], s.width[arm] = total / pulls, 1 / math.sqrt(pulls)
        if s.race.left[0] > 0 and arm != s.best[0]:
            raise_rivals(s.race, arm, bound_index(s, arm, HIGH))
