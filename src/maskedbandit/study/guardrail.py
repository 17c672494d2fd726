"""A guardrail: a further outcome of each person, whose limit says when an arm does harm.

[guardrail]
name = "unsubscribed"
harm = { above = 0.02 }          # of an arm's mean; or { below = 0.9 }; or of the difference from an arm:
                                 # { above = 0.005, against = "short" }
least = 0                        # these four are as in [reward], whose windows are those of the guardrail too
most = 1
rule = "last"
default = 0
share = "1/2"                    # of the epsilon of the channel; the reward has the rest
alpha = 0.05                     # the chance that any arm is ever found harmful that is not
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from maskedbandit.checks import is_number
from maskedbandit.core import TOGETHER
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy
from maskedbandit.study.decisions import decision_generator
from maskedbandit.study.naming import check_study_name, refuse_unknown
from maskedbandit.study.outcomes import FURTHER_KEYS, read_further_outcome, read_share
from maskedbandit.study.reward import Reward

GUARDRAIL_KEYS = ("name", "harm", "share", "alpha", *FURTHER_KEYS)


@dataclass(frozen=True)
class Guardrail:
    """A guardrail; `limit` is of a mean, or of a difference, scaled to [0, 1] by the bounds of the outcome.

    >>> found = Guardrail.from_table({"name": "late", "most": 10, "harm": {"above": 1}}, Reward(), ("a", "b"))
    >>> found.limit, found.share, found.against
    (0.1, Fraction(1, 2), None)
    """

    name: str
    outcome: Reward
    limit: float
    below: bool  # is it harm to be below the limit
    against: int | None  # the number of the arm from which the difference is
    share: Fraction
    alpha: float
    called: ClassVar[str] = "the guardrail"

    @classmethod
    def from_table(cls, given: Any, reward: Reward, arms: tuple[str, ...]) -> Guardrail:
        """The [guardrail] table of a protocol with this [reward] and these arms."""
        if not isinstance(given, dict):
            raise InvalidValue("guardrail", given, "a [guardrail] table")
        refuse_unknown("key of [guardrail]", given, GUARDRAIL_KEYS)
        outcome = read_further_outcome("the guardrail", given, reward)
        share = read_share("the guardrail", given.get("share", "1/2"))
        if not is_number(alpha := given.get("alpha", 0.05)) or not 0 < alpha < 1:
            raise InvalidValue("alpha of the guardrail", alpha, "a probability between 0 and 1")
        name = check_study_name("name of the guardrail", given.get("name"))
        return cls(name, outcome, *harm(given.get("harm"), outcome, arms), share, float(alpha))

    def check_policy(self, policy: Policy, law: Law, k: int, aim: Any) -> None:
        """Raise `InvalidValue` if harm is a difference and the policy does not deal arms together."""
        if self.against is not None:
            first = policy.ask(policy.init(k, aim), law, decision_generator(bytes(16), 0))
            if first.close != TOGETHER:
                allowed = "one that deals arms together, such as contemporaneous_klucb: harm is a difference of arms"
                raise InvalidValue("policy", policy, allowed)


def harm(given: Any, outcome: Reward, arms: tuple[str, ...]) -> tuple[float, bool, int | None]:
    """The limit, whether harm is below it, and the arm from which a difference is."""
    allowed = 'such as { above = 0.02 }, { below = 0.9 } or { above = 0.005, against = "the name of an arm" }'
    if not isinstance(given, dict) or ("above" in given) == ("below" in given):
        raise InvalidValue("harm", given, allowed)
    refuse_unknown("key of harm", given, ("above", "below", "against"))
    value: Any = given.get("above", given.get("below"))
    name = given.get("against")
    if name is not None and name not in arms:
        raise InvalidValue("against", name, f"an arm of the study: {', '.join(arms)}")
    least = outcome.least if name is None else 0.0
    limit = (float(value) - least) / (outcome.most - outcome.least) if is_number(value) else math.nan
    if not (0 if name is None else -1) < limit < 1:
        where = "between the least and the most of the outcome" if name is None else "that a difference can be"
        raise InvalidValue("harm", given, f"a number {where}, {allowed}")
    return limit, "below" in given, None if name is None else arms.index(name)
