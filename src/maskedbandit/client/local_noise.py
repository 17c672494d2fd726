"""Local trust: the report gets its noise here, and the service never sees the outcome.

The only file of the client that knows more of this package than its errors, and only if a study asks for it: whoever
adds the noise has to compute what is offered, with the channel that the application's people agreed to.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from maskedbandit.errors import AlreadySpent, InvalidValue, PersonalValue, RewardOutOfRange

if TYPE_CHECKING:
    from maskedbandit.channels.channel import Channel


class NoisyReport(NamedTuple):
    """What is sent in place of an outcome, and the epsilon that it costs."""

    value: float
    epsilon: Fraction


def add_report_noise(
    channel: Channel, offers: str, value: float, metric: str = "", spent: Fraction = Fraction(0)
) -> NoisyReport:
    """What is sent in place of an outcome in [0, 1], with noise that is drawn now.

    The offers, one for each outcome, share the epsilon of the channel to which people agreed; `spent` is what this
    person's other outcomes have cost.

    **Guarantee**: it is nothing but what a person's device makes of the outcome at a part of the channel's epsilon,
    under an offer that costs no more than the channel states for a cohort of one. All parts that are offered together
    are no more than the whole, and neither is this part with what was spent. That it is drawn once is up to the outbox.
    """
    from maskedbandit.channels.channel import epsilon_of, part_of
    from maskedbandit.channels.offers import from_lines
    from maskedbandit.device.local_reports import draw_local_value
    from maskedbandit.privacy.sampling import Bits
    from maskedbandit.privacy.statistics import SINGLE_REWARD
    from maskedbandit.study.rehearsed_device import check_agreed

    if not 0 <= value <= 1:
        raise RewardOutOfRange
    offered, agreed = from_lines(offers), epsilon_of(channel)
    parts = [dict(offer.terms).get("epsilon", agreed) for offer in offered]
    found = [(offer, part) for offer, part in zip(offered, parts, strict=True) if offer.metric == metric]
    if sum(parts) > agreed or min(parts) <= 0:
        allowed = f"above 0 each, and at most {agreed} together, to which people agreed"
        raise InvalidValue("epsilon of the offers", " + ".join(map(str, parts)), allowed)
    if len(found) != 1:
        raise PersonalValue("metric", "that of one offer of the study")
    ((offer, part),) = found
    if spent + part > agreed:
        raise AlreadySpent(f"this person's other outcomes in this study have cost {spent} of {agreed}")
    own = part_of(channel.carrying(SINGLE_REWARD) if metric else channel, part)  # only rewards have a cap
    check_agreed(own, 1, offer)
    return NoisyReport(float(draw_local_value(offer, Fraction(value), Bits())), part)


def add_up_rewards(channel: Channel, told: float | Sequence[float], metric: str = "") -> float:
    """The outcome of a person, from all that is told: where people agreed to a cap, the sum of their rewards, cut.

    With a cap a single number is refused: it may be the first of several rewards, and noise is drawn once.

    >>> from maskedbandit.channels.response import Response
    >>> from maskedbandit.privacy.statistics import capped_sum
    >>> [add_up_rewards(Response().carrying(capped_sum(3)), rewards) for rewards in ([1, 0.5], [1] * 9, [])]
    [0.5, 1.0, 0.0]
    """
    from maskedbandit.privacy.statistics import SINGLE_REWARD

    cap = 1 if metric else getattr(channel, "statistics", SINGLE_REWARD).cap
    if isinstance(told, float | int):
        if cap > 1:
            raise PersonalValue("value", f"a list of all rewards of the person: people agreed to a cap of {cap}")
        return told
    if cap == 1:
        raise PersonalValue("value", "one number: the channel to which people agreed has no cap")
    if not all(0 <= reward <= 1 for reward in told):
        raise RewardOutOfRange
    return float(min(sum(told), cap) / cap)
