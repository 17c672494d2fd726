"""An equal split: every arm gets as many users in a single cohort, and the highest mean is the answer.

    n = floor(people / K),        answer argmax over a of X_a / n

One release for each arm has the least noise, but no arm gets more users than another.

**Guarantee**: wrong with probability at most `most_wrong(means, horizon, law)` (theory/wrong_answers.py), plus the
channel's `failure` for each sum that may wrap around its modulus, if all rewards come at once and nobody drops out.

The policy is this project's own; docs/fixed_budget.md argues the guarantee.
"""

from dataclasses import dataclass

import numpy as np

from maskedbandit.core import Decision, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.fixed_phases import FixedPhases, State, follow_plan, new_plan, plan_of, split_equally
from maskedbandit.theory.wrong_answers import PhasePlan


@dataclass(frozen=True)
class EqualSplit(FixedPhases):
    """The simplest design, and the best one if all other arms are equal and noise is large.

    >>> EqualSplit().plan(5, 10_000, Law(0))
    PhasePlan(sizes=(2000,), keep=(1,), pooled=True)
    """

    pooled = True

    def init(self, k: int, horizon: int) -> State:
        split_equally(s := new_plan(k, horizon, 0, self.pooled))
        return s

    def plan(self, k: int, horizon: int, law: Law) -> PhasePlan:
        return plan_of(self.init(k, horizon), self.pooled)

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        return follow_plan(s, law, rng)
