"""What an offer costs the person who takes part: from its own text, and from nothing that a service says beside it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.errors import InvalidValue

if TYPE_CHECKING:
    from maskedbandit.secagg.round_rules import AgreedRounds

MOST_OFFERED_STEPS = 2**20  # in one unit of reward: reports of more would be of another size than anybody needs
LEAST_OFFERED_EPSILON = Fraction(1, 10**6)  # of local trust: numbers with more noise might not be sent
MOST_ADDED = 2**63  # a modulus of devices that add up, each of which keeps what it sent as a number of 64 bits
PURE_NOISES, OTHER_NOISES = ("DiscreteLaplace",), ("DiscreteGaussian",)


def price_sealed_offer(offer: Offer, least: int, cap: int = 1) -> Fraction:
    """The epsilon of an offer of two servers with proofs, or raise `InvalidValue`: all other numbers follow from it.

    **Guarantee**: whoever accepts it adds a value from 0 to `steps` to one sum modulo the field, to which an honest
    operator of the two adds a draw that hides it at the epsilon returned.
    """
    from maskedbandit.secagg.prio3 import FIELD  # brings cffi, which only a place needs

    epsilon = check_offered_person(offer, least, "", Fraction(0))
    if offer.n * offer.steps >= FIELD:
        raise InvalidValue("n of an offer", offer.n, f"such that sums of {offer.steps} steps each are below {FIELD}")
    noise = NoiseShare("DiscreteLaplace", offer.steps / epsilon, 1)
    check_promise(offer, Offer("TwoServers", offer.n, offer.steps, FIELD, noise), epsilon, cap)
    return epsilon


def price_mixed_offer(offer: Offer, least: int, cap: int = 1) -> tuple[Fraction, Fraction]:
    """The epsilon and the delta of an offer with a shuffler, or raise `InvalidValue`.

    **Guarantee**: whoever accepts it sends messages that the shuffler's random order hides among those of the others,
    if as many of these are honest as the offer counts on.
    """
    from maskedbandit.device.shuffled_reports import read_mixing_channel

    epsilon = check_offered_person(offer, least, "", Fraction(0))
    if cap > 1:
        raise InvalidValue("cap of a place", cap, "1, as one reward of a person is mixed")
    return epsilon, Fraction(read_mixing_channel(offer).loss(offer.n).delta)


def price_summed_offer(offer: Offer, least: int, cap: int, rounds: AgreedRounds) -> Fraction:
    """The epsilon of an offer to devices that add up, for all attempts together, or raise `InvalidValue`.

    **Guarantee**: whoever accepts it adds a value, with a noise share, to a sum that is opened if so many honest
    devices are in it that their shares hide the value at the epsilon of the offer, once in each attempt.
    """
    epsilon = check_offered_person(offer, least, "", Fraction(0))
    counted = offer.noise.least if offer.noise is not None else 0
    rounds.rules.check_devices(offer.n, counted)  # first: a plan has all of them
    rounds.rules.plan(offer.n, counted, max(offer.modulus, 2))  # raises if no round counts on so many
    if not offer.n * offer.steps < offer.modulus <= MOST_ADDED:
        allowed = f"above {offer.n * offer.steps}, so that sums fit, and at most {MOST_ADDED}"
        raise InvalidValue("modulus of an offer", offer.modulus, allowed)
    noise = NoiseShare("DiscreteLaplace", offer.steps / epsilon, counted)
    check_promise(offer, Offer("Distributed", offer.n, offer.steps, offer.modulus, noise), epsilon, cap)
    return rounds.attempts * epsilon


def price_local_offer(offer: Offer, least: int, cap: int = 1, metric: str = "", pure: bool = True) -> Fraction:
    """The epsilon of an offer of local trust, or raise `InvalidValue`: all other numbers follow from it.

    **Guarantee**: whoever accepts it and sends one `draw_local_value` loses at most the epsilon returned, whoever sees
    it; unless `pure`, noise may also be discrete Gaussian with the standard deviation steps / epsilon, whose loss is
    epsilon^2 / 2 of zero-concentrated privacy [CKS20, Thm. 4].
    """
    epsilon = check_offered_person(offer, least, metric, LEAST_OFFERED_EPSILON)
    if offer.channel == "Response":
        promised = Offer("Response", offer.n, steps=1)
    elif offer.channel == "Local":
        noise, noises = offer.noise, PURE_NOISES if pure else PURE_NOISES + OTHER_NOISES
        if noise is None or noise.noise not in noises:
            found = None if noise is None else noise.noise
            raise InvalidValue("noise of an offer", found, f"{' or '.join(noises)}, to which the person agreed")
        promised = Offer("Local", offer.n, offer.steps, noise=NoiseShare(noise.noise, offer.steps / epsilon, 1))
    else:
        raise InvalidValue("channel of an offer", offer.channel, "Local or Response, if no operators are named")
    check_promise(offer, promised, epsilon, cap)
    return epsilon


def check_offered_person(offer: Offer, least: int, metric: str, least_epsilon: Fraction) -> Fraction:
    """The epsilon that an offer states, or raise `InvalidValue` if it is not one to a person in such a cohort."""
    if offer.position is None:
        raise InvalidValue("position of an offer", None, "the place in the cohort, from 0 to n - 1")
    if offer.metric != metric:
        allowed = f"{metric}, an outcome of the place" if metric else "left out: this offer is for the reward"
        raise InvalidValue("metric of an offer", offer.metric, allowed)
    if offer.n < least:
        raise InvalidValue("n of an offer", offer.n, f"at least {least}, to which the person agreed")
    if not 1 <= offer.steps <= MOST_OFFERED_STEPS:
        raise InvalidValue("steps of an offer", offer.steps, f"a whole number from 1 to {MOST_OFFERED_STEPS}")
    epsilon = dict(offer.terms).get("epsilon", Fraction(0))
    if epsilon <= 0 or epsilon < least_epsilon:
        raise InvalidValue(
            "epsilon of an offer", str(epsilon), f"at least {least_epsilon}" if least_epsilon else "above 0"
        )
    return epsilon


def check_promise(offer: Offer, promised: Offer, epsilon: Fraction, cap: int) -> None:
    """Raise unless an offer states all that follows from its epsilon, and the cap of the person's rewards."""
    offer.check(promised.also(epsilon=epsilon, **({"cap": cap} if cap > 1 else {})))
