"""For live studies, where days differ: elimination by differences over the same users only.

In every epoch all arms that are left get the same number of places over the same stretch of users, dealt in random
order; an epoch is `ratio` − 1 times as large as all before it. With S the difference of the totals of arms a and c over
all their epochs, n the users of each, and j the number of epochs that were released,

    drop a if for some c that is left
        sup over λ from 0 to 1 of  −λ S − λ² V − K(λ)  ≥  ln(2 (k − 1) j (j + 1) / δ),
    V = n y (1 − y) + j / 2,

K the log-moments of the noise in S. For bits y is the mean of both arms over all their users, moved towards 1/2 by
radius(noise, ln(4 (k − 1) j (j + 1) / δ)) / 2n, as only noise makes it uncertain; for other rewards it is 1/2.

**Guarantee**: if for every user the best arm has at least the mean of every other arm, which drift that is common to
all arms does not change, it is dropped with probability ≤ δ, however means move in time, and plus the `failure` of the
channel for each sum that may wrap around. For fixed rewards with equal arms, each of the two arms has a random half of
the users who got either of them in an epoch: of h ones a random part is in one half. Their difference has log-moments
of at most λ² h (1 − (h − 1) / 2n) / 2 [Ser74], and n y (1 − y) + 1/2 per epoch is that number for the h that were seen,
by concavity. A better reward of a makes S larger by so much, and V smaller by at most as much: for λ ≤ 1 it never
counts against a. No size depends on a release. Up to four fifths of a cohort may drop out, if that does not depend on
rewards. Then releases must come in the order in which cohorts were asked for, as a release does not say which cohort it
is of. The users of a cohort that is discarded and dealt again are not those of its epoch: means must not move
meanwhile.

Arms of equal means are never told apart: set a limit on the number of users.

The policy is this project's own; docs/contemporaneous.md says more of what is proved of it.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_cohort
from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.golden_section import narrow_down, open_bracket
from maskedbandit.law import Law, count_steps, is_laplace, is_response, largest_tilt
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.batches import check_ratio
from maskedbandit.policies.parts.epochs import (
    NEXT,
    Flight,
    Pairs,
    begin_flight,
    begin_pairs,
    bound_moments,
    fold_epochs,
    free_row,
    launch_epoch,
    mean_of_pair,
    next_of_plan,
    store_arrival,
    unlike_size,
)
from maskedbandit.policies.policy import Policy

EPOCHS, RELEASED = range(1, 3)
LARGEST_TEST_LAM, SMALLEST_TEST_LAM = (
    1.0,
    1e-9,
)  # lam: above 1 a better reward of a could count against a, as it changes V
MOST_EPOCH_USERS = 2**50  # users


class State(NamedTuple):
    """The arms that are left, and what is known and in flight."""

    total: np.ndarray  # [k] released
    n: np.ndarray  # [k] rewards in it
    flying: np.ndarray  # [k] users in flight
    left: np.ndarray  # [k] 1: not dropped
    plan: np.ndarray  # [k] sizes of the epoch's cohorts
    pairs: Pairs
    flight: Flight
    clock: np.ndarray  # [3] next arm of the plan, epochs so far, epochs that were released
    asked: np.ndarray  # [1] users of each arm that is left
    delta: float
    ratio: float
    least: int


@kernel
def doubt(s: State, parts: float) -> float:
    """ln(parts (k - 1) j (j + 1) / delta)."""
    j = max(1.0, float(s.clock[RELEASED]))
    return math.log(parts * (s.n.size - 1) * j * (j + 1) / s.delta)


@kernel
def variance_bound(s: State, law: Law, a: int, c: int) -> float:
    """V, for two arms."""
    n, y = s.pairs.weight[a, c], 0.5
    if is_response(law) or count_steps(law, int(n)) == 1:
        q = mean_of_pair(s.pairs, a, c)
        noise = 0.0 if is_response(law) else radius(law, 2 * s.clock[RELEASED], int(2 * n), doubt(s, 4.0)) / (2 * n)
        y = min(0.5, q + noise) if q < 0.5 else max(0.5, q - noise)
    return n * y * (1 - y) + s.clock[RELEASED] / 2


@kernel
def order_evidence(s: State, law: Law, a: int, c: int) -> float:
    """The evidence of the difference of two arms, in nats, against arm a being at least as good as arm c."""
    difference = s.pairs.margin[a, c]
    if difference >= 0.0:
        return 0.0
    v, draws = variance_bound(s, law, a, c), s.pairs.draws[a, c]
    g = count_steps(law, int(s.pairs.weight[a, c])) if is_laplace(law) else count_steps(law, 1)  # see log_mgf_of_sum
    section = open_bracket(
        math.log(SMALLEST_TEST_LAM / (1 + law.scale)), math.log(min(LARGEST_TEST_LAM, largest_tilt(law)))
    )
    for _ in range(26):
        lam = math.exp(section.x)
        noise = 0.0 if is_response(law) else bound_moments(law, draws, g, lam)
        section = narrow_down(section, lam * difference + lam * lam * v + noise)
    return max(0.0, -section.least)


@kernel
def drop_arms(s: State, law: Law) -> None:
    """Drop every arm that one of those left shows not to be the best: one is always left, even if tests contradict."""
    for a in range(s.n.size):
        for c in range(s.n.size):
            if s.left[a] == 1 and s.left[c] == 1 and a != c and order_evidence(s, law, a, c) >= doubt(s, 2.0):
                s.left[a] = 0


@kernel
def first_size(s: State, law: Law) -> int:
    """Users of every arm in the first epoch: the least n with n >= 2 radius(noise of one release)."""
    n = s.least
    while n < MOST_EPOCH_USERS and n < 2 * radius(law, 1, n, doubt(s, 2.0)):
        n += max(1, n // 8)
    return n


@dataclass(frozen=True)
class ContemporaneousElimination(Policy):
    """For live studies: rewards may be late, and days may differ, as long as they differ alike for all arms.

    `ratio` is the growth of an arm's users in an epoch, `least` the smallest cohort.

    >>> from maskedbandit.law import LAPLACE
    >>> s, rng = ContemporaneousElimination().init(k=2, delta=0.1), np.random.default_rng(1)
    >>> law = Law(LAPLACE, scale=2.0, grid=1, per_release=1)
    >>> [ContemporaneousElimination.ask(s, law, rng) for _ in range(2)]
    [Decision(arm=0, n=15, close=2), Decision(arm=1, n=15, close=1)]
    """

    goal = "identify"

    ratio: float = 1.3
    least: int = 1

    def __post_init__(self) -> None:
        check_ratio(self.ratio)
        check_cohort("least", self.least)

    def init(self, k: int, delta: float) -> State:
        n, flying, plan = np.zeros((3, k), np.int64)
        clock, asked = np.array([k, 0, 0]), np.zeros(1, np.int64)
        known = np.zeros(k), n, flying, np.ones(k, np.int64), plan, begin_pairs(k), begin_flight(k), clock, asked
        return State(*known, float(delta), float(self.ratio), int(self.least))

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        k = s.n.size
        if s.clock[NEXT] < k:
            return next_of_plan(s.plan, s.clock)
        epochs = fold_epochs(s.pairs, law, s.flight, s.n, s.total, s.flying)
        if epochs > 0:
            s.clock[RELEASED] += epochs
            drop_arms(s, law)
        arms, last = 0, -1
        for a in range(k):
            if s.left[a] == 1:
                arms, last = arms + 1, a
        if arms == 1:
            return Decision(last, 0, 0)
        row, size = free_row(s.flight), max(s.least, math.ceil((s.ratio - 1) * s.asked[0]))
        if row < 0:
            return WAIT
        if s.asked[0] == 0:
            size = first_size(s, law)
        for a in range(k):
            s.plan[a] = unlike_size(s.flight, a, size) if s.left[a] == 1 else 0
        s.asked[0] += size
        s.clock[EPOCHS] += 1
        s.clock[NEXT] = 0
        launch_epoch(s.flight, row, s.clock[EPOCHS], s.plan, s.flying)
        return next_of_plan(s.plan, s.clock)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        store_arrival(s.flight, arm, n, total)
