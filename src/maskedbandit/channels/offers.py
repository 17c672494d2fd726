"""The offer of a server to the users of a cohort: all numbers on which both must agree, as a line of text.

    maskedbandit-offer-1 channel=Distributed n=99 steps=1 modulus=256 noise=Skellam:2:80 terms=epsilon:1/2 position=7

If users report a second outcome in the same cohort, each outcome has an offer on a line of its own, and that of the
second ends with its name, as in metric=unsubscribed.

The server makes the offer once, before anybody takes part. A device knows the channel to which its user agreed. From
that and the size of the cohort it computes all numbers on which privacy rests, and takes part only if the offer states
the same. It takes the modulus from the offer, because computing the margin for the noise takes floating point. Privacy
does not depend on the modulus; a device checks, in whole numbers, that the sums of rewards fit.

The protocol that carries the sum must ensure that n users take part, and `least` of them honestly. All its parties must
have offers of one digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

from maskedbandit.errors import InvalidValue

LONGEST_OFFER = 2**16  # characters of a text
OFFER_DIGITS = 4000  # of a numerator or denominator: Python refuses to read a little more
LARGEST_MODULUS = 2**64  # a modulus, and the number of users

_WHOLE = r"[0-9]{1,20}"
_NUMBER = rf"-?[0-9]{{1,{OFFER_DIGITS}}}(?:/[0-9]{{1,{OFFER_DIGITS}}})?"
_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
_TERM = rf"{_NAME}:{_NUMBER}"
_METRIC = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_TEXT = re.compile(
    rf"maskedbandit-offer-1 channel=({_NAME}) n=({_WHOLE}) steps=({_WHOLE}) modulus=({_WHOLE})"
    rf" noise=((?:{_NAME}:{_NUMBER}:{_WHOLE})?) terms=((?:{_TERM}(?:,{_TERM})*)?) position=((?:{_WHOLE})?)"
    rf"(?: metric=({_METRIC}))?"
)


class NoiseShare(NamedTuple):
    """The noise of a release: the noise shares of `least` users make a draw. With `least` 1 each adds a whole draw."""

    noise: str  # the name of its class
    scale: Fraction  # of the draw, in steps
    least: int

    def __str__(self) -> str:
        return f"{self.noise}:{self.scale}:{self.least}"


@dataclass(frozen=True)
class Offer:
    """The terms of a cohort. With a position it is the offer to one of its users.

    >>> offer = Offer("Response", 100, steps=1).also(epsilon=Fraction(1, 2))
    >>> offer.at(7).to_text()
    'maskedbandit-offer-1 channel=Response n=100 steps=1 modulus=0 noise= terms=epsilon:1/2 position=7'
    >>> Offer.from_text(offer.at(7).to_text()) == offer.at(7), offer.at(7).digest == offer.digest
    (True, True)
    """

    channel: str  # the name of its class
    n: int  # users of the cohort
    steps: int  # in one unit of reward; 0: rewards are not rounded
    modulus: int = 0  # of what devices send and of the sum; 0: they have none
    noise: NoiseShare | None = None
    terms: tuple[tuple[str, Fraction], ...] = ()  # what else the channel promises, sorted by name
    position: int | None = None  # the user's number in the cohort, from 0 to n - 1
    metric: str = ""  # the name of the outcome; empty: the reward

    def __post_init__(self) -> None:
        if type(self.channel) is not str or not re.fullmatch(_NAME, self.channel):
            raise InvalidValue("channel", self.channel, "the name of a class, of ASCII letters and digits")
        self._check_whole("n", self.n, 1, LARGEST_MODULUS)
        self._check_whole("steps", self.steps, 0, LARGEST_MODULUS)
        self._check_whole("modulus", self.modulus, 0, LARGEST_MODULUS)
        self._check_position()
        if self.noise is not None:
            if type(self.noise) is not NoiseShare or type(self.noise.scale) is not Fraction or self.noise.scale <= 0:
                raise InvalidValue("noise", self.noise, "a NoiseShare with a Fraction above 0 as its scale")
            self._check_whole("least", self.noise.least, 1, self.n)
        if type(self.metric) is not str or not re.fullmatch(f"({_METRIC})?", self.metric):
            raise InvalidValue("metric", self.metric, "the name of an outcome, or empty for the reward")
        names = [name for name, _ in self.terms]
        if names != sorted(set(names)) or not all(type(value) is Fraction for _, value in self.terms):
            raise InvalidValue("terms", self.terms, "pairs of a name and a Fraction, sorted by name")

    def _check_position(self) -> None:
        if self.position is not None:
            self._check_whole("position", self.position, 0, self.n - 1)

    def _check_whole(self, name: str, value: Any, least: int, most: int) -> None:
        if type(value) is not int or not least <= value <= most:
            raise InvalidValue(name, value, f"a whole number from {least} to {most}")

    def also(self, **terms: Any) -> Offer:
        """The offer with further terms: exact numbers that the channel promises."""
        more = {name: Fraction(value) for name, value in terms.items()}
        return replace(self, terms=tuple(sorted((dict(self.terms) | more).items())))

    def at(self, position: int | None) -> Offer:
        """The offer to the user with this number in the cohort."""
        found = copy(self)  # of which all else was checked, and is as it was
        object.__setattr__(found, "position", position)
        found._check_position()
        return found

    def check(self, promised: Offer) -> None:
        """Raise unless this offer, whatever its position, states the promised numbers."""
        for name in ("channel", "n", "steps", "modulus", "noise"):
            _same(name, getattr(self, name), getattr(promised, name))
        found, right = dict(self.terms), dict(promised.terms)
        for name in sorted(found.keys() | right.keys()):
            _same(name, found.get(name), right.get(name))

    @cached_property
    def digest(self) -> bytes:
        """What all parties of a cohort must agree on, in 32 bytes: a hash of the offer's text without a position."""
        return sha256(self.at(None).to_text().encode()).digest()

    def to_text(self) -> str:
        """One line; equal offers have equal lines."""
        head = f"maskedbandit-offer-1 channel={self.channel} n={self.n} steps={self.steps} modulus={self.modulus}"
        try:
            noise, position = ("" if value is None else str(value) for value in (self.noise, self.position))
            terms = ",".join(f"{name}:{value}" for name, value in self.terms)
            text = f"{head} noise={noise} terms={terms} position={position}"
            text += f" metric={self.metric}" if self.metric else ""
        except ValueError:  # more digits than Python writes
            text = head
        if len(text) > LONGEST_OFFER or not _TEXT.fullmatch(text):
            allowed = f"of at most {LONGEST_OFFER} characters, {OFFER_DIGITS} digits in each number and ASCII names"
            raise InvalidValue("the text of an offer", text, allowed)
        return text

    @classmethod
    def from_text(cls, text: str) -> Offer:
        """The offer that `to_text` wrote, or `InvalidValue`. The sender may have written anything: see `check`."""
        wrong = InvalidValue("the text of an offer", text, "what Offer.to_text of this version wrote")
        match = _TEXT.fullmatch(text) if type(text) is str and len(text) <= LONGEST_OFFER else None
        if match is None:
            raise wrong
        try:
            n, steps, modulus = map(int, match.group(2, 3, 4))
            noise, position = None, int(match[7]) if match[7] else None
            if match[5]:
                kind, scale, least = match[5].split(":")
                noise = NoiseShare(kind, Fraction(scale), int(least))
            pairs = (each.split(":") for each in match[6].split(",") if each)
            terms = tuple((name, Fraction(value)) for name, value in pairs)
            offer = cls(match[1], n, steps, modulus, noise, terms, position, match[8] or "")
            same = offer.to_text() == text
        except (ValueError, ZeroDivisionError) as why:  # a number out of range, or a denominator of 0
            raise wrong from why
        if not same:  # 2/4 or 007
            raise wrong
        return offer


def to_lines(offers: Iterable[Offer]) -> str:
    """The offers to one user, one for each outcome, as a text."""
    return "\n".join(offer.to_text() for offer in offers)


def from_lines(text: str) -> list[Offer]:
    """The offers that `to_lines` wrote, or `InvalidValue`."""
    if type(text) is not str or len(text) > LONGEST_OFFER:
        raise InvalidValue("the text of offers", text, f"of at most {LONGEST_OFFER} characters")
    return [Offer.from_text(line) for line in text.split("\n")]


def _same(name: str, found: Any, right: Any) -> None:
    if found != right:
        raise InvalidValue(f"{name} of an offer", found if found is None else str(found), f"{right}, as promised")
