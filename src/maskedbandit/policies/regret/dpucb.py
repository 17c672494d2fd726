"""DP-UCB: UCB1 on noisy running sums, one user at a time [MT15, Alg. 1].

    arm = argmax_a  r_a / n_a + √(2 ln t / n_a) + G_a / n_a,      r_a the sum of all releases of arm a
    G_a = radius(noise of the n_a releases, ln(2 k T / p))

With discrete Laplace noise, N draws of scale b in r_a, and b, N known for every n_a, Chernoff's bound

    G_a = min over u of  b (x − N ln(1 − u²)) / u,      x = ln(2 k T / p)

is taken at a u near its best: less than 0.1 % above the minimum, and below b (2 √(N x) + x). All G_a hold at once with
probability ≥ 1 − p, p = `failure`. Then a bad arm is pulled at most max{32 ln T / gap_a², 4 G_a / gap_a} + O(1) times
on average, so that for p = 1 / T

    Regret = O(Σ_a ln T / gap_a + Σ_a max G_a),       on a tree  max G_a = O(ln² T / ε).

Arms are skipped that cannot have the highest index, see parts/race.py: decisions are those of comparing all.

Departures: every tree has ε, and G_a bounds the noise that is added. `interval="paper"` has one G for all arms and
times, as printed,

    G = k ln² T ln(k T ln T / p) / ε,

and regret O(Σ_a k ln² T ln(k T / p) / (ε gap_a)) [MT15, Thm. 4]. It costs more than it must for three reasons. Its
trees have ε / k each, though a reward is in one tree only, so every tree may have ε; the error of a tree is O(ln^1.5
T), not ln² T; and 8 G / gap_a² pulls where 4 G / gap_a are enough. It needs a binary tree that is as long as the
horizon; `divide` of the channel is then k, and ε / k is read from the `Law`. With `interval="chapelle-li"` the index is
r_a / n_a + √(r_a ln t) / n_a + ln t / n_a, as in the paper's experiments [MT15, Sec. 5; CL11]: it ignores the noise,
and has no guarantee.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice, check_fraction
from maskedbandit.core import Decision, large_kernel, lean_kernel
from maskedbandit.law import BINARY, Law, count_draws, is_laplace, widest_scale
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.choice import in_turn
from maskedbandit.policies.parts.race import (
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

INTERVALS = ("corrected", "paper", "chapelle-li")
CORRECTED, PAPER, CHAPELLE_LI = range(3)


class State(NamedTuple):
    """The index of each arm is mean + root √(2 ln t) + inverse ln t; its parts change only with a release."""

    total: np.ndarray  # [k] r_a
    n: np.ndarray  # [k] n_a
    releases: np.ndarray  # [k] in how many releases
    mean: np.ndarray  # [k] -inf: no release yet
    root: np.ndarray  # [k]
    inverse: np.ndarray  # [k]
    changed: np.ndarray  # [k] 1: released since the parts were computed
    asked: np.ndarray  # [2] pulls asked for, and arms with a release
    best: np.ndarray  # [1] the last arm asked for
    early: np.ndarray  # [k] pulls asked for before all arms had a release
    other: np.ndarray  # [1] the arm with a release since the last pull, if it is not the best; -1: there is none
    race: Race
    spread: np.ndarray  # [2] bounds of sqrt(2 ln t) over a span of the race
    log: np.ndarray  # [2] bounds of ln t over it
    x: float  # ln(2 k T / p)
    relaxed: float  # G of the paper, in units of the scale of a node
    interval: int


@lean_kernel
def bound_noise(law: Law, m: int, n: int, x: float) -> float:
    """At least `radius`: a closed form where `radius` would search."""
    if not is_laplace(law):
        return radius(law, m, n, x)
    count, scale = count_draws(law, m, n), widest_scale(law, m)
    if count == 0.0:
        return 0.0
    if count == 1.0:
        return scale * x
    ratio = x / count
    square = ratio * (1 + ratio / 2) / (1 + ratio * (2 + ratio / 2))  # u^2: right to second order at both ends
    return scale * (x - count * math.log1p(-square)) / math.sqrt(square)


@large_kernel
@lean_kernel
def refresh_index(s: State, law: Law, a: int) -> None:
    """The parts of arm a's index, after a release."""
    n, total = s.n[a], s.total[a]
    if s.interval == CHAPELLE_LI:
        s.mean[a] = total / n
        s.root[a] = math.sqrt(max(total, 0.0) / 2) / n
        s.inverse[a] = 1 / n
    else:
        if s.interval == PAPER:
            total += s.relaxed * law.scale
        else:
            total += bound_noise(law, s.releases[a], n, s.x)
        s.mean[a] = total / n
        s.root[a] = 1 / math.sqrt(n)
    s.changed[a] = 0


@lean_kernel
def bound_index(s: State, a: int, side: int) -> float:
    """A bound of arm a's index over the span of the race."""
    return s.mean[a] + s.spread[side] * s.root[a] + s.log[side] * s.inverse[a]


@lean_kernel
def knows_best(s: State, law: Law) -> bool:
    """Whether the best arm is known without comparing all."""
    race, best, other = s.race, s.best[0], s.other[0]
    if race.left[0] == 0:
        return False
    race.left[0] -= 1
    if other >= 0:
        refresh_index(s, law, other)
        raise_rivals(race, other, bound_index(s, other, HIGH))
        s.other[0] = -1
    if s.changed[best] == 1:
        refresh_index(s, law, best)
    if bound_index(s, best, LOW) > race.rival[0]:
        return True
    s.best[0] = best = change_leader(race, best, bound_index(s, best, HIGH))
    return bound_index(s, best, LOW) > race.rival[0]


@lean_kernel
def compare_arms(s: State, law: Law) -> None:
    """Find the arm of the highest index, the first one of several, and bounds for the next pulls."""
    k, t, top, race = s.n.size, s.asked[0], -math.inf, s.race
    log_t = math.log(t)
    spread = math.sqrt(2 * log_t)
    for a in range(k):
        if s.changed[a] == 1:
            refresh_index(s, law, a)
        index = s.mean[a] + spread * s.root[a] + log_t * s.inverse[a]
        if index > top:
            s.best[0] = a  # a store, so that the processor guesses the arm instead of waiting for it
            top = index
    s.other[0] = -1
    if race.left[0] == 0:
        race.left[0] = span_from(t, k)
        s.log[LOW], s.log[HIGH] = span_bounds(log_t, math.log(t + race.left[0]))
        s.spread[LOW], s.spread[HIGH] = span_bounds(spread, math.sqrt(2 * math.log(t + race.left[0])))
        if race.left[0] > 0:
            for a in range(k):
                race.high[race.high.size // 2 + a] = bound_index(s, a, HIGH)
            build_tree(race)
    if race.left[0] > 0:
        race.rival[0] = bound_rivals(race, s.best[0])


@dataclass(frozen=True)
class DPUCB(Policy):
    """Mishra and Thakurta's UCB; `failure` is p, by default 1 / horizon.

    Made for the tree channel. It is valid on channels of independent releases too, but there every reward has noise of
    its own. `interval="paper"` needs a binary tree whose `length` is the horizon: it takes ε / k to be the levels of
    that tree over the scale of the nodes, so on a longer tree, whose nodes have a larger scale, its G is larger.

    >>> from maskedbandit.law import LAPLACE, nodes
    >>> law = Law(LAPLACE, scale=40.0, grid=1, counter=BINARY)
    >>> round(bound_noise(law, 1000, 1000, 30.0)), round(radius(law, 1000, 1000, 30.0)), nodes(law, 1000)
    (1770, 1769, 6.0)
    """

    goal = "regret"

    interval: Literal["corrected", "paper", "chapelle-li"] = "corrected"
    failure: float | None = None

    def __post_init__(self) -> None:
        check_choice("interval", self.interval, INTERVALS)
        if self.failure is not None:
            check_fraction("failure", self.failure)

    def needs(self, law: Law) -> str:
        if self.interval == "paper" and not (is_laplace(law) and law.counter == BINARY):
            return "running sums from binary trees with discrete Laplace noise, or another interval"
        return ""

    def init(self, k: int, horizon: int) -> State:
        total, root, inverse = np.zeros((3, k))
        mean = np.full(k, -math.inf)
        n, releases, changed, early = np.zeros((4, k), np.int64)
        asked, best, other = np.zeros(2, np.int64), np.zeros(1, np.int64), np.full(1, -1)
        bounds = begin_race(k), np.zeros(2), np.zeros(2)
        p, log = self.failure or 1 / horizon, math.log(horizon)
        x, levels = math.log(2 * k * horizon / p), horizon.bit_length()  # k / epsilon is the scale over the levels
        relaxed = log * log * math.log(max(1.0, k * horizon * log / p)) / levels
        interval = INTERVALS.index(self.interval)
        counts = changed, asked, best, early, other
        return State(total, n, releases, mean, root, inverse, *counts, *bounds, x, relaxed, interval)

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        s.asked[0] += 1
        if s.asked[1] < s.n.size:  # in turn until all arms have a release: rewards may be late
            s.best[0] = in_turn(s.early, rng)
        elif not knows_best(s, law):
            compare_arms(s, law)
        return Decision(int(s.best[0]), 1, 1)

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if s.n[arm] == 0:
            s.asked[1] += 1
        s.total[arm] += total
        s.n[arm] += n
        s.releases[arm] += 1
        s.changed[arm] = 1
        if arm != s.best[0]:
            if s.other[0] >= 0 and s.other[0] != arm:
                s.race.left[0] = 0  # several: all arms are compared
            s.other[0] = arm
