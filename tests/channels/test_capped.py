"""Channels whose users add capped sums: the noise and the loss of a reward, and a cap in the offer."""

from dataclasses import replace
from fractions import Fraction

import pytest

from maskedbandit import channels
from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.offers import Offer
from maskedbandit.channels.raw import Raw
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.statistics import SINGLE_REWARD, capped_sum, linear_sums
from maskedbandit.study.rehearsed_device import RehearsedDevice
from tests.contracts.channel_rules import RULES, size_from
from tests.for_each import for_each
from tests.statistics import seeded

EVERY = [channels.room[name]() for name in channels.room]
WIDER = [Central(1, Skellam(), 5), Central(1, DiscreteGaussian(), Grid(fineness=Fraction(2)))]


@for_each("channel", [*EVERY, *WIDER], ids=lambda each: type(each).__name__)
def test_a_capped_sum_has_the_noise_and_the_loss_of_a_reward(channel: Channel) -> None:
    made, n = channel.carrying(capped_sum(4)), size_from(channel, 6)
    assert made.loss(n) == channel.loss(n)
    assert made.law() == channel.law()
    assert dict(made.offer(n).terms) == dict(channel.offer(n).terms) | {"cap": 4}
    assert "cap" not in channel.offer(n).to_text()
    assert made.carrying(SINGLE_REWARD) == channel
    assert made.carrying(capped_sum(4)) is made


@pytest.mark.slow
@for_each("name", list(channels.room))
@for_each("rule", RULES[:2], ids=lambda rule: rule.__name__)
def test_a_channel_of_capped_sums_keeps_the_rules(name: str, rule) -> None:
    rule(channels.room[name]().carrying(capped_sum(4)))


def test_devices_refuse_a_cohort_of_another_cap() -> None:
    channel, bits = Central(1).carrying(capped_sum(4)), seeded(1)
    for cap in (1, 3):
        device = RehearsedDevice("ann", 0.75, channel, 6)
        with pytest.raises(InvalidValue, match="cap of an offer is"):
            device.send(b"monday", 1, Central(1).carrying(capped_sum(cap)).offer(6), bits)
    device, offer = RehearsedDevice("ann", 0.75, channel, 6), Offer.from_text(channel.offer(6).to_text())
    assert device.send(b"monday", 1, offer, bits) in (0, 1)


@for_each("cap", [0, -1, 1.5, "3", None, True, 10**4 + 1])
def test_a_cap_is_a_whole_number(cap: object) -> None:
    with pytest.raises(InvalidValue, match="cap is"):
        capped_sum(cap)


def test_vectors_have_no_cap() -> None:
    with pytest.raises(InvalidValue, match="cap is 3: it must be at most 1"):
        replace(linear_sums(2), cap=3)
    assert Raw().carrying(linear_sums(2)).carrying(capped_sum(2)) == Raw().carrying(capped_sum(2))
