"""A device refuses less noise, a smaller group, or another epsilon than its user agreed to, and sends nothing then."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.channels.channel import Channel
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.offers import Offer
from maskedbandit.errors import InvalidValue, PersonalValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.sampling import Bits
from maskedbandit.study import rehearsed_device
from maskedbandit.study.rehearsed_device import RehearsedDevice, check_agreed
from tests.for_each import for_each
from tests.statistics import seeded

CHANNEL = Distributed("1/2", honest="4/5")
OFFER = CHANNEL.offer(50)
LIES = {
    "less noise": (
        replace(OFFER, noise=OFFER.noise._replace(scale=Fraction(1))),
        "noise of an offer is 'DiscreteLaplace:1:40'",
    ),
    "noise for more survivors": (replace(OFFER, noise=OFFER.noise._replace(least=50)), "noise of an offer"),
    "a smaller group": (CHANNEL.offer(49), "n of an offer is 49: it must be at least 50"),
    "another epsilon": (replace(CHANNEL, epsilon=1).offer(50), "noise of an offer"),
    "another epsilon in words": (OFFER.also(epsilon=1), "epsilon of an offer is '1': it must be 1/2, as promised"),
    "another channel": (replace(OFFER, channel="Central"), "channel of an offer is 'Central': it must be Distributed"),
    "finer steps": (replace(CHANNEL, grid=2).offer(50), "steps of an offer"),
    "no residues for rewards": (replace(OFFER, modulus=50), "modulus is 50: it must be at least 51"),
}


def trusting(channel: Channel, n: int, offer: Offer) -> None:
    """The mutant: it does not check."""


def lonely(channel: Channel, n: int, offer: Offer) -> None:
    """The mutant that checks the channel's promise, and not the size of the group."""
    channel.check_offer(offer)


def asked(lie: Offer) -> None:
    """A device is asked for its value under a lie, then under the offer that its user agreed to."""
    ann = RehearsedDevice("ann", 1.0, CHANNEL, 50)
    drawn = []

    def source(size: int) -> bytes:
        drawn.append(size)
        return np.random.default_rng(len(drawn)).bytes(size)

    with pytest.raises(InvalidValue):
        ann.send(b"monday", 1, lie, Bits(source))
    assert drawn == []
    ann.send(b"monday", 1, OFFER, seeded(1))  # which it has not spent


@for_each("lie", LIES)
def test_a_device_refuses(lie):
    asked(LIES[lie][0])
    with pytest.raises(InvalidValue) as caught:
        check_agreed(CHANNEL, 50, LIES[lie][0])
    assert LIES[lie][1] in str(caught.value)


@pytest.mark.parametrize("lie", LIES)
def test_a_device_that_does_not_check_is_noticed(lie, monkeypatch):
    monkeypatch.setattr(rehearsed_device, "check_agreed", trusting)
    with pytest.raises(pytest.fail.Exception):
        asked(LIES[lie][0])


def test_a_device_that_does_not_look_at_the_group_is_noticed(monkeypatch):
    monkeypatch.setattr(rehearsed_device, "check_agreed", lonely)
    with pytest.raises(pytest.fail.Exception):
        asked(LIES["a smaller group"][0])


def test_a_larger_group_is_accepted_where_it_costs_no_more():
    check_agreed(CHANNEL, 50, CHANNEL.offer(10**6))
    fine = Distributed("1/2", Skellam(), grid="paper")  # whose loss falls with the steps of larger cohorts
    check_agreed(fine, 50, fine.offer(50))
    dear = Distributed("1/10", DiscreteGaussian())  # with more noise shares, each is narrower
    assert dear.loss(40).without_single() | dear.loss(50).without_single() != dear.loss(40).without_single()
    with pytest.raises(InvalidValue, match="n of an offer is 50: it must be a size that costs at most"):
        check_agreed(dear, 40, dear.offer(50))
    lonely(dear, 40, dear.offer(50))  # the control: it is what the channel promises


def test_a_modulus_of_the_server_is_used():
    ann = RehearsedDevice("ann", 1.0, CHANNEL, 50)
    assert 0 <= ann.send(b"monday", 1, replace(OFFER, modulus=51), seeded(3)) < 51


def test_a_user_is_a_user():
    for user in (7, "", "two words", None):
        with pytest.raises(PersonalValue, match="user"):
            RehearsedDevice(user, 1.0, CHANNEL, 50)
