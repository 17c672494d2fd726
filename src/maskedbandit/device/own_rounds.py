"""In which rounds the devices of a cohort add up, as the place of a person says, held to what the person agreed to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from maskedbandit.errors import InvalidValue

if TYPE_CHECKING:
    from maskedbandit.secagg.round_rules import RoundRules

MOST_ATTEMPTS = 100
PART_TEXT = re.compile("0|0?[.][0-9]{1,9}|[1-9][0-9]{0,8}/[1-9][0-9]{0,8}")


class OwnRounds(NamedTuple):
    """What the devices of a cohort agree on, and how often they try."""

    rules: RoundRules
    attempts: int


def read_own_rounds(given: Any) -> OwnRounds:
    """What a place says of its rounds, or raise `InvalidValue`."""
    from maskedbandit.secagg.round_rules import GRAPHS, SERVERS, RoundRules  # brings cryptography

    if not isinstance(given, Mapping):
        raise InvalidValue("rounds of a place", type(given).__name__, "an object of JSON, or left out")
    part = given.get("corrupted")
    if not isinstance(part, str) or not PART_TEXT.fullmatch(part) or Fraction(part) >= 1:
        raise InvalidValue("corrupted of a place", part, "a fraction such as 1/10, at least 0 and below 1, as a text")
    for name, allowed in (("server", SERVERS), ("graph", GRAPHS)):
        if given.get(name) not in allowed:
            raise InvalidValue(f"{name} of a place", given.get(name), " or ".join(allowed))
    for name, most in (("smallest", 2**32), ("attempts", MOST_ATTEMPTS)):
        if type(given.get(name)) is not int or not 1 <= given[name] <= most:
            raise InvalidValue(f"{name} of a place", given.get(name), f"a whole number from 1 to {most}")
    rules = RoundRules(Fraction(part), given["server"], given["graph"], given["smallest"])
    return OwnRounds(rules, given["attempts"])
