"""Successive elimination in batches, for any channel [CZ23, Alg. 1].

Batch b gives every arm that is left to n = max(least, base^b) new users and keeps the arms with

    X_a / n + β ≥ max_c X_c / n − β,       X_a the released total of this batch alone,
    β = √(y / (2n)) + radius(noise of one release, y) / n,       y = ln(4 A b (b + 1) / p),

A the number of arms left. Rounded rewards stay in [0, 1] and keep their mean, so Hoeffding's bound holds for them and
rounding costs nothing; each of the two terms fails with probability ≤ p / (2 A b (b + 1)), so every bound of every
batch holds with probability ≥ 1 − p (on distributed trust, less the channel's `failure` for each sum that may wrap
around). If devices drop out, n in β is the least number of users in a sum of the batch.

Users of all arms left come in random order. The batch after that waits for all their sums, which say who is in it.

A batch that cannot finish by the horizon is skipped, because its sums could never be released: the users that are left
get the arm that looks best.

Regret = O(Σ_a ln T / gap_a + k ln T / ε) with p = 1/T, on central and distributed channels [CZ23, Thm. 1].

Departures: the radius has no term for rounding, and its failures add up to p. That of the paper, `radius="paper"`, has
1.5 p / b² for each batch, which adds up to 2.47 p:

    β = √(ln(4 A b² / p) / (2n)) + σ √z / n + h z / n,       z = ln(2 A b² / p)     [CZ23, Lem. 2].

and the paper starts a batch that cannot finish by the horizon [CZ23, Alg. 1, line 9]: `unfinished="start"`.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from maskedbandit.checks import check_choice, check_cohort, check_fraction
from maskedbandit.core import TOGETHER, WAIT, Decision, Floats, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, count_draws, count_steps, is_gaussian, is_laplace, is_skellam
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.choice import NONE_YET, weigh_arm
from maskedbandit.policies.policy import Policy


class EliminationState(Protocol):
    """The state that every elimination in rounds has."""

    @property
    def mean(self) -> np.ndarray: ...
    @property
    def left(self) -> np.ndarray: ...
    @property
    def clock(self) -> np.ndarray: ...


class State(NamedTuple):
    """The arms that are left and the current batch."""

    mean: np.ndarray  # [k] of the last batch
    left: np.ndarray  # [k] 1: not eliminated
    clock: np.ndarray  # [6] batch, its size n, next arm, sums awaited, users left to ask for, most dropouts in a cohort
    p: float
    base: float
    least: int
    paper: int


BATCH, SIZE, NEXT, AWAITED, USERS, LOST = range(6)
UNLIMITED_USERS = 2**62
LARGEST_BATCH = 2.0**60  # batch: far above every horizon, and a float that is a whole number


@kernel
def arms_left(s: EliminationState) -> int:
    """Number of arms left."""
    arms = 0
    for a in range(s.left.size):
        arms += s.left[a]
    return arms


@kernel
def leader(s: EliminationState) -> int:
    """The arm left that looked best, the first one of ties."""
    best = -1
    for a in range(s.mean.size):
        if s.left[a] == 1 and (best < 0 or s.mean[a] > s.mean[best]):
            best = a
    return best


@kernel
def answer_best(s: EliminationState, rng: np.random.Generator) -> Decision:
    """From now on serve the arm left that looked best; ties are broken at random, as before the first release."""
    best = NONE_YET
    for a in range(s.mean.size):
        if s.left[a] == 1:
            best = weigh_arm(best, a, s.mean[a], rng)
    s.left[:] = 0
    s.left[best.arm] = 1  # asked again, it gives the same answer
    return Decision(best.arm, 0, 0)


@kernel
def eliminate_arms(s: EliminationState, beta: float) -> None:
    """Drop every arm whose upper bound is below the highest lower bound."""
    floor = s.mean[leader(s)] - beta
    for a in range(s.mean.size):
        if s.mean[a] + beta < floor:
            s.left[a] = 0


@kernel
def begin_batch(s: EliminationState, n: int) -> bool:
    """Start a batch of n users for every arm left; False if it cannot finish, or only one arm is left."""
    arms = arms_left(s)
    if arms == 1 or float(arms) * n > s.clock[USERS]:  # as a float, in which a huge batch does not overflow
        return False
    s.clock[BATCH] += 1
    s.clock[SIZE] = n
    s.clock[NEXT] = 0
    s.clock[AWAITED] = arms
    s.clock[USERS] -= arms * n
    s.clock[LOST] = 0
    return True


@kernel
def following(s: EliminationState, arm: int) -> int:
    """The first arm left from this one on; k if there is none."""
    while arm < s.left.size and s.left[arm] == 0:
        arm += 1
    return arm


@kernel
def next_of_batch(s: EliminationState) -> Decision:
    """The batch's next arm; all its cohorts are dealt together."""
    arm = following(s, int(s.clock[NEXT]))
    if arm == s.mean.size:
        return WAIT
    s.clock[NEXT] = arm + 1
    return Decision(arm, int(s.clock[SIZE]), 1 if following(s, arm + 1) == s.mean.size else TOGETHER)


@kernel
def record_sum(s: EliminationState, arm: int, n: int, total: float) -> None:
    """Store a released sum of the batch."""
    s.mean[arm] = total / n
    note_sum(s, n)


@kernel
def note_sum(s: EliminationState, n: int) -> None:
    """Note the release of a cohort of the batch, with n users after dropouts."""
    s.clock[AWAITED] -= 1
    s.clock[LOST] = max(s.clock[LOST], s.clock[SIZE] - n)


def batch_means(s: EliminationState) -> Floats:
    """Means of the last batch; nan until all sums of the first one are released."""
    known = s.clock[BATCH] > 1 or (s.clock[BATCH] == 1 and s.clock[AWAITED] == 0)
    return s.mean.copy() if known else np.full(s.mean.size, np.nan)


@kernel
def fewest_users(s: EliminationState) -> int:
    """The least number of users in a sum of the batch: that mean has the largest radius."""
    return s.clock[SIZE] - s.clock[LOST]


@kernel
def published_radius(law: Law, n: int, z: float) -> float:
    """sigma sqrt(z) + h z, for the noise of one release [CZ23, Lem. 2 and App. C, D, E]."""
    sigma = law.scale * math.sqrt(count_draws(law, 1, n))
    if is_laplace(law):
        return sigma * math.sqrt(2 * z) + law.scale * z
    if is_skellam(law):
        return 2 * sigma * math.sqrt(z) + math.sqrt(2.0) / count_steps(law, n) * z
    if is_gaussian(law):
        return sigma * math.sqrt(2 * z)
    return radius(law, 1, n, z)


@kernel
def confidence(s: State, law: Law) -> float:
    """beta of the batch that has just been released."""
    b, n, arms = s.clock[BATCH], fewest_users(s), arms_left(s)
    if s.paper == 1:
        z = math.log(2 * arms * b * b / s.p)
        return math.sqrt((z + math.log(2.0)) / (2 * n)) + published_radius(law, n, z) / n
    y = math.log(4 * arms * b * (b + 1) / s.p)
    return math.sqrt(y / (2 * n)) + radius(law, 1, n, y) / n


@dataclass(frozen=True)
class SuccessiveElimination(Policy):
    """Batches of growing size; arms that cannot be the best are dropped.

    `failure` is p, by default 1 / horizon; `least` the smallest cohort (a secure sum of two users hides little), `base`
    the growth of batches; `unfinished` says what happens to a batch that the horizon would cut off.

    >>> from maskedbandit.law import NO_NOISE
    >>> s = SuccessiveElimination().init(k=3, horizon=10**6)
    >>> SuccessiveElimination.ask(s, Law(NO_NOISE), rng=None)
    Decision(arm=0, n=64, close=2)
    """

    goal = "regret"

    base: float = 2.0
    least: int = 64
    failure: float | None = None
    radius: Literal["corrected", "paper"] = "corrected"
    unfinished: Literal["skip", "start"] = "skip"

    def __post_init__(self) -> None:
        if not 1 < self.base < math.inf:
            raise InvalidValue("base", self.base, "a number above 1")
        check_cohort("least", self.least)
        if self.failure is not None:
            check_fraction("failure", self.failure)
        check_choice("radius", self.radius, ("corrected", "paper"))
        check_choice("unfinished", self.unfinished, ("skip", "start"))

    def init(self, k: int, horizon: int) -> State:
        clock = np.array([0, 0, k, 0, horizon if self.unfinished == "skip" else UNLIMITED_USERS, 0])
        p = self.failure or 1 / horizon
        paper = int(self.radius == "paper")
        return State(np.zeros(k), np.ones(k, np.int64), clock, p, float(self.base), int(self.least), paper)

    def means(self, s: State) -> Floats:
        return batch_means(s)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if s.clock[AWAITED] == 0:
            if s.clock[BATCH] > 0:
                eliminate_arms(s, confidence(s, law))
            if not begin_batch(s, max(s.least, math.ceil(min(s.base ** float(s.clock[BATCH] + 1), LARGEST_BATCH)))):
                return answer_best(s, rng)
        return next_of_batch(s)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        record_sum(s, arm, n, total)
