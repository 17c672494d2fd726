"""The place of this device's person, as the application's backend hands it over: one object of JSON.

    {"study": "newsletter", "arm": "bold", "ticket": "k3...", "again": false, "exposed": 1764000000000,
     "offer": "maskedbandit-offer-1 channel=TwoServers ... position=7",
     "terms": {"protocol": "9f...", "cohort": 3},
     "operators": [{"name": "Clinic", "seals": "..", "signs": "..", "address": ""},
                   {"name": "University", "seals": "..", "signs": "..", "address": "https://helper.example"}],
     "window": 21600000, "grace": 86400000, "least": 0, "most": 1, "default": 0}

Times are in milliseconds. `arm`, `least` and `most` may be left out; what else is in it is not looked at. Whoever wrote
it may have written anything: what privacy rests on is held to what the person agreed to, see agreed.py.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from maskedbandit.channels.offers import Offer
from maskedbandit.errors import InvalidValue, PersonalValue
from maskedbandit.study.operators import ADDRESS, LONGEST_NAME, ROLES, OperatorKeys

STUDY_TEXT = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
TICKET_TEXT = re.compile("[0-9a-z]{1,64}")
DIGEST_TEXT = re.compile("[0-9a-f]{64}")
PLACE_FIELDS = (
    *("study", "arm", "ticket", "again", "offer", "terms", "operators"),
    *("exposed", "window", "grace", "least", "most", "default"),
)
LATEST_TIME = 2**53  # milliseconds: numbers that JSON has exactly everywhere


class HandedOperator(NamedTuple):
    """An operator, with its keys."""

    name: str
    keys: OperatorKeys
    address: str


@dataclass(frozen=True)
class OwnPlace:
    """A place that was read and is of the right form."""

    study: str
    arm: str
    ticket: str
    again: bool
    offer: Offer  # with a position
    protocol: bytes  # its digest
    cohort: int
    operators: tuple[HandedOperator, HandedOperator]
    exposed: int
    window: int
    grace: int
    least: float
    most: float
    default: float

    @property
    def end(self) -> int:
        """When the window ends."""
        return self.exposed + self.window

    @property
    def last_call(self) -> int:
        """Until when the leader takes reports."""
        return self.end + self.grace

    def scale_outcome(self, value: Any) -> Fraction:
        """An outcome of the study as a number from 0 to 1, exactly."""
        if not is_finite_number(value) or not self.least <= value <= self.most:
            raise PersonalValue("outcome", f"a number from {self.least:g} to {self.most:g}")
        least, most = Fraction(self.least), Fraction(self.most)
        return (Fraction(value) - least) / (most - least)


def is_finite_number(value: Any) -> bool:
    """Whether JSON could have this as a number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def write_place(given: Mapping[str, Any]) -> str:
    """The text of a place that a book keeps: what is read, and no more."""
    try:
        return json.dumps(
            {key: given[key] for key in PLACE_FIELDS if key in given},
            sort_keys=True,
            separators=(",", ":"),
            allow_nan=False,
        )
    except (TypeError, ValueError, RecursionError):
        raise InvalidValue("place", type(given).__name__, "an object of JSON, as the service made it") from None


def read_place(given: Any) -> OwnPlace:
    """The place in an object of JSON, or raise `InvalidValue` with the name of what is wrong."""
    if not isinstance(given, Mapping):
        raise InvalidValue("place", type(given).__name__, "an object of JSON, as the service made it")
    terms = given.get("terms")
    terms = terms if isinstance(terms, Mapping) else {}
    least, most, default = (given.get(key, usual) for key, usual in (("least", 0), ("most", 1), ("default", None)))
    if not (is_finite_number(least) and is_finite_number(most) and least < most):
        raise InvalidValue("least and most of a place", (least, most), "two numbers, the least first")
    if not is_finite_number(default) or not least <= default <= most:
        raise InvalidValue("default of a place", default, f"a number from {least:g} to {most:g}")
    if type(again := given.get("again")) is not bool:
        raise InvalidValue("again of a place", again, "true or false")
    if not isinstance(arm := given.get("arm", ""), str):
        raise InvalidValue("arm of a place", arm, "a text")
    exposed, window, grace = (read_whole(f"{key} of a place", given.get(key)) for key in ("exposed", "window", "grace"))
    return OwnPlace(
        read_text("study of a place", given.get("study"), STUDY_TEXT, "the name of a study"),
        arm,
        read_text("ticket of a place", given.get("ticket"), TICKET_TEXT, "a ticket"),
        again,
        Offer.from_text(given.get("offer", "")),
        bytes.fromhex(read_text("protocol of a place", terms.get("protocol"), DIGEST_TEXT, "64 hexadecimal digits")),
        read_whole("cohort of a place", terms.get("cohort")),
        read_operators(given.get("operators")),
        exposed,
        window,
        grace,
        float(least),
        float(most),
        float(default),
    )


def read_text(name: str, value: Any, pattern: re.Pattern[str], allowed: str) -> str:
    """A text of this pattern; it is not shown, as it may be a secret."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise PersonalValue(name, allowed)
    return value


def read_whole(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    if type(value) is not int or not 0 <= value <= LATEST_TIME:
        raise InvalidValue(name, value, f"a whole number from 0 to {LATEST_TIME}")
    return value


def read_operators(given: Any) -> tuple[HandedOperator, HandedOperator]:
    """The leader and the helper."""
    if not isinstance(given, list | tuple) or len(given) != 2 or not all(isinstance(each, Mapping) for each in given):
        raise InvalidValue("operators of a place", "not shown", "a list of the leader and the helper")
    leader, helper = (read_handed_operator(role, each) for role, each in zip(ROLES, given, strict=True))
    return leader, helper


def read_handed_operator(role: str, given: Mapping[str, Any]) -> HandedOperator:
    """One of them."""
    name, address = given.get("name"), given.get("address", "")
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidValue(f"name of the {role}", name, f"a text of 1 to {LONGEST_NAME} printable characters")
    if not isinstance(address, str) or not re.fullmatch(f"({ADDRESS})?", address):
        raise InvalidValue(f"address of the {role}", address, "a URL, or empty")
    return HandedOperator(name, OperatorKeys.from_text(given.get("seals"), given.get("signs")), address)
