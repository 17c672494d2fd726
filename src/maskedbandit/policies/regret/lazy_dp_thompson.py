"""Lazy-DP-TS: Thompson sampling on optimistic posteriors, with cohorts that double [HH22, Alg. 2].

Cohorts are those of Anytime-Lazy-UCB: X_a is the released total of the arm's last full cohort, of n_a = 1, 2, 4, ...
users. For every user

    G_a = clip(X_a + radius(noise of one release, β ln t)) to [0, n_a]
    θ_a ~ Beta(1 + G_a, 1 + n_a − G_a)  for every arm,     arm = argmax_a θ_a.

Under central Laplace noise the radius is the paper's β ln t / ε, β = 3.

Departures: the logarithm is natural, as that reproduces the published plots, and base 2 does not. Rewards inside (0, 1)
enter the Beta distribution as they are; the proof is for bits, to which a channel with a grid of one step rounds them.

Full cohorts in flight count as in Anytime-Lazy-UCB, and the proof knows no delays either.

Regret = O(Σ_a ln T / min{gap_a, ε}) and O(√(k T ln T) + k ln T / ε) for central pure ε [HH22].

As in Thompson sampling here, only the leader's θ is always drawn, and the others propose a value if a point is on their
stretch of the line. The posteriors move with ln t, so its length is bounded for a window of rounds: an arm's mode is
highest at the end of the window, and the density at its mode, log-convex in G, at one of the two ends.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_positive
from maskedbandit.core import Decision, Floats, kernel
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.batches import USERS, all_released
from maskedbandit.policies.policy import Policy, means_of
from maskedbandit.policies.regret.anytime_lazy_ucb import early_cohort, fill_cohort, lacks_sizes, replace_cohort
from maskedbandit.policies.regret.thompson_sampling import challenge_leader, peak_density, stretch_of

LEAD, END = range(2)


class State(NamedTuple):
    """The posteriors at one time, and bounds on them over a window of rounds."""

    total: np.ndarray  # [k] released rewards of the last released cohort
    told: np.ndarray  # [k] their number
    n: np.ndarray  # [k] users of the last full cohort
    flight: np.ndarray  # [k] full cohorts not yet released
    filled: np.ndarray  # [k] users in the open cohort
    clock: np.ndarray  # [1] users asked for so far
    success: np.ndarray  # [k] G, of the last posterior computed
    mode: np.ndarray  # [k] its mode
    peak: np.ndarray  # [k] its density at the mode / 4 n; negative: to be computed
    top: np.ndarray  # [k] highest mode in the window
    height: np.ndarray  # [k] highest peak in the window
    window: np.ndarray  # [2] the arm that leads, the last round; 0: to be made
    beta: float


@kernel
def optimistic_total(s: State, law: Law, a: int, t: int) -> float:
    """G, an optimistic number of successes of arm a, as if its last full cohort had shown the released mean."""
    n = s.n[a]
    return min(max(s.total[a] * (n / s.told[a]) + radius(law, 1, n, s.beta * math.log(t)), 0.0), float(n))


@kernel
def look(s: State, law: Law, a: int, t: int) -> None:
    """Compute the posterior of arm a in round t."""
    s.success[a] = optimistic_total(s, law, a, t)
    s.mode[a] = s.success[a] / s.n[a]
    s.peak[a] = -1.0


@kernel
def open_window(s: State, law: Law, t: int) -> None:
    """Compute bounds for round t and some after it."""
    end = t + t // 32
    s.window[LEAD], s.window[END] = 0, end
    for a in range(s.n.size):
        s.height[a] = 0.0
        for moment in (t, end):
            look(s, law, a, moment)
            s.height[a] = max(s.height[a], peak_density(s, a))
        s.top[a] = s.mode[a]
        if s.top[a] > s.top[s.window[LEAD]]:
            s.window[LEAD] = a


@kernel
def rivals(s: State, x: float) -> float:
    """A bound on the length of all stretches but the leader's, if that one's theta is x."""
    length = 0.0
    for a in range(s.n.size):
        if a != s.window[LEAD]:
            length += stretch_of(s.height[a], s.n[a], x - s.top[a])
    return length


@dataclass(frozen=True)
class LazyDPThompson(Policy):
    """Probability matching in doubling cohorts; `beta` is the factor of ln t.

    >>> s, rng = LazyDPThompson().init(k=2, horizon=100), np.random.default_rng(1)
    >>> [tuple(LazyDPThompson.ask(s, None, rng)) for _ in range(4)]
    [(1, 1, 1), (0, 1, 1), (1, 2, 1), (0, 2, 1)]
    """

    goal = "regret"

    beta: float = 3.0

    def __post_init__(self) -> None:
        check_positive("beta", self.beta)

    def needs(self, law: Law) -> str:
        return super().needs(law) or lacks_sizes(law)

    def init(self, k: int, horizon: int) -> State:
        told, n, flight, filled = np.zeros((4, k), np.int64)
        clock, window = np.zeros(1, np.int64), np.zeros(2, np.int64)
        total, success, mode, peak, top, height = np.zeros((6, k))
        return State(total, told, n, flight, filled, clock, success, mode, peak, top, height, window, float(self.beta))

    def means(self, s: State) -> Floats:
        return means_of(s.total, s.told)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        t = s.clock[USERS] + 1
        if t > s.window[END]:
            if not all_released(s.told):
                return early_cohort(s, rng)
            open_window(s, law, t)
        arm = int(s.window[LEAD])
        good = optimistic_total(s, law, arm, t)
        x, left = rng.beta(1 + good, 1 + s.n[arm] - good), rng.standard_exponential()
        if left < rivals(s, x):
            for a in range(s.n.size):
                look(s, law, a, t)
            arm = challenge_leader(s, arm, x, left, rng)
        decision = fill_cohort(s, arm, 1)
        if decision.close == 1:
            s.window[END] = 0
        return decision

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if replace_cohort(s, arm, n):
            s.total[arm] = total
        s.window[END] = 0
