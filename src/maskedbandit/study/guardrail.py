"""The outcomes of each person: the reward and perhaps a guardrail, whose limit says when an arm does harm.

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

Both outcomes of a person are in the same cohort, whose release is the vector of both sums, each with noise of its own:
the server adds it to the sums, or each device to what it sends of each. A person loses what both cost together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from maskedbandit.channels.channel import Channel, at_epsilon, epsilon_of, part_of
from maskedbandit.channels.offers import Offer
from maskedbandit.checks import is_number
from maskedbandit.core import TOGETHER
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import capped_sum
from maskedbandit.study.decisions import decision_generator
from maskedbandit.study.naming import check_study_name, refuse_unknown
from maskedbandit.study.reward import Reward

OUTCOME = ("least", "most", "rule", "default")
GUARDRAIL_KEYS = ("name", "harm", "share", "alpha", *OUTCOME)


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

    @classmethod
    def from_table(cls, given: Any, reward: Reward, arms: tuple[str, ...]) -> Guardrail:
        """The [guardrail] table of a protocol with this [reward] and these arms."""
        if not isinstance(given, dict):
            raise InvalidValue("guardrail", given, "a [guardrail] table")
        refuse_unknown("key of [guardrail]", given, GUARDRAIL_KEYS)
        outcome = Reward.from_table({key: given[key] for key in OUTCOME if key in given}, "guardrail")
        outcome = replace(outcome, window=reward.window, exposure=reward.exposure, grace=reward.grace)
        share = to_fraction("share of the guardrail", given.get("share", "1/2"))
        if share >= 1:
            raise InvalidValue("share of the guardrail", given["share"], "above 0 and below 1")
        if not is_number(alpha := given.get("alpha", 0.05)) or not 0 < alpha < 1:
            raise InvalidValue("alpha of the guardrail", alpha, "a probability between 0 and 1")
        name = check_study_name("name of the guardrail", given.get("name"))
        return cls(name, outcome, *harm(given.get("harm"), outcome, arms), share, float(alpha))

    def channels(self, channel: Channel) -> tuple[Channel, Channel]:
        """The channels of the reward and of the guardrail, which share the epsilon of one."""
        if channel.law().counter > 0:
            allowed = "central, local or response, if there is a guardrail: a tree keeps running sums of one outcome"
            raise InvalidValue("channel", channel, allowed)
        whole, part = epsilon_of(channel), part_of if channel.trust == "local" else at_epsilon
        return part(channel, whole * (1 - self.share)), part(channel, whole * self.share)

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


class MeasuredOutcome(NamedTuple):
    """An outcome, its reports, and the noise in its sum; by the name of the reports, which is empty for the reward.

    >>> from maskedbandit.channels.central import Central
    >>> outcome = MeasuredOutcome("harm", Reward(), Central(epsilon=100))
    >>> offer = outcome.offer(3)
    >>> offer.metric, outcome.released([[1.0], [], [1.0]], offer, Bits())
    ('harm', 2.0)
    """

    metric: str
    reward: Reward
    channel: Channel

    @property
    def on_devices(self) -> bool:
        """Whether the devices of the people add the noise, so that reports are not the outcome."""
        return self.channel.trust == "local"

    def offer(self, n: int) -> Offer:
        """What is offered to a cohort of n for this outcome."""
        return replace(self.channel.offer(n), metric=self.metric)

    def released(
        self, reports: Sequence[list[float]], offer: Offer, bits: Bits, memory: Any = None, stream: int = 0
    ) -> float:
        """The released sum of a cohort, from what was reported of each of its people, by place.

        Who has not reported counts as the default, with noise that is drawn here.
        """
        sent = [
            int(told[0])
            if self.on_devices and told
            else self.channel.randomize(self.reward.of(told), offer.at(place), bits)
            for place, told in enumerate(reports)
        ]
        # a database may store -0.0 as 0.0, which is another number to the ledger
        return float(self.channel.analyze(sum(sent), offer, bits, memory, stream, answers=len(sent))) + 0.0


def list_outcomes(channel: Channel, reward: Reward, guardrail: Guardrail | None) -> tuple[MeasuredOutcome, ...]:
    """The reward, and the guardrail if there is one; their channels share the epsilon of this one."""
    found = [MeasuredOutcome("", reward, channel)]
    if guardrail is not None:
        first, second = guardrail.channels(channel)
        found = [MeasuredOutcome("", reward, first), MeasuredOutcome(guardrail.name, guardrail.outcome, second)]
    for each in found:
        if each.on_devices and each.reward.rule != "first" and each.reward.cap == 1:
            allowed = "first: each device reports once, as its noise is in its report"
            raise InvalidValue(f"rule of the {'guardrail' if each.metric else 'reward'}", each.reward.rule, allowed)
    return tuple(each._replace(channel=each.channel.carrying(capped_sum(each.reward.cap))) for each in found)
