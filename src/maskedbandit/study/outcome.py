"""One outcome of each person: the reward, or the guardrail. Its reports, its bounds, and the noise in its sum."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from maskedbandit.channels.channel import Channel
from maskedbandit.channels.offers import Offer
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import capped
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.reward import Reward


class Outcome(NamedTuple):
    """An outcome, by the name that its reports have; that of the reward is empty.

    >>> from maskedbandit.channels.central import Central
    >>> outcome = Outcome("harm", Reward(), Central(epsilon=100))
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


def outcomes_of(channel: Channel, reward: Reward, guardrail: Guardrail | None) -> tuple[Outcome, ...]:
    """The reward, and the guardrail if there is one; their channels share the epsilon of this one."""
    found = [Outcome("", reward, channel)]
    if guardrail is not None:
        first, second = guardrail.channels(channel)
        found = [Outcome("", reward, first), Outcome(guardrail.name, guardrail.outcome, second)]
    for each in found:
        if each.on_devices and each.reward.rule != "first" and each.reward.cap == 1:
            allowed = "first: each device reports once, as its noise is in its report"
            raise InvalidValue(f"rule of [{'guardrail' if each.metric else 'reward'}]", each.reward.rule, allowed)
    return tuple(each._replace(channel=each.channel.carrying(capped(each.reward.cap))) for each in found)
