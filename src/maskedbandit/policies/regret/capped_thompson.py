"""Thompson sampling with Gaussian posteriors and a cap on their draws, in cohorts that double, after [HHZLH25].

    θ_a ~ N(X_a / n_a, c / n_a)  while arm a has had fewer than φ draws of this cohort, else the largest of them,
    arm = argmax_a θ_a,          c = ln^α T,       φ = ⌈ln T / Q(√(ln T / c))⌉,       Q the upper normal tail

X_a is the exact total of the arm's last full cohort of n_a = 1, 2, 4, ... users. The largest of φ draws is above the
true mean of an arm that is at most √(ln T / n_a) above the mean of its cohort with probability ≥ 1 − 1/T, as each draw
is so with probability Q(√(ln T / c)): once the cap is reached, the arm has an upper confidence bound.

What is proved. A reward is in one cohort. It moves the mean of its cohort by at most 1/n_a, so each of at most φ draws
costs its user zCDP 1 / (2 c n_a), also if which draws there are depends on earlier ones; whatever is done with the
draws costs nothing more. So all decisions together cost a user zCDP at most

    ρ = φ / (2 c),       reached by the first user of an arm.

With α = 1 that is 3.15 for large T, as φ = ⌈6.30 ln T⌉; with α = 2 it is 0.094 at T = 10⁶, and falls as 1 / ln T. The
regret is proved to be O(K ln^{α + 1} T / gap) for α in [0, 1] [HHZLH25].

Departures: of the paper, that of DP-TS-UCB, only the abstract could be had, and two summaries by others, which agree on
the cap, the variance and the cohorts, and leave a constant open. Hence the name, and the cap: there it is
c₀ T^{(1 − α) / 2} ln^{(3 − α) / 2} T, which is at least the φ here if c₀ = 2 √(2 π e). Its GDP is √(2 φ / ln^α T), and
√(φ / c) is proved here. α may be above 1.

Full cohorts in flight count as in Anytime-Lazy-UCB, and the proof of the regret knows no delays.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import is_number
from maskedbandit.core import Decision, Floats, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, is_noiseless
from maskedbandit.policies.parts.batches import all_released
from maskedbandit.policies.parts.choice import NONE_YET, weigh_arm
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.anytime_lazy_ucb import early_cohort, fill_cohort, replace_cohort
from maskedbandit.privacy.loss import Loss


class State(NamedTuple):
    """The last released cohort of each arm, the draws that it has had, and the open one."""

    mean: np.ndarray  # [k] of the last released cohort
    told: np.ndarray  # [k] its users
    n: np.ndarray  # [k] users of the last full cohort
    flight: np.ndarray  # [k] full cohorts not yet released
    filled: np.ndarray  # [k] users in the open cohort
    clock: np.ndarray  # [1] users asked for so far
    draws: np.ndarray  # [k] from the last released cohort
    top: np.ndarray  # [k] the largest of them
    variance: float  # c
    cap: int


@dataclass(frozen=True)
class CappedThompson(Policy):
    """Thompson sampling that hides rewards by its own draws, of which each cohort has a limited number.

    It receives exact rewards, so it needs the channel `Raw`. `alpha` trades regret for privacy.

    **Guarantee**: all decisions of T rounds cost a user at most zCDP φ / (2 ln^α T).

    >>> policy = CappedThompson(alpha=2)
    >>> policy.count_draws(10**6), policy.loss(Loss.unbounded(), 10**6)
    (36, Loss(ε = 2.077 at δ = 1e-06))
    """

    goal = "regret"

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not (is_number(self.alpha) and 0 <= self.alpha <= 10):
            raise InvalidValue("alpha", self.alpha, "a number from 0 to 10")

    def needs(self, law: Law) -> str:
        return "" if is_noiseless(law) else "sums without noise: its own draws are the noise"

    def variance(self, horizon: int) -> float:
        """c; at least 1, also where the logarithm is smaller."""
        return max(1.0, math.log(horizon)) ** float(self.alpha)

    def count_draws(self, horizon: int) -> int:
        """The cap φ on the draws of a cohort."""
        log = max(1.0, math.log(horizon))
        return math.ceil(log / (math.erfc(math.sqrt(log / self.variance(horizon) / 2)) / 2))

    def loss(self, released: Loss, horizon: int) -> Loss:
        return Loss.zcdp(self.count_draws(horizon) / (2 * Fraction(self.variance(horizon))))

    def init(self, k: int, horizon: int) -> State:
        told, n, flight, filled, draws = np.zeros((5, k), np.int64)
        mean, top = np.zeros((2, k))
        clock, numbers = np.zeros(1, np.int64), (self.variance(horizon), self.count_draws(horizon))
        return State(mean, told, n, flight, filled, clock, draws, top, *numbers)

    def means(self, s: State) -> Floats:
        return np.where(s.told > 0, s.mean, np.nan)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.told):
            return early_cohort(s, rng)
        best = NONE_YET
        for a in range(s.n.size):
            theta = s.top[a]
            if s.draws[a] < s.cap:
                theta = s.mean[a] + math.sqrt(s.variance / s.told[a]) * rng.standard_normal()
                if s.draws[a] == 0 or theta > s.top[a]:
                    s.top[a] = theta
                s.draws[a] += 1
            best = weigh_arm(best, a, theta, rng)
        return fill_cohort(s, best.arm, 1)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if replace_cohort(s, arm, n):
            s.mean[arm] = total / n
            s.draws[arm] = 0
