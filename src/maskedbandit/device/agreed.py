"""What a person agreed to, as the application says it: the device holds every place that it is handed to this."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from maskedbandit.device.offer_prices import (
    price_local_offer,
    price_mixed_offer,
    price_sealed_offer,
    price_summed_offer,
)
from maskedbandit.device.service_calls import SERVICE_URL
from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.study.operators import FINGERPRINT, ROLES

if TYPE_CHECKING:
    from maskedbandit.device.own_place import OwnPlace


@dataclass(frozen=True)
class Agreed:
    """What all studies of this person together may cost, and for whom reports are sealed.

    * `epsilon`: all places that the device ever takes cost no more together.
    * `operators`: fingerprints of the leader's and of the helper's keys. They come with the application, and never from
      the service that devices do not trust. Without them the device takes part under local trust alone.
    * `least`: the person takes part in cohorts of so many people at least.
    * `pure`: under local trust epsilon bounds the loss, whatever happens. False: noise may also be discrete Gaussian;
      all together then lose epsilon^2 / 2 of zero-concentrated privacy at most.
    * `delta`: above 0 the person takes part in studies with a shuffler, where each place may break the promise with
      this probability. 0: in none of them.
    * `corrupted`: the person takes part in rounds of devices, of whose cohort at least this part may be corrupted.
      Without it in none.

    >>> Agreed(0.1, ("5b" * 32, "c0" * 32)).epsilon, Agreed(1).operators
    (Fraction(1, 10), None)
    """

    epsilon: Fraction | int | float | str
    operators: tuple[str, str] | None = None
    least: int = 1
    pure: bool = True
    delta: Fraction | int | float | str = 0
    corrupted: Fraction | int | float | str | None = None

    def __post_init__(self) -> None:
        try:  # a float is the shortest decimal that prints as it does
            epsilon = Fraction(0) if isinstance(self.epsilon, bool) else Fraction(str(self.epsilon))
        except (ValueError, ZeroDivisionError):
            epsilon = Fraction(0)
        if epsilon <= 0:
            raise InvalidValue("epsilon", self.epsilon, "a finite number above 0")
        object.__setattr__(self, "epsilon", epsilon)
        pinned = self.operators
        object.__setattr__(self, "delta", read_delta(self.delta))
        right = pinned is None or (isinstance(pinned, tuple) and len(pinned) == 2 and pinned[0] != pinned[1])
        if not right or not all(isinstance(each, str) and re.fullmatch(FINGERPRINT, each) for each in pinned or ()):
            allowed = "two different fingerprints, each of 64 hexadecimal digits, or left out"
            raise InvalidValue("operators", pinned, allowed)
        if type(self.least) is not int or self.least < 1:
            raise InvalidValue("least", self.least, "a whole number of at least 1")
        if type(self.pure) is not bool:
            raise InvalidValue("pure", self.pure, "True or False")
        if self.corrupted is not None:
            try:
                part = Fraction(str(self.corrupted))
            except (ValueError, ZeroDivisionError):
                part = Fraction(1)
            if not 0 <= part < 1:
                allowed = "a part of the devices of a cohort, at least 0 and below 1, or left out"
                raise InvalidValue("corrupted", self.corrupted, allowed)
            object.__setattr__(self, "corrupted", part)

    def trusts(self, place: OwnPlace) -> bool:
        """Whether all operators of a place, if it has any, have the keys that came with the application.

        If devices add up, whether as many of them may be corrupted as the application says now.
        """
        if place.rounds is not None:
            return self.corrupted is not None and place.rounds.rules.corrupted >= Fraction(self.corrupted)
        return not place.operators or tuple(each.keys.fingerprint for each in place.operators) == self.operators

    def check(self, place: OwnPlace, spent: Fraction) -> Fraction:
        """What a place costs, or raise unless it is what the person agreed to, where others have cost `spent`.

        **Guarantee**: whatever a service hands out, a place that passes costs the epsilon returned at most: all that is
        sent of it is hidden by noise of this device, by that of an honest one of two operators with pinned keys, or by
        that of a crowd whose messages an honest shuffler with a pinned key mixes, or by that of the devices of its
        cohort, of which at most the part `corrupted` is corrupted.
        """
        price = self._price_local if place.is_local else self._price_sealed if place.operators else self._price_summed
        epsilon = price(place)
        if spent + epsilon > Fraction(self.epsilon):
            allowed = f"{self.epsilon}, to which the person agreed, and other studies have cost {spent}"
            raise BudgetExceeded(f"epsilon of an offer is {epsilon}: together it must be at most {allowed}")
        return epsilon

    def _price_sealed(self, place: OwnPlace) -> Fraction:
        if self.operators is None:
            raise InvalidValue("operators of a place", "given", "left out: none came with the application")
        for role, found, pinned in zip(ROLES, place.operators, self.operators, strict=True):
            if found.keys.fingerprint != pinned:
                allowed = f"those with the fingerprint {pinned}, which came with the application"
                raise InvalidValue(f"keys of the {role}", found.keys.fingerprint, allowed)
        if len(place.outcomes) > 1:
            raise InvalidValue(
                "further outcome of a place", place.outcomes[1].metric, "left out: two servers carry one reward"
            )
        if place.shuffled:
            if not SERVICE_URL.fullmatch(address := place.operators[1].address):
                raise InvalidValue("address of the helper", address, "a URL, to which this device sends its report")
            epsilon, delta = price_mixed_offer(place.offer, self.least, place.outcomes[0].cap)
            if delta > Fraction(self.delta):
                raise InvalidValue("delta of an offer", str(delta), f"at most {self.delta}, to which the person agreed")
            return epsilon
        return price_sealed_offer(place.offer, self.least, place.outcomes[0].cap)

    def _price_summed(self, place: OwnPlace) -> Fraction:
        rounds = place.rounds
        assert rounds is not None
        if self.corrupted is None:
            allowed = "left out: the application does not say which part of devices may be corrupted"
            raise InvalidValue("rounds of a place", "given", allowed)
        if rounds.rules.corrupted < Fraction(self.corrupted):
            allowed = f"at least {self.corrupted}, which the application names"
            raise InvalidValue("corrupted of a place", str(rounds.rules.corrupted), allowed)
        if rounds.rules.server != "honest":
            allowed = "honest: nobody but the service could say whose the keys of devices are"
            raise InvalidValue("server of a place", rounds.rules.server, allowed)
        if len(place.outcomes) > 1:
            raise InvalidValue(
                "further outcome of a place", place.outcomes[1].metric, "left out: a round carries one reward"
            )
        return price_summed_offer(place.offer, self.least, place.outcomes[0].cap, rounds)

    def _price_local(self, place: OwnPlace) -> Fraction:
        prices = (
            price_local_offer(each.offer, self.least, each.cap, each.metric, self.pure) for each in place.outcomes
        )
        return sum(prices, Fraction(0))


def read_delta(given: Fraction | int | float | str) -> Fraction:
    """A probability, or 0; a float is the shortest decimal that prints as it does."""
    try:
        delta = Fraction(-1) if isinstance(given, bool) else Fraction(str(given))
    except (ValueError, ZeroDivisionError):
        delta = Fraction(-1)
    if not 0 <= delta < 1:
        raise InvalidValue("delta", given, "a probability from 0 on, below 1")
    return delta
