"""What an application says of a person when the person comes: names with texts, numbers, True or False.

The rules of a study on who is enrolled are about these (study/eligibility.py). None is ever stored, logged or shown.
"""

import re
import sys
from collections.abc import Mapping
from typing import Any

from maskedbandit.errors import PersonalValue

AttributeValue = str | float | bool
PersonAttributes = Mapping[str, AttributeValue]
MOST_ATTRIBUTES = 32
LONGEST_TEXT = 256  # characters of an attribute
SURROGATE = re.compile("[\ud800-\udfff]")  # half of a character, which no JSON may have
ATTRIBUTE_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def may_matter(name: Any, value: Any) -> bool:
    """Whether a rule can be about this, so that it can be an attribute.

    >>> may_matter("age", 18), may_matter("tags", ["a"]), may_matter("a name", True), may_matter("age", float("nan"))
    (True, False, False, False)
    """
    if not isinstance(name, str) or not ATTRIBUTE_NAME.fullmatch(name):
        return False
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT and not SURROGATE.search(value)
    return isinstance(value, bool) or (isinstance(value, int | float) and abs(value) <= sys.float_info.max)


def check_attributes(given: Any) -> dict[str, AttributeValue]:
    """What is said of a person, or raise `PersonalValue`; None says nothing."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or len(given) > MOST_ATTRIBUTES:
        raise PersonalValue("attributes", f"a mapping of at most {MOST_ATTRIBUTES} names")
    if not all(may_matter(name, value) for name, value in given.items()):
        allowed = (
            "named by 1 to 64 letters, digits, dots, hyphens or underscores, and each a text of at most "
            f"{LONGEST_TEXT} characters, a finite number, True or False"
        )
        raise PersonalValue("attributes", allowed)
    return dict(given)


def pick_attributes(context: Mapping[str, Any], *others: str) -> dict[str, AttributeValue]:
    """What a context of OpenFeature says of a person, but for these `others`, and for what no rule can be about."""
    found = {name: value for name, value in context.items() if name not in others and may_matter(name, value)}
    return check_attributes({name: float(each) if type(each) is int else each for name, each in found.items()})
