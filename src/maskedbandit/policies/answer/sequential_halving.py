"""Sequential halving: phases of as many people each, half of the arms leave, and earlier phases are forgotten [KKS13].

    ceil(log2 K) phases,  s_{p+1} = ceil(s_p / 2),        n_p = floor(people / (s_p ceil(log2 K)))

An arm is judged by its last cohort alone, so that the arms which are left are independent of the sums that choose among
them.

**Guarantee**: wrong with probability at most `most_wrong(means, horizon, law)` (theory/wrong_answers.py), plus the
channel's `failure` for each sum that may wrap around its modulus, if all rewards come at once and nobody drops out.
Without noise that is at most 3 log2(K) exp(−people / (8 H log2 K)), H the largest a / gap_a² for gaps in order [KKS13,
Thm. 4.1].

Departures: means hold the noise of the channel, and the guarantee counts it.
"""

from dataclasses import dataclass

import numpy as np

from maskedbandit.core import Decision, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.fixed_phases import FixedPhases, State, follow_plan, new_plan, plan_of
from maskedbandit.theory.wrong_answers import PhasePlan


@dataclass(frozen=True)
class SequentialHalving(FixedPhases):
    """As published, with the noise of a channel in each mean.

    >>> SequentialHalving().plan(5, 10_000, Law(0))
    PhasePlan(sizes=(666, 1111, 1666), keep=(3, 2, 1), pooled=False)
    """

    pooled = False

    def init(self, k: int, horizon: int) -> State:
        s, arms, phases = new_plan(k, horizon, 0, self.pooled), k, max(k - 1, 1).bit_length()
        for p in range(phases if k > 1 else 0):
            s.size[p], s.keep[p] = horizon // (arms * phases), (arms + 1) // 2
            arms = (arms + 1) // 2
        return s

    def plan(self, k: int, horizon: int, law: Law) -> PhasePlan:
        return plan_of(self.init(k, horizon), self.pooled)

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        return follow_plan(s, law, rng)
