"""Offers: one text for all channels, and devices that refuse whatever they did not agree to."""

import inspect
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.channels import offers
from maskedbandit.channels import room as channels
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.offers import LARGEST_MODULUS, LONGEST_OFFER, NoiseShare, Offer, from_lines, to_lines
from maskedbandit.channels.raw import Raw
from maskedbandit.channels.response import Response
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import InvalidValue, ModulusTooSmall
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from maskedbandit.shuffle.splitting import messages_needed
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import seeded

HALF = Fraction(1, 2)
fixed = settings(max_examples=60)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,63}", fullmatch=True)
numbers = st.one_of(st.fractions(), st.just(Fraction(10**300, 7)), st.just(Fraction(-1, 10**300)))


@st.composite
def any_offers(draw):
    n = draw(st.integers(1, LARGEST_MODULUS))
    noise_share = st.builds(NoiseShare, names, numbers.filter(lambda x: x > 0), st.integers(1, n))
    return Offer(
        draw(names),
        n,
        draw(st.integers(0, LARGEST_MODULUS)),
        draw(st.integers(0, LARGEST_MODULUS)),
        draw(st.none() | noise_share),
        tuple(sorted(draw(st.dictionaries(names, numbers, max_size=4)).items())),
        draw(st.none() | st.integers(0, n - 1)),
    )


@pytest.mark.slow
@given(any_offers())
@fixed
def test_an_offer_comes_back_from_its_text(offer):
    text = offer.to_text()
    again = Offer.from_text(text)
    assert (again, again.to_text(), again.digest) == (offer, text, offer.digest)
    assert text.isascii()
    assert "\n" not in text


def takes(channel: Channel, n: int) -> bool:
    """Whether a cohort may have so many people."""
    try:
        channel.check_size(n)
    except InvalidValue:
        return False
    return True


@given(channel=st.sampled_from(sorted(channels)), n=st.integers(2, 10**6), modulus=st.integers(0, 2**20))
@fixed
def test_the_offers_of_every_channel_come_back_and_are_accepted(channel, n, modulus):
    made = channels[channel](**({} if channel == "raw" else {"epsilon": HALF}))
    n = next(each for each in range(n, n + 1000) if takes(made, each))
    offer = made.offer(n)
    for position in (None, 0, n - 1):
        again = Offer.from_text(offer.at(position).to_text())
        assert again == offer.at(position)
        assert again.digest == offer.digest
        made.check_offer(again)
    if modulus != offer.modulus and not (offer.modulus and modulus > offer.n * offer.steps):
        with pytest.raises(InvalidValue, match="modulus"):
            made.check_offer(replace(offer, modulus=modulus))


def test_the_text_of_version_1_does_not_change():
    offer = Distributed(HALF, Skellam(), honest="4/5", grid=3).offer(99)
    text = "maskedbandit-offer-1 channel=Distributed n=99 steps=3 modulus=512 noise=Skellam:6:80 terms=epsilon:1/2"
    assert offer.to_text() == f"{text} position="
    assert offer.at(98).to_text() == f"{text} position=98"
    assert offer.digest.hex()[:16] == "1b07de8b1c5dc4c1"


TEXT = Distributed(HALF, honest="4/5").offer(99).at(3).to_text()


@for_each(
    "text",
    [
        "",
        TEXT + "\n",
        " " + TEXT,
        TEXT.replace("offer-1", "offer-2"),
        TEXT.replace("n=99", "n=099"),
        TEXT.replace("n=99", "n=-99"),
        TEXT.replace("n=99", "n=0"),
        TEXT.replace("n=99", "n=" + "9" * 20),
        TEXT.replace("n=99", "n=٩٩"),
        TEXT.replace("epsilon:1/2", "epsilon:2/4"),
        TEXT.replace("epsilon:1/2", "epsilon:0.5"),
        TEXT.replace("epsilon:1/2", "epsilon:1/0"),
        TEXT.replace("epsilon:1/2", "epsilon:-0"),
        TEXT.replace("epsilon:1/2", "epsilon:1/2,epsilon:1/2"),
        TEXT.replace("epsilon:1/2", "epsilon:1/2,delta:1/2"),
        TEXT.replace("epsilon:1/2", "epsilon:1/2,"),
        TEXT.replace("epsilon:1/2", "epsilon:" + "9" * 4001),
        TEXT.replace("epsilon:1/2", ",".join(f"a{i:05}:1" for i in range(LONGEST_OFFER // 8))),
        TEXT.replace(":80", ":0"),
        TEXT.replace(":80", ":100"),
        TEXT.replace("DiscreteLaplace:2", "DiscreteLaplace:0"),
        TEXT.replace("DiscreteLaplace:2", "DiscreteLaplace:-2"),
        TEXT.replace("position=3", "position=99"),
        TEXT.replace("position=3", "position=None"),
        TEXT.replace(" steps", "  steps"),
        TEXT + " metric=",
        TEXT + " metric=a b",
        TEXT + " metric=-a",
        TEXT + " metric=" + "a" * 65,
        TEXT.encode(),
        None,
        7,
    ],
)
def test_any_other_text_is_refused(text):
    with pytest.raises(InvalidValue, match="the text of an offer"):
        Offer.from_text(text)


def test_offers_of_several_outcomes_are_lines():
    reward = Offer.from_text(TEXT)
    harm = replace(reward, metric="harm.2")
    assert harm.to_text() == f"{TEXT} metric=harm.2"
    assert harm.digest != reward.digest
    assert from_lines(to_lines([reward, harm])) == [reward, harm]
    assert to_lines([reward]) == TEXT
    for wrong in (TEXT + "\n", "", "\n".join([TEXT] * (LONGEST_OFFER // len(TEXT) + 1)), None):
        with pytest.raises(InvalidValue, match="the text of"):
            from_lines(wrong)


@pytest.mark.slow
@given(st.text() | st.binary() | st.from_regex(offers._TEXT))
@fixed
def test_a_text_is_refused_or_written_again_as_it_is(text):
    try:
        offer = Offer.from_text(text)
    except InvalidValue:
        return
    assert offer.to_text() == text


@for_each(
    ("wrong", "name"),
    [
        ({"channel": "no name"}, "channel"),
        ({"channel": "é"}, "channel"),
        ({"n": 0}, "n"),
        ({"n": True}, "n"),
        ({"n": LARGEST_MODULUS + 1}, "n"),
        ({"steps": -1}, "steps"),
        ({"steps": 1.0}, "steps"),
        ({"modulus": -8}, "modulus"),
        ({"modulus": LARGEST_MODULUS + 1}, "modulus"),
        ({"position": 99}, "position"),
        ({"position": -1}, "position"),
        ({"noise": ("DiscreteLaplace", Fraction(2), 80)}, "noise"),
        ({"noise": NoiseShare("DiscreteLaplace", 2, 80)}, "noise"),
        ({"noise": NoiseShare("DiscreteLaplace", Fraction(2), 100)}, "least"),
        ({"terms": (("b", HALF), ("a", HALF))}, "terms"),
        ({"terms": (("a", 0.5),)}, "terms"),
        ({"metric": "a b"}, "metric"),
        ({"metric": None}, "metric"),
    ],
)
def test_what_is_no_offer(wrong, name):
    with pytest.raises(InvalidValue, match=rf"^{name} is"):
        replace(Offer.from_text(TEXT), **wrong)


@for_each("term", [Fraction(10**4001), Fraction(1, 10**5000)])
def test_an_offer_whose_text_could_not_be_read_again_is_not_written(term):
    with pytest.raises(InvalidValue, match="the text of an offer"):
        Offer.from_text(TEXT).also(more=term).to_text()
    with pytest.raises(InvalidValue, match="the text of an offer"):
        replace(Offer.from_text(TEXT), terms=(("no name", HALF),)).to_text()


# --- what a device refuses ------------------------------------------------------------------------------------------

AGREED = [
    Distributed(HALF, honest="4/5"),
    Distributed(HALF, DiscreteGaussian(), honest="4/5", grid=8),
    TwoServers(HALF),
    SplitAndMix(HALF, honest="4/5"),
    Shuffled(HALF, honest="4/5"),
    Response(HALF),
]
AGREED += [channels[name](epsilon=HALF) for name in channels if channels[name] not in {Raw, *map(type, AGREED)}]
each_channel = for_each("channel", AGREED, ids=lambda channel: type(channel).__name__)


def lies(channel: Channel):
    """Offers that promise a device less than its channel, each with the name of the value that is wrong."""
    offer = channel.offer(100)
    yield "channel", replace(offer, channel="Raw")
    yield "steps", replace(offer, steps=offer.steps + 1)
    yield "unknown", offer.also(unknown=1)
    for name, value in offer.terms:
        yield name, offer.also(**{name: 2 * value})
        yield name, replace(offer, terms=tuple(term for term in offer.terms if term[0] != name))
    if offer.noise:
        yield "noise", replace(offer, noise=None)
        yield "noise", replace(offer, noise=offer.noise._replace(scale=offer.noise.scale - Fraction(1, 10**9)))
        yield "noise", replace(offer, noise=offer.noise._replace(least=100 if offer.noise.least < 100 else 99))
        yield "noise", replace(offer, noise=offer.noise._replace(noise="Silence"))
    if offer.modulus:
        yield "modulus", replace(offer, modulus=100 * offer.steps)
        yield "modulus", replace(offer, modulus=1)
        yield "modulus", replace(offer, modulus=0)
    else:
        yield "modulus", replace(offer, modulus=256)


def refuses(channel: Channel) -> None:
    for name, lie in lies(channel):
        with pytest.raises(InvalidValue, match=rf"^{name}\b"):
            channel.check_offer(lie)


@each_channel
def test_a_lie_is_refused_by_the_name_of_its_value(channel):
    refuses(channel)


def test_a_device_that_does_not_check_is_noticed():
    class Trusting(Distributed):
        def check_offer(self, offer):
            pass

    class Careless(Distributed):
        """It looks at the modulus alone."""

        def check_offer(self, offer):
            if offer.modulus < offer.n * offer.steps + 1:
                raise InvalidValue("modulus", offer.modulus, "larger")

    for broken in (Trusting(HALF), Careless(HALF)):
        with pytest.raises(pytest.fail.Exception):
            refuses(broken)


@each_channel
def test_another_epsilon_is_refused(channel):
    for epsilon in (Fraction(51, 100), Fraction(49, 100)):
        with pytest.raises(InvalidValue, match=r"(noise|epsilon|coins) of an offer"):
            channel.check_offer(replace(channel, epsilon=epsilon).offer(100))


def test_a_modulus_has_room_for_the_rewards_and_need_be_no_more():
    """Privacy does not depend on it: a smaller margin for noise harms the server's own estimate."""
    channel = Distributed(HALF)
    offer = channel.offer(100)
    for modulus in (101, 102, 2**20, LARGEST_MODULUS):
        channel.check_offer(replace(offer, modulus=modulus))
    with pytest.raises(ModulusTooSmall, match="modulus is 100: it must be at least 101 for a cohort of 100 users"):
        channel.check_offer(replace(offer, modulus=100))


def test_more_messages_are_needed_for_a_larger_modulus():
    """Under split-and-mix privacy rests on how many there are, so a device counts them for the modulus of the offer."""
    channel = SplitAndMix(HALF)
    offer = channel.offer(100)
    larger = replace(offer, modulus=2**60)
    assert messages_needed(100, 2**60, channel.eta) > dict(offer.terms)["messages"]
    with pytest.raises(InvalidValue, match="messages of an offer"):
        channel.check_offer(larger)
    channel.check_offer(channel.offer(100, 2**60))


def test_the_server_computes_the_modulus_once(monkeypatch):
    """Device and analyzer take the one that was announced, where floating point gives another."""
    channel, bits = Distributed(HALF), seeded(1)
    offer = replace(channel.offer(20), modulus=1000)

    def never(*how):
        raise AssertionError("a device computed a modulus")

    with monkeypatch.context() as patch:
        patch.setattr(Distributed, "residues", never)
        channel.check_offer(offer)
        assert max(channel.randomize(0, offer, bits) for _ in range(99)) > 990  # a negative noise share
    assert channel.analyze(-3 % 1000, offer, bits, answers=20) == -3
    assert channel.analyze(-3 % 1000, channel.offer(20), bits, answers=20) != -3


def test_devices_check_without_floats():
    assert offences(inspect.getsource(offers)) == []
    for name in channels:
        for part in (channels[name].offer, channels[name].check_offer):
            assert offences(inspect.getsource(part)) == []
