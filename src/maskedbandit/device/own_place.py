"""The place of this device's person, as the service made it: one object of JSON.

    {"study": "newsletter", "arm": "bold", "ticket": "k3...", "again": false, "exposed": 1764000000000,
     "offer": "maskedbandit-offer-1 channel=TwoServers ... position=7",
     "terms": {"protocol": "9f...", "cohort": 3},
     "operators": [{"name": "Clinic", "seals": "..", "signs": "..", "address": ""},
                   {"name": "University", "seals": "..", "signs": "..", "address": "https://helper.example"}],
     "window": 21600000, "grace": 86400000, "least": 0, "most": 1, "default": 0}

Times are in milliseconds; `exposed` is null until the arm was seen. `arm`, `least` and `most` may be left out, and
`cap` where one reward of a person counts; what else is in it is not looked at. Under local trust there are no operators
and no cohort, and with further outcomes, a guardrail or metrics, the offer has a line more for each:

     "further": [{"name": "unsubscribed", "least": 0, "most": 1, "default": 0}]

Where the devices of a cohort add up by themselves there is a cohort, and what they agree on:

     "rounds": {"corrupted": "1/10", "server": "honest", "graph": "auto", "smallest": 32, "attempts": 1}

Whoever wrote it may have written anything: what privacy rests on is held to what the person agreed to, see agreed.py.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from maskedbandit.channels.offers import Offer, from_lines
from maskedbandit.errors import InvalidValue, PersonalValue
from maskedbandit.study.operators import ADDRESS, LONGEST_NAME, ROLES, OperatorKeys

if TYPE_CHECKING:
    from maskedbandit.secagg.round_rules import AgreedRounds

STUDY_TEXT = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
TICKET_TEXT = re.compile("[0-9a-z]{1,64}")
DIGEST_TEXT = re.compile("[0-9a-f]{64}")
PLACE_FIELDS = (
    *("study", "arm", "payload", "ticket", "again", "offer", "terms", "operators"),
    *("exposed", "window", "grace", "least", "most", "default", "cap", "further", "rounds"),
)
MOST_PLACE_REWARDS = 10**4  # that may count: the largest cap of a study
LARGEST_NUMBER = sys.float_info.max
MIXING_CHANNELS = "Shuffled", "SplitAndMix"
LATEST_TIME = 2**53  # milliseconds: numbers that JSON has exactly everywhere


class HandedOperator(NamedTuple):
    """An operator, with its keys."""

    name: str
    keys: OperatorKeys
    address: str


class OwnOutcome(NamedTuple):
    """What may be recorded of an outcome, and what is offered to whoever reports it."""

    metric: str  # the name of a further outcome; empty: the reward
    offer: Offer  # with a position
    least: float
    most: float
    default: float
    cap: int  # so many rewards of the person count: they are added up

    def add_record(self, before: Fraction | None, value: Any) -> Fraction:
        """What holds once this is recorded: the newest outcome, or the sum of all where several rewards count."""
        if not is_finite_number(value) or not self.least <= value <= self.most:
            raise PersonalValue("outcome", f"a number from {self.least:g} to {self.most:g}")
        if self.cap == 1:
            return Fraction(value)
        return min((before or 0) + Fraction(value), self.cap * Fraction(self.most))

    def scale_outcome(self, held: Fraction | None) -> Fraction:
        """What holds as a number from 0 to 1, exactly; the default if nothing was recorded."""
        least, value = Fraction(self.least), Fraction(self.default) if held is None else held
        return (value - least) / (self.cap * Fraction(self.most) - least)


@dataclass(frozen=True)
class OwnPlace:
    """A place that was read and is of the right form."""

    study: str
    arm: str
    payload: Any
    ticket: str
    again: bool
    outcomes: tuple[OwnOutcome, ...]  # the reward, and further ones
    protocol: bytes  # its digest
    cohort: int | None  # none under local trust
    operators: tuple[HandedOperator, ...]  # the leader and the helper, if there are two
    exposed: int | None  # None: nobody said yet that the arm was seen
    window: int
    grace: int
    rounds: AgreedRounds | None = None  # in which the devices of the cohort add up, if they do

    @property
    def is_local(self) -> bool:
        """Whether this device alone makes its report private."""
        return not self.operators and self.rounds is None

    @property
    def offer(self) -> Offer:
        """That for the reward."""
        return self.outcomes[0].offer

    @property
    def shuffled(self) -> bool:
        """Whether the second operator is a shuffler."""
        return bool(self.operators) and self.offer.channel in MIXING_CHANNELS

    @property
    def end(self) -> int:
        """When the window ends, of a place whose arm was seen."""
        assert self.exposed is not None
        return self.exposed + self.window

    @property
    def last_call(self) -> int:
        """Until when reports are taken."""
        return self.end + self.grace

    def find_outcome(self, metric: str) -> OwnOutcome:
        """The outcome of this name, or raise `InvalidValue`."""
        for outcome in self.outcomes:
            if outcome.metric == metric:
                return outcome
        names = [outcome.metric for outcome in self.outcomes[1:]]
        raise InvalidValue("metric", metric, " or ".join([*names, "left out"]))


def is_finite_number(value: Any) -> bool:
    """Whether this is a number that every language has: JSON may have whole ones that no number of 64 bits is near."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER


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
    terms, named, adding = (given.get(key) for key in ("terms", "operators", "rounds"))
    terms = terms if isinstance(terms, Mapping) else {}
    bounds = [("", read_bounds("a place", given)), *read_further_outcomes(given.get("further", []))]
    if named is not None and adding is not None:
        raise InvalidValue("rounds of a place", "given", "left out, as it has operators")
    if type(again := given.get("again")) is not bool:
        raise InvalidValue("again of a place", again, "true or false")
    if not isinstance(arm := given.get("arm", ""), str):
        raise InvalidValue("arm of a place", arm, "a text")
    exposed = given.get("exposed", "left out")
    window, grace = (read_whole(f"{key} of a place", given.get(key)) for key in ("window", "grace"))
    offer = given.get("offer", "")
    offers = from_lines(offer)
    if len(offers) != len(bounds):
        raise InvalidValue("offers of a place", len(offers), f"{len(bounds)}, one for each outcome")
    return OwnPlace(
        read_text("study of a place", given.get("study"), STUDY_TEXT, "the name of a study"),
        arm,
        given.get("payload"),
        read_text("ticket of a place", given.get("ticket"), TICKET_TEXT, "a ticket"),
        again,
        tuple(OwnOutcome(metric, offer, *limits) for (metric, limits), offer in zip(bounds, offers, strict=True)),
        bytes.fromhex(read_text("protocol of a place", terms.get("protocol"), DIGEST_TEXT, "64 hexadecimal digits")),
        None if named is None and adding is None else read_whole("cohort of a place", terms.get("cohort")),
        () if named is None else read_operators(named),
        None if exposed is None else read_whole("exposed of a place", exposed),
        window,
        grace,
        None if adding is None else read_agreed_rounds(adding),
    )


def read_agreed_rounds(given: Any) -> AgreedRounds:
    """What the devices of the cohort agree on."""
    from maskedbandit.secagg.round_rules import AgreedRounds  # brings cryptography, which only a round needs

    return AgreedRounds.from_table(given, "a place")


def read_further_outcomes(given: Any) -> list[tuple[str, tuple[float, float, float, int]]]:
    """The name and the bounds of each further outcome."""
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise InvalidValue("further outcomes of a place", type(given).__name__, "a list of objects of JSON")
    called = "name of a further outcome"
    names = [read_text(called, each.get("name"), STUDY_TEXT, "the name of an outcome") for each in given]
    if len(set(names)) < len(names):
        raise InvalidValue(called, ", ".join(names), "different from the others")
    return [(name, read_bounds(name, each)) for name, each in zip(names, given, strict=True)]


def read_bounds(where: str, given: Mapping[str, Any]) -> tuple[float, float, float, int]:
    """From where to where an outcome is, what counts for somebody without one, and how many count."""
    cap = given.get("cap", 1)
    if type(cap) is not int or not 1 <= cap <= MOST_PLACE_REWARDS:
        raise InvalidValue(f"cap of {where}", cap, f"a whole number from 1 to {MOST_PLACE_REWARDS}")
    least, most, default = (given.get(key, usual) for key, usual in (("least", 0), ("most", 1), ("default", None)))
    if not (is_finite_number(least) and is_finite_number(most) and float(least) < float(most)):
        raise InvalidValue(f"least and most of {where}", (least, most), "two numbers, the least first")
    if cap > 1 and least != 0:
        raise InvalidValue(f"least of {where}", least, "0, as several rewards are added up")
    if not is_finite_number(default) or not least <= default <= most:
        raise InvalidValue(f"default of {where}", default, f"a number from {least:g} to {most:g}")
    return float(least), float(most), float(default), cap


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


def read_operators(given: Any) -> tuple[HandedOperator, ...]:
    """The leader and the helper."""
    if not isinstance(given, list | tuple) or len(given) != 2 or not all(isinstance(each, Mapping) for each in given):
        raise InvalidValue("operators of a place", "not shown", "a list of the leader and the helper")
    return tuple(read_handed_operator(role, each) for role, each in zip(ROLES, given, strict=True))


def read_handed_operator(role: str, given: Mapping[str, Any]) -> HandedOperator:
    """One of them."""
    name, address = given.get("name"), given.get("address", "")
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidValue(f"name of the {role}", name, f"a text of 1 to {LONGEST_NAME} printable characters")
    if not isinstance(address, str) or not re.fullmatch(f"({ADDRESS})?", address):
        raise InvalidValue(f"address of the {role}", address, "a URL, or empty")
    return HandedOperator(name, OperatorKeys.from_text(given.get("seals"), given.get("signs")), address)


def name_own_place(place: OwnPlace) -> dict[str, Any]:
    """What a shuffler knows a place by."""
    offer = place.offer
    return {"cohort": place.cohort, "n": offer.n, "place": offer.position, "offer": offer.digest.hex()}
