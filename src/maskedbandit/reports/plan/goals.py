"""How each goal is planned: with which policy, what its simulation aims at, and what no policy can beat.

Under privacy, that is proved of a pure ε alone: no lower bound of `theory` knows a δ, and with one a study may end with
fewer people. On regret the bounds are asymptotic: so many people may lose less, so none is stated.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from maskedbandit.policies.answer.pooled_elimination import PooledElimination
from maskedbandit.policies.identify.contemporaneous_elimination import ContemporaneousElimination
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.contemporaneous_klucb import ContemporaneousKLUCB
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import INF
from maskedbandit.theory.samples import least_samples
from maskedbandit.theory.wrong_answers import least_wrong


class Goal(NamedTuple):
    """How a goal is planned."""

    policy: Policy | None  # for live studies, if there is one for all questions
    aim: str  # what a simulated study is told: of how many `people` it is, or how often it may be wrong, `delta`
    bound: Callable[..., float] | None  # of a policy, a trust model, means, the aim and ε, if there is a proof

    def proved(self, policy: Policy, trust: str, means: Sequence[float], aim: float, loss: Loss) -> float | None:
        """What no policy can beat if a person loses so much, if that is proved."""
        if self.bound is None or loss.delta > 0 or loss.pure_epsilon == INF:
            return None
        return self.bound(policy, trust, means, aim, float(loss.pure_epsilon))


GOALS = {
    "identify": Goal(ContemporaneousElimination(), "delta", lambda policy, *which: least_samples(*which)),
    "regret": Goal(ContemporaneousKLUCB(), "people", None),
    "answer": Goal(PooledElimination(), "people", lambda policy, *which: least_wrong(*which)),
    "select": Goal(None, "delta", lambda policy, *which: policy.question.least_samples(*which)),
}
