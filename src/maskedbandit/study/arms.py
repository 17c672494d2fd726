"""The arms of a protocol: each has a name, and perhaps a payload that the application is given with it."""

import json
from collections.abc import Sequence
from typing import Any

from maskedbandit.errors import InvalidValue
from maskedbandit.study.naming import checked_name, refuse_unknown

MOST_ARMS = 1000


def arms_of(given: Any) -> tuple[tuple[str, Any], ...]:
    """The [[arms]] tables.

    >>> arms_of([{"name": "short", "payload": 7}, {"name": "long"}])
    (('short', 7), ('long', None))
    """
    if not isinstance(given, list) or not 2 <= len(given) <= MOST_ARMS:
        raise InvalidValue("arms", given, f"2 to {MOST_ARMS} [[arms]] tables")
    found: list[tuple[Any, Any]] = []
    for arm in given:
        if not isinstance(arm, dict):
            raise InvalidValue("arms", given, "[[arms]] tables, each with a name and perhaps a payload")
        refuse_unknown("key of [[arms]]", arm, ("name", "payload"))
        found.append((arm.get("name"), arm.get("payload")))
    check_arms(found)
    return tuple(found)


def check_arms(arms: Sequence[tuple[Any, Any]]) -> None:
    """Raise `InvalidValue` unless a study can have these arms."""
    names = [checked_name("name of an arm", name) for name, _ in arms]
    if len(set(names)) < len(names):
        raise InvalidValue("names of the arms", names, "different from one another")
    if len(arms) > MOST_ARMS:
        raise InvalidValue("the number of arms", len(arms), f"at most {MOST_ARMS}")
    for _, payload in arms:
        try:
            json.dumps(payload, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as wrong:
            raise InvalidValue("payload", type(payload).__name__, f"of what JSON has ({wrong})") from None
