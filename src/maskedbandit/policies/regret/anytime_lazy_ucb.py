"""Anytime-Lazy-UCB: cohorts of all arms fill at the same time, each twice as large as the arm's last [HHM21].

    arm = argmax_a  X_a / n_a + √(β ln t / n_a) + radius(noise of one release, β ln t) / n_a

X_a is the released total of the arm's last full cohort of n_a = 1, 2, 4, ... users, and the rewards before it are
forgotten. Under central Laplace noise the last term is the paper's β ln t / (ε n_a), β = 3.

Departures: the paper decides for every user. Until a cohort is full the indices change with ln t alone, and only an arm
of smaller n_a can overtake the leader, because its index always grows faster. So the policy asks for as many users as
the leader is sure to lead for, found by bisection, and the decisions are the same. Equal indices are ordered at random,
once.

While a full cohort is in flight, the next one fills, and n_a is that of the last full cohort, as if it had shown the
mean that was released. Before every arm has a release, the arm with the smallest cohort is next, with ties broken at
random. The proof knows no delays.

Regret = O(Σ_a ln T / min{gap_a, ε}) for central pure ε, at every T [HHM21]. The plots of [HH22] have logarithms to base
2 here (and natural ones in their own algorithm): that is `beta` 3 / ln 2.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from maskedbandit.checks import check_positive
from maskedbandit.core import Decision, Floats, kernel
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.batches import USERS, all_released
from maskedbandit.policies.parts.choice import pick_fewest, pick_highest
from maskedbandit.policies.policy import Policy


class FillingCohorts(Protocol):
    """The state of cohorts that fill at the same time."""

    @property
    def n(self) -> np.ndarray: ...  # [k] users of the last full cohort
    @property
    def told(self) -> np.ndarray: ...  # [k] users of the last released cohort
    @property
    def flight(self) -> np.ndarray: ...  # [k] full cohorts not yet released
    @property
    def clock(self) -> np.ndarray: ...  # [1] users asked for so far
    @property
    def filled(self) -> np.ndarray: ...  # [k] users in the arm's open cohort


class State(NamedTuple):
    """The last released cohort of each arm, the last full one, and the open one."""

    mean: np.ndarray  # [k] of the released rewards
    told: np.ndarray  # [k] their number
    n: np.ndarray  # [k] users of the last full cohort
    flight: np.ndarray  # [k] full cohorts not yet released
    filled: np.ndarray  # [k] users in the open cohort
    clock: np.ndarray  # [1] users asked for so far
    score: np.ndarray  # [k] at the last decision
    beta: float


@kernel
def size(s: FillingCohorts, arm: int) -> int:
    """Users of the arm's open cohort once it is full."""
    return max(1, 2 * int(s.n[arm]))


@kernel
def fill_cohort(s: FillingCohorts, arm: int, users: int) -> Decision:
    """Users for an arm's open cohort; it closes when it is twice as large as the last."""
    s.filled[arm] += users
    s.clock[USERS] += users
    full = s.filled[arm] == size(s, arm)
    if full:
        s.n[arm], s.filled[arm] = s.filled[arm], 0
        s.flight[arm] += 1
    return Decision(arm, users, int(full))


@kernel
def early_cohort(s: FillingCohorts, rng: np.random.Generator) -> Decision:
    """A whole cohort before every arm has a release."""
    arm = pick_fewest(s.n, rng)
    return fill_cohort(s, arm, size(s, arm))


@kernel
def replace_cohort(s: FillingCohorts, arm: int, n: int) -> bool:
    """A full cohort was released, and replaces the last one of the arm; False if it was overtaken by a larger one."""
    s.flight[arm] = max(0, s.flight[arm] - 1)
    larger = n >= s.told[arm]
    if larger:
        s.told[arm] = n
    if s.flight[arm] == 0:
        s.n[arm] = s.told[arm]
    return bool(larger)


def lacks_sizes(law: Law) -> str:
    """What a channel lacks for cohorts whose size is known only when they close."""
    return "" if law.root == 0 else "a grid that does not depend on the size of cohorts"


@kernel
def index_for_user(s: State, law: Law, a: int, t: int) -> float:
    """The index of arm a for user t, as if its last full cohort had shown the released mean."""
    n, x = s.n[a], s.beta * math.log(t)
    return s.mean[a] + math.sqrt(x / n) + radius(law, 1, n, x) / n


@kernel
def is_overtaken(s: State, law: Law, arm: int, t: int) -> bool:
    """Whether an arm that was not ahead of this one is ahead for user t."""
    top, found = index_for_user(s, law, arm, t), False
    for a in range(s.n.size):
        found |= s.n[a] < s.n[arm] and index_for_user(s, law, a, t) > top
    return found


@dataclass(frozen=True)
class AnytimeLazyUCB(Policy):
    """Optimism in doubling cohorts; `beta` is the factor of ln t.

    >>> import numpy as np
    >>> from maskedbandit.law import NO_NOISE
    >>> s, rng = AnytimeLazyUCB().init(k=2, horizon=100), np.random.default_rng(1)
    >>> for _ in range(2):
    ...     arm = AnytimeLazyUCB.ask(s, Law(NO_NOISE), rng).arm
    ...     AnytimeLazyUCB.tell(s, arm, 1, float(arm))
    >>> AnytimeLazyUCB.ask(s, Law(NO_NOISE), rng)
    Decision(arm=1, n=2, close=1)
    """

    goal = "regret"

    beta: float = 3.0

    def __post_init__(self) -> None:
        check_positive("beta", self.beta)

    def needs(self, law: Law) -> str:
        return super().needs(law) or lacks_sizes(law)

    def init(self, k: int, horizon: int) -> State:
        told, n, flight, filled = np.zeros((4, k), np.int64)
        count = told, n, flight, filled, np.zeros(1, np.int64)
        return State(np.zeros(k), *count, np.zeros(k), float(self.beta))

    def means(self, s: State) -> Floats:
        return np.where(s.told > 0, s.mean, np.nan)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.told):
            return early_cohort(s, rng)
        t = s.clock[USERS] + 1
        for a in range(s.n.size):
            s.score[a] = index_for_user(s, law, a, t)
        arm = pick_highest(s.score, rng)
        low, high = 1, size(s, arm) - int(s.filled[arm])
        while low < high:
            users = (low + high + 1) // 2
            if is_overtaken(s, law, arm, t + users - 1):
                high = users - 1
            else:
                low = users
        return fill_cohort(s, arm, low)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if replace_cohort(s, arm, n):
            s.mean[arm] = total / n
