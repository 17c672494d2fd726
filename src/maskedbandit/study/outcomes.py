"""The outcomes of each person: the reward, and perhaps further ones, which share the epsilon of the channel with it.

A further outcome is a guardrail (guardrail.py) or a metric (metrics.py). All outcomes of a person are in the same
cohort, whose release is the vector of their sums, each with noise of its own: the server adds it to the sums, or each
device to what it sends of each. A person loses what all of them cost together, and is charged it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from maskedbandit.channels.channel import Channel, at_epsilon, epsilon_of, part_of
from maskedbandit.channels.offers import Offer
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import capped_sum
from maskedbandit.study.reward import Reward

FURTHER_KEYS = ("least", "most", "rule", "default")  # of a further outcome, as in [reward]


class FurtherOutcome(Protocol):
    """What a guardrail and a metric are: an outcome with a name, and its part of epsilon."""

    @property
    def name(self) -> str:
        """The `metric` of its reports."""

    @property
    def outcome(self) -> Reward:
        """How its reports become a number."""

    @property
    def share(self) -> Fraction:
        """Its part of the epsilon of the channel."""

    @property
    def called(self) -> str:
        """What errors call it."""


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
    share: Fraction = Fraction(1)  # of the epsilon of the channel of the study

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


def list_outcomes(channel: Channel, reward: Reward, further: Sequence[FurtherOutcome]) -> tuple[MeasuredOutcome, ...]:
    """The reward, and the further outcomes; their channels share the epsilon of this one.

    >>> from maskedbandit.channels.central import Central
    >>> from maskedbandit.study.metrics import read_metrics
    >>> metrics = read_metrics([{"name": "spent", "most": 100, "share": "1/5"}], Reward())
    >>> [(each.metric, str(each.channel.epsilon)) for each in list_outcomes(Central(epsilon=1), Reward(), metrics)]
    [('', '4/5'), ('spent', '1/5')]
    """
    rest = 1 - sum((each.share for each in further), Fraction(0))
    if rest <= 0:
        shares = ", ".join(f"{each.share} of {each.name}" for each in further)
        allowed = "parts of epsilon that add up to less than 1: the reward has the rest"
        raise InvalidValue("shares of the metrics", shares, allowed)
    if further and channel.law().counter > 0:
        allowed = "central, local or response, if there is a guardrail or a metric: a tree keeps sums of one outcome"
        raise InvalidValue("channel", channel, allowed)
    found = [MeasuredOutcome("", reward, channel, rest)]
    found += [MeasuredOutcome(each.name, each.outcome, channel, each.share) for each in further]
    for each, called in zip(found, ("the reward", *(each.called for each in further)), strict=True):
        if each.on_devices and each.reward.rule != "first" and each.reward.cap == 1:
            allowed = "first: each device reports once, as its noise is in its report"
            raise InvalidValue(f"rule of {called}", each.reward.rule, allowed)
    return tuple(each._replace(channel=share_channel(channel, each)) for each in found)


def share_channel(channel: Channel, outcome: MeasuredOutcome) -> Channel:
    """The channel of an outcome, which has its share of the epsilon of this one."""
    if outcome.share < 1:
        part = part_of if channel.trust == "local" else at_epsilon
        channel = part(channel, epsilon_of(channel) * outcome.share)
    return channel.carrying(capped_sum(outcome.reward.cap))


def read_further_outcome(of: str, given: dict[str, Any], reward: Reward, keys: Sequence[str] = FURTHER_KEYS) -> Reward:
    """How the reports of a further outcome become a number: by these keys of its table, with the windows of the reward.

    `of` is what it is called in errors.
    """
    outcome = Reward.from_table({key: given[key] for key in keys if key in given}, of)
    return replace(outcome, window=reward.window, exposure=reward.exposure, grace=reward.grace)


def read_share(of: str, given: Any) -> Fraction:
    """A part of epsilon."""
    share = to_fraction(f"share of {of}", given)
    if share >= 1:
        raise InvalidValue(f"share of {of}", given, "above 0 and below 1")
    return share
