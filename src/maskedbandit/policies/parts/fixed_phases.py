"""Phases of fixed sizes: what policies share that name the best arm with a fixed number of people.

In phase p each arm that is left gets a cohort of n_p users, all dealt together, and each cohort is released once. Then
the arms with the lowest scores leave, until s_{p+1} are left, ties at random; the last arm is the answer. The sizes n_p
and the numbers s_p are fixed before the first user comes: sum of n_p s_p is at most the number of people. A user is in
one cohort, so the loss of a user is that of one release, however many phases there are.

The score of an arm is the mean of its last cohort, or of all its cohorts so far, each weighted by its precision,

    w = n² / (n / 4 + V(n)),        V(n) the variance of the noise in the sum of n rewards.

Arms that are left had cohorts of the same sizes in the same phases: if nobody drops out they have the same weights, and
what a day adds to the means of all arms changes no comparison.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from maskedbandit.core import TOGETHER, WAIT, Decision, Floats, large_kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.noise_bounds import deviation
from maskedbandit.policies.parts.choice import NONE_YET, weigh_arm
from maskedbandit.policies.policy import Policy, means_of
from maskedbandit.theory.wrong_answers import PhasePlan, most_wrong

PHASE, NEXT, AWAITED, PLANNED = range(4)


class State(NamedTuple):
    """The plan, all releases by phase and arm, and the arms that are left."""

    size: np.ndarray  # [phases] users of each arm that is left
    keep: np.ndarray  # [phases] arms that are left after it; 0: there is no such phase
    total: np.ndarray  # [phases, k] released
    n: np.ndarray  # [phases, k] users in these sums
    left: np.ndarray  # [k] 1: not dropped
    score: np.ndarray  # [k]
    clock: np.ndarray  # [4] the current phase, its next arm, cohorts not yet released, whether it was planned
    horizon: int
    late: int
    pooled: int  # 1: all releases of an arm count, 0: the last one


def new_plan(k: int, horizon: int, late: int, pooled: bool) -> State:
    """The state before the first user, without a plan; no plan has more phases than arms."""
    size, keep, left, clock = (np.zeros(length, np.int64) for length in (k, k, k, 4))
    left[:], clock[PHASE], total, n = 1, -1, np.zeros((k, k)), np.zeros((k, k), np.int64)
    return State(size, keep, total, n, left, np.zeros(k), clock, int(horizon), int(late), int(pooled))


@lean_kernel
def split_equally(s: State) -> None:
    """Plan a single phase."""
    for p in range(s.size.size):
        s.size[p], s.keep[p] = 0, 0
    s.size[0], s.keep[0] = s.horizon // s.left.size, 1
    s.clock[PLANNED] = 1


@lean_kernel
def count_arms_left(s: State) -> int:
    """The number of arms that were not dropped."""
    arms = 0
    for a in range(s.left.size):
        arms += s.left[a]
    return arms


@large_kernel
@lean_kernel
def noise_variance(law: Law, n: int) -> float:
    """The variance of the noise in the sum of n rewards."""
    noise = deviation(law, 1, n)
    return noise * noise


@lean_kernel
def score(s: State, law: Law, arm: int) -> float:
    """The mean of an arm in the releases that count; 0 if there is none."""
    weights, found = 0.0, 0.0
    first = 0 if s.pooled == 1 else int(s.clock[PHASE])
    for p in range(first, int(s.clock[PHASE]) + 1):
        if s.n[p, arm] > 0:
            n = float(s.n[p, arm])
            weight = n * n / (n / 4 + noise_variance(law, s.n[p, arm]))
            weights += weight
            found += weight * (s.total[p, arm] / n)
    return found / weights if weights > 0.0 else 0.0


@lean_kernel
def drop_lowest(s: State, law: Law, keep: int, rng: np.random.Generator) -> None:
    """The arms with the lowest scores leave, until so many are left."""
    for a in range(s.left.size):
        s.score[a] = score(s, law, a)
    for _ in range(count_arms_left(s) - keep):
        worst = NONE_YET
        for a in range(s.left.size):
            if s.left[a] == 1:
                worst = weigh_arm(worst, a, -s.score[a], rng)
        s.left[worst.arm] = 0


@lean_kernel
def next_arm(s: State, arm: int) -> int:
    """The first arm left from this one on; k if there is none."""
    while arm < s.left.size and s.left[arm] == 0:
        arm += 1
    return int(arm)


@lean_kernel
def follow_plan(s: State, law: Law, rng: np.random.Generator) -> Decision:
    """The next decision of a plan."""
    while s.clock[AWAITED] == 0:
        if s.clock[PHASE] >= 0:
            drop_lowest(s, law, s.keep[s.clock[PHASE]], rng)
        if next_arm(s, next_arm(s, 0) + 1) == s.left.size:
            return Decision(next_arm(s, 0), 0, 0)
        s.clock[PHASE] += 1
        s.clock[NEXT] = 0
        if s.size[s.clock[PHASE]] > 0:
            s.clock[AWAITED] = count_arms_left(s)
    arm = next_arm(s, int(s.clock[NEXT]))
    if arm == s.left.size:
        return WAIT
    s.clock[NEXT] = arm + 1
    return Decision(arm, int(s.size[s.clock[PHASE]]), 1 if next_arm(s, arm + 1) == s.left.size else TOGETHER)


class FixedPhases(Policy):
    """A policy of phases of fixed sizes."""

    goal = "answer"

    pooled: ClassVar[bool]

    @abstractmethod
    def init(self, k: int, horizon: int) -> State: ...

    @abstractmethod
    def plan(self, k: int, horizon: int, law: Law) -> PhasePlan:
        """The phases: how many users each arm gets, and how many arms are left afterwards."""

    def most_wrong(self, means: Sequence[float], horizon: int, law: Law) -> float:
        """A bound on the probability of a wrong answer, for independent rewards in [0, 1] of these means, if all
        devices answer; see theory/wrong_answers.py."""
        return most_wrong(self.plan(len(means), horizon, law), means, law)

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        s.total[s.clock[PHASE], arm] += total
        s.n[s.clock[PHASE], arm] += n
        s.clock[AWAITED] -= 1

    def means(self, s: State) -> Floats:
        if s.pooled == 1:
            return means_of(s.total.sum(axis=0), s.n.sum(axis=0))
        last = np.array([max([0, *np.flatnonzero(of_arm)]) for of_arm in s.n.T])
        arms = np.arange(s.left.size)
        return means_of(s.total[last, arms], s.n[last, arms])


def plan_of(s: State, pooled: bool) -> PhasePlan:
    """The plan in a state."""
    phases = int(np.count_nonzero(s.keep))
    return PhasePlan(tuple(s.size[:phases].tolist()), tuple(s.keep[:phases].tolist()), pooled)
