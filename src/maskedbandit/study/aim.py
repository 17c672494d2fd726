"""When a study ends: after a number of people, or with the answer of a search that stops by itself."""

from collections.abc import Mapping
from typing import Any

from maskedbandit.checks import number
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.parts.purposes import find_purpose
from maskedbandit.privacy.exact import whole

MOST_PEOPLE = 10**12


def people_of(table: Mapping[str, Any], goal: str) -> int | None:
    """How many people get a place in all; None if the study ends with the answer of a search.

    >>> people_of({"people": 1000}, "regret"), people_of({"delta": 0.1}, "identify")
    (1000, None)
    """
    if find_purpose(goal).aim == "delta":
        if "people" in table:
            raise InvalidValue("people", table["people"], "left out: this policy stops by itself, see delta")
        return None
    if "delta" in table:
        raise InvalidValue("delta", table["delta"], "left out: this policy has a number of people instead")
    return whole("people", table.get("people"), 2, MOST_PEOPLE)


def aim_of(table: Mapping[str, Any], goal: str) -> int | float:
    """What the policy's `init` gets: the horizon, or the probability of a wrong answer."""
    if (people := people_of(table, goal)) is not None:
        return people
    delta = table.get("delta", 0.05)
    if not number(delta) or not 0 < delta < 1:
        raise InvalidValue("delta", delta, "a probability between 0 and 1")
    return float(delta)
