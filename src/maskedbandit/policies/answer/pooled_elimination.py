"""Elimination in phases of fixed sizes that uses all releases of an arm, and fewer phases where noise costs more.

The numbers of arms and the users that each arm left has had by the end of phase p are

    s₁ = K,  s_{p+1} = ceil(2 s_p / 5),        n₁ + ... + n_p  proportional to  (K / s_p)^(3/4)

(2 before 1), as large as the people allow. A release adds noise of its own, whatever its size. Where that has more than
a tenth of the variance of the rewards in an equal split, s_{p+1} = ceil(s_p / 5): fewer phases have fewer releases.
Randomized response has noise per reward and none per release, so there phases cost nothing.

Arms are compared by all their releases, weighted by precision (parts/fixed_phases.py), so that no user of an arm that
is left is forgotten. The exponent 3/4 lies between an equal split (0), which is best if all other arms are equal, and
equal numbers of people for all phases (1, as in [KKS13]), which is best if gaps differ.

**Guarantee**: wrong with probability at most `most_wrong(means, horizon, law)` (theory/wrong_answers.py), plus the
channel's `failure` for each sum that may wrap around its modulus, if all rewards come at once and nobody drops out.

The policy is this project's own; docs/fixed_budget.md argues the guarantee.
"""

import math
from dataclasses import dataclass

import numpy as np

from maskedbandit.core import Decision, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.fixed_phases import (
    PLANNED,
    FixedPhases,
    State,
    follow_plan,
    new_plan,
    noise_variance,
    plan_of,
    split_equally,
)
from maskedbandit.privacy.exact import to_whole
from maskedbandit.theory.wrong_answers import PhasePlan

SMALL_NOISE = 0.1  # of the variance of rewards: noise of a release below that is no reason for fewer phases


@lean_kernel
def arms_kept(arms: int, fast: bool) -> int:
    """The number of arms that are left after a phase."""
    if arms <= 2:
        return 1
    return max(2, (arms + 4) // 5 if fast else (2 * arms + 4) // 5)


@lean_kernel
def growth(ratio: float) -> float:
    """ratio^(3/4), by square roots, which are the same in compiled code to the last digit."""
    return math.sqrt(ratio) * math.sqrt(math.sqrt(ratio))


@lean_kernel
def is_dear(law: Law, users: int) -> bool:
    """Whether two releases have much more noise than one release of as many users."""
    half = max(1, users // 2)
    return 2 * noise_variance(law, half) - noise_variance(law, 2 * half) > SMALL_NOISE * half / 2


@lean_kernel
def prepare(s: State, law: Law) -> None:
    """Plan the phases."""
    k, fast = s.left.size, is_dear(law, s.horizon // s.left.size)
    arms, phases, cost, before = k, 0, 0.0, 0.0
    while arms > 1:
        had = growth(k / arms)
        cost += (had - before) * arms
        before, arms, phases = had, arms_kept(arms, fast), phases + 1
    people = s.horizon - (phases - 1) * s.late
    arms, before, used, least = k, 0.0, 0, people
    for p in range(phases):
        had = growth(k / arms)
        s.size[p] = math.floor((had - before) * people / cost)
        s.keep[p] = arms_kept(arms, fast)
        used, least = used + s.size[p] * arms, min(least, s.size[p])
        if p == phases - 1:  # those that rounding left over
            s.size[p] += (people - used) // arms
        before, arms = had, s.keep[p]
    s.clock[PLANNED] = 1
    if least < 1:
        split_equally(s)


@dataclass(frozen=True)
class PooledElimination(FixedPhases):
    """The recommended policy for a fixed number of people.

    `late` is the number of people who come until the rewards of a phase are known: before each further phase so many
    people are reserved, who are in no cohort.

    >>> from maskedbandit.law import LAPLACE
    >>> policy, law = PooledElimination(), Law(LAPLACE, scale=1.0, grid=1, per_release=1)
    >>> policy.plan(5, 10_000, law)
    PhasePlan(sizes=(1433, 1417), keep=(2, 1), pooled=True)
    >>> round(policy.most_wrong([0.6, 0.5, 0.5, 0.5, 0.5], 10_000, law), 7)
    1e-06
    """

    pooled = True

    late: int = 0

    def __post_init__(self) -> None:
        to_whole("late", self.late, 0)

    def init(self, k: int, horizon: int) -> State:
        return new_plan(k, horizon, self.late, self.pooled)

    def plan(self, k: int, horizon: int, law: Law) -> PhasePlan:
        prepare(s := self.init(k, horizon), law)
        return plan_of(s, self.pooled)

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if s.clock[PLANNED] == 0:
            prepare(s, law)
        return follow_plan(s, law, rng)
