"""What a person agreed to, as the application says it: the device holds every place that it is handed to this."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.study.operators import FINGERPRINT, ROLES

if TYPE_CHECKING:
    from maskedbandit.device.own_place import OwnPlace

MOST_OFFERED_STEPS = 2**20  # in one unit of reward: the shares of more would be of another size than anybody needs


@dataclass(frozen=True)
class Agreed:
    """What all studies of this person together may cost, and for whom reports are sealed.

    * `epsilon`: all places that the device ever takes cost no more together.
    * `operators`: fingerprints of the leader's and of the helper's keys. They come with the application, and never from
      the service that devices do not trust.
    * `least`: the person takes part in cohorts of so many people at least.

    >>> Agreed(0.1, ("5b" * 32, "c0" * 32)).epsilon
    Fraction(1, 10)
    """

    epsilon: Fraction | int | float | str
    operators: tuple[str, str]
    least: int = 1

    def __post_init__(self) -> None:
        try:  # a float is the shortest decimal that prints as it does
            epsilon = Fraction(0) if isinstance(self.epsilon, bool) else Fraction(str(self.epsilon))
        except (ValueError, ZeroDivisionError):
            epsilon = Fraction(0)
        if epsilon <= 0:
            raise InvalidValue("epsilon", self.epsilon, "a finite number above 0")
        object.__setattr__(self, "epsilon", epsilon)
        pinned = self.operators
        right = isinstance(pinned, tuple) and len(pinned) == 2 and pinned[0] != pinned[1]
        if not right or not all(isinstance(each, str) and re.fullmatch(FINGERPRINT, each) for each in pinned):
            raise InvalidValue("operators", pinned, "two different fingerprints, each of 64 hexadecimal digits")
        if type(self.least) is not int or self.least < 1:
            raise InvalidValue("least", self.least, "a whole number of at least 1")

    def trusts(self, place: OwnPlace) -> bool:
        """Whether both operators of a place have the keys that came with the application."""
        return tuple(operator.keys.fingerprint for operator in place.operators) == self.operators

    def check(self, place: OwnPlace, spent: Fraction) -> Fraction:
        """What a place costs, or raise unless it is what the person agreed to, where others have cost `spent`.

        **Guarantee**: whatever a service hands out, a place that passes adds a value from 0 to `steps` to one sum
        modulo the field, to which an honest operator of the two adds a draw that hides it at the epsilon returned.
        """
        for role, found, pinned in zip(ROLES, place.operators, self.operators, strict=True):
            if found.keys.fingerprint != pinned:
                allowed = f"those with the fingerprint {pinned}, which came with the application"
                raise InvalidValue(f"keys of the {role}", found.keys.fingerprint, allowed)
        epsilon = check_offer(place.offer, self.least)
        if spent + epsilon > Fraction(self.epsilon):
            allowed = f"{self.epsilon}, to which the person agreed, and other studies have cost {spent}"
            raise BudgetExceeded(f"epsilon of an offer is {epsilon}: together it must be at most {allowed}")
        return epsilon


def check_offer(offer: Offer, least: int) -> Fraction:
    """The epsilon of an offer of two servers with proofs, or raise `InvalidValue`: all other numbers follow from it."""
    from maskedbandit.secagg.prio3 import FIELD  # brings cffi, which only a place needs

    if offer.position is None:
        raise InvalidValue("position of an offer", None, "the place in the cohort, from 0 to n - 1")
    if offer.metric:
        raise InvalidValue("metric of an offer", offer.metric, "left out: two servers carry one reward of each person")
    if offer.n < least:
        raise InvalidValue("n of an offer", offer.n, f"at least {least}, to which the person agreed")
    if not 1 <= offer.steps <= MOST_OFFERED_STEPS:
        raise InvalidValue("steps of an offer", offer.steps, f"a whole number from 1 to {MOST_OFFERED_STEPS}")
    epsilon = dict(offer.terms).get("epsilon", Fraction(0))
    if epsilon <= 0:
        raise InvalidValue("epsilon of an offer", str(epsilon), "above 0")
    if offer.n * offer.steps >= FIELD:
        raise InvalidValue("n of an offer", offer.n, f"such that sums of {offer.steps} steps each are below {FIELD}")
    noise = NoiseShare("DiscreteLaplace", offer.steps / epsilon, 1)
    offer.check(Offer("TwoServers", offer.n, offer.steps, FIELD, noise).also(epsilon=epsilon))
    return epsilon
