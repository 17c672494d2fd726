"""The report of a place with a shuffler: a bundle of messages, whose size and number do not depend on the outcome."""

import json
from base64 import urlsafe_b64encode
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from maskedbandit.channels.offers import Offer
from maskedbandit.device.own_place import OwnPlace, name_own_place
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.powers import power_below
from maskedbandit.privacy.sampling import Bits

if TYPE_CHECKING:
    from maskedbandit.channels.mixing_channel import MixingChannel

MOST_OFFERED_COINS = 2**13  # more would be of a cohort in which each person sends thousands of messages
LARGEST_MIXED_MODULUS = 2**62


class Withdrawal(NamedTuple):
    """What a shuffler is told of a person who left."""

    study: str
    address: str
    body: str


def read_mixing_channel(offer: Offer) -> "MixingChannel":
    """The channel that an offer is of, or raise `InvalidValue`: all other numbers follow from its terms.

    **Guarantee**: the messages of a bundle that this channel makes have the noise that the epsilon and the delta of
    the offer need, if the users who the offer counts on are there.
    """
    from maskedbandit.channels.shuffled import Shuffled, hide  # takes longer to import than this room
    from maskedbandit.channels.split_and_mix import SplitAndMix

    terms = dict(offer.terms)
    epsilon = terms.get("epsilon", Fraction(0))
    if offer.channel == "Shuffled":
        delta, coins, needed = (terms.get(name, Fraction(0)) for name in ("delta", "coins", "needed"))
        if not 1 <= needed <= coins <= MOST_OFFERED_COINS:
            raise InvalidValue(
                "coins of an offer", str(coins), f"from 1 to {MOST_OFFERED_COINS}, as many as are needed"
            )
        if (
            not 0 < delta < 1
            or not epsilon > 0
            or not hide(MOST_OFFERED_COINS, power_below(min(epsilon, Fraction(60))), delta)
        ):
            allowed = f"of a promise for which {MOST_OFFERED_COINS} coins are enough"
            raise InvalidValue("epsilon and delta of an offer", (str(epsilon), str(delta)), allowed)
        found: MixingChannel = Shuffled(epsilon, delta, honest=Fraction(needed, coins))
    elif offer.noise is not None:
        if not offer.n * offer.steps < offer.modulus <= LARGEST_MIXED_MODULUS:
            allowed = f"above {offer.n * offer.steps}, so that sums fit, and at most {LARGEST_MIXED_MODULUS}"
            raise InvalidValue("modulus of an offer", offer.modulus, allowed)
        honest = Fraction(offer.noise.least, offer.n)
        found = SplitAndMix(epsilon, terms.get("eta", Fraction(0)), honest=honest, grid=offer.steps)
    else:
        raise InvalidValue("noise of an offer", None, "that of split-and-mix")
    found.check_offer(offer)
    return found


class DrawnBundle(NamedTuple):
    """The messages of a report, each a number below the same bound."""

    messages: list[int]
    below: int


def draw_bundle(place: OwnPlace, steps: int) -> DrawnBundle:
    """The messages that say so many steps, with the noise of this device; their number follows from the place."""
    offer = place.offer
    channel: Any = read_mixing_channel(offer)
    bits = Bits()  # fresh bits: none from before the process was copied
    sent = int(channel.randomize(Fraction(steps, offer.steps), offer, bits))
    return DrawnBundle(channel.bundle(sent, offer, bits), channel.below(offer))


def seal_bundle_report(place: OwnPlace, drawn: DrawnBundle, shown: str) -> str:
    """The body of the request that carries these messages of a place; its size follows from the place."""
    from maskedbandit.shuffle.envelopes import BundleTerms, name_person, seal_envelope

    offer, cohort = place.offer, place.cohort
    assert offer.position is not None
    assert cohort is not None
    terms = BundleTerms(place.protocol, cohort, offer.digest, offer.position, name_person(place.ticket))
    service, shuffler = (operator.keys.seals for operator in place.operators)
    sealed = seal_envelope(drawn.messages, drawn.below, terms, service, shuffler)
    body = show_pass(place, shown) | {"sealed": urlsafe_b64encode(sealed).decode()}
    return json.dumps(body, separators=(",", ":"))


def write_withdrawal(place: OwnPlace, shown: str) -> str:
    """The body of the request that has a shuffler erase the report of a place."""
    return json.dumps(show_pass(place, shown), separators=(",", ":"))


def show_pass(place: OwnPlace, shown: str) -> dict[str, Any]:
    """The pass of a place, with what it is of."""
    from maskedbandit.shuffle.envelopes import name_person

    return {**name_own_place(place), "who": name_person(place.ticket).hex(), "shown": shown}
