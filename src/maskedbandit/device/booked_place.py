"""A place of the device's own book, as it stands there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from maskedbandit.device.own_place import OwnPlace, read_place

FIND_PLACES = (
    "SELECT study, protocol, given, epsilon, joined, told, steps, ended, (SELECT json_group_object(metric, value)"
    " FROM held_outcome WHERE held_outcome.study = own_place.study),"
    " COALESCE((SELECT shown FROM own_pass WHERE own_pass.study = own_place.study), '') FROM own_place"
)


@dataclass(frozen=True)
class BookedPlace:
    """A place of the book."""

    study: str
    protocol: str
    given: str  # the place as it was handed over; empty after the person left
    epsilon: Fraction
    joined: int
    told: bool  # whether the service knows that the arm was seen, or the application's backend tells it
    steps: int  # what holds of the reward, as two operators are told it; 0 under local trust
    ended: str  # empty as long as there is something to report
    held: Mapping[str, Fraction]  # what holds of each outcome of which something was recorded, by its name
    shown: str  # the pass for the shuffler, if there is one, and the service has given it

    @cached_property
    def place(self) -> OwnPlace:
        """The place, of somebody who did not leave."""
        return read_place(json.loads(self.given))


def read_booked_place(row: tuple[Any, ...]) -> BookedPlace:
    """A place from its row."""
    study, protocol, given, epsilon, joined, told, steps, ended, values, shown = row
    held = {metric: Fraction(text) for metric, text in json.loads(values).items()}
    return BookedPlace(study, protocol, given, Fraction(epsilon), joined, bool(told), steps, ended, held, shown)
