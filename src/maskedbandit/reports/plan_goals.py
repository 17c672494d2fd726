"""How each goal is planned: with which policy, what its simulation aims at, and what no policy can beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from maskedbandit.policies.answer.pooled_elimination import PooledElimination
from maskedbandit.policies.identify.contemporaneous_elimination import ContemporaneousElimination
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.contemporaneous_klucb import ContemporaneousKLUCB
from maskedbandit.theory.bounds import lower_bound
from maskedbandit.theory.samples import least_samples
from maskedbandit.theory.wrong_answers import least_wrong


class Goal(NamedTuple):
    """How a goal is planned."""

    policy: Policy | None  # for live studies, if there is one for all questions
    aim: str  # what a simulated study is told: of how many `people` it is, or how often it may be wrong, `delta`
    bound: Callable[..., float]  # of a policy, a trust model, means, the aim and ε


GOALS = {
    "identify": Goal(ContemporaneousElimination(), "delta", lambda policy, *which: least_samples(*which)),
    "regret": Goal(
        ContemporaneousKLUCB(),
        "people",
        lambda policy, name, means, people, epsilon: float(lower_bound(name, means, [people], epsilon)[0]),
    ),
    "answer": Goal(PooledElimination(), "people", lambda policy, *which: least_wrong(*which)),
    "select": Goal(None, "delta", lambda policy, *which: policy.question.least_samples(*which)),
}
