"""All that is wrong with a protocol, and where: what is checked raises the first error, and a form shows all of them.

Each part is read by itself. What is wrong in it is noted, taken out of a copy, and the copy is read again, until it is
right, or nothing more can be taken out; what is wrong for several parts is taken out once. What the parts must be
together is said once each of them is right. Where a value stands is told by the name that its error has, such as `least
of the reward` or `name of arm 2`.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from maskedbandit.errors import InvalidValue, MaskedBanditError
from maskedbandit.study.device_rounds import ROUNDS_KEYS
from maskedbandit.study.enrolment import ENROLMENT_PARTS
from maskedbandit.study.guardrail import GUARDRAIL_KEYS
from maskedbandit.study.metrics import METRIC_KEYS
from maskedbandit.study.operators import OPERATOR_KEYS, ROLES
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.protocol_checks import PROTOCOL_KEYS, list_checks
from maskedbandit.study.reward import REWARD_KEYS
from maskedbandit.study.tables import BUDGET_KEYS

Place = tuple[str | int, ...]  # the keys that lead to a value
MOST_FAULTS = 50  # of a part that are said: the thousandth arm that is wrong is no news
KEYS_OF_TABLES: dict[str, tuple[str, ...]] = {
    "reward": REWARD_KEYS,
    "guardrail": (*GUARDRAIL_KEYS, "against"),
    "metrics": METRIC_KEYS,
    "channel": ("epsilon", "noise", "grid", "backend", "length"),
    "budget": BUDGET_KEYS,
    "rounds": ROUNDS_KEYS,
    "enrolment": ("default", *ENROLMENT_PARTS),
    **dict.fromkeys(ROLES, OPERATOR_KEYS),
}
STAND_INS: dict[Place, Any] = {  # of what a table must have, so that the rest of it can be read
    ("name",): "name",
    ("guardrail", "name"): "guardrail",
    **{("operators", role, "name"): role for role in ROLES},
    ("operators", "leader", "key"): "1d" * 32,
    ("operators", "helper", "key"): "e1" * 32,
    ("operators", "helper", "address"): "https://helper.example",
}


class Fault(NamedTuple):
    """What is wrong, and where."""

    place: Place
    error: MaskedBanditError


def list_faults(table: dict[str, Any]) -> list[Fault]:
    """All that is wrong with the table of a protocol, each place once.

    >>> outcome = {"most": "y", "rule": "z"}
    >>> table = {"name": "a b", "arms": [{"name": "x"}, {"name": "x"}], "people": 1, "reward": outcome}
    >>> for place, error in list_faults(table | {"channel": {"name": "central", "epsilon": -1}, "budget": {}}):
    ...     print(place, error.name)
    ('name',) name
    ('arms', 1, 'name') name of arm 2
    ('channel', 'epsilon') epsilon
    ('reward', 'most') most of the reward
    ('reward', 'rule') rule of the reward
    ('people',) people
    ('budget',) budget
    """
    try:
        Protocol.from_table(table)
        return []
    except InvalidValue as wrong:
        first = wrong
    if first.name == "protocol":  # it is no table at all
        return [Fault(("protocol",), first)]
    whole = list(list_checks(Protocol.from_text(json.dumps(table))))
    mended, checks, found = json.loads(json.dumps(table)), whole, dict[Place, InvalidValue]()
    for number, (part, check) in enumerate(whole[:-1]):
        if part and any(place[:1] == (part,) for place in found):
            continue
        while (error := find_error(check)) is not None:
            place = find_place(part, error.name)
            if place not in found:
                if sum(each[:1] == place[:1] for each in found) == MOST_FAULTS:
                    break
                found[place] = error
                if not place:  # of no part alone, so nothing can be taken out
                    break
                mend_table(mended, place)
                checks = list(list_checks(Protocol.from_text(json.dumps(mended))))
            elif check is checks[number][1]:  # it was taken out, and that did not put it right
                break
            check = checks[number][1]
    return [Fault(*each) for each in (found or {find_place("", first.name): first}).items()]


def find_error(check: Callable[[], Any]) -> InvalidValue | None:
    """What a check finds wrong."""
    try:
        check()
    except InvalidValue as wrong:
        return wrong
    return None


def find_place(part: str, name: str) -> Place:
    """Where in a protocol the value stands that an error calls so, if it was found in this part.

    >>> find_place("guardrail", "least of the reward"), find_place("channel", "epsilon"), find_place("", "people")
    (('reward', 'least'), ('channel', 'epsilon'), ('people',))
    >>> find_place("", "number of the arms"), find_place("policy", "name of something else")
    (('arms',), ('policy',))
    """
    if row := re.fullmatch(r"(\w+) of (arm|metric) (\d+)", name):
        return f"{row[2]}s", int(row[3]) - 1, row[1]
    key, *more = name.replace("[", "").replace("]", "").split()
    for each in more[-1:] or (part, "", *KEYS_OF_TABLES):
        if key in KEYS_OF_TABLES.get(each, ()):
            return (*(("operators",) if each in ROLES else ()), each, key)
        if not each and key in PROTOCOL_KEYS:
            return (key,)
    return next(((each,) for each in (*more[-1:], part, key) if each in PROTOCOL_KEYS), ())


def mend_table(table: dict[str, Any], place: Place) -> None:
    """Take out what stands at a place, or put something right there, so that the rest can be read."""
    *way, key = place
    found: Any = table
    try:
        for each in way:
            found = found[each]
        if place in STAND_INS:
            found[key] = STAND_INS[place]
        elif place[0] in ("arms", "metrics") and key == "name":
            found[key] = f"of-row-{way[1]}"
        elif place[0] == "metrics" and key == "share":
            found[key] = "1/100"
        elif place == ("arms",):  # two more, so that there are enough
            given = found.get(key)
            found[key] = [*(given if isinstance(given, list) else []), {"name": "one-more"}, {"name": "and-one-more"}]
        else:
            found.pop(key, None)
    except (LookupError, TypeError, AttributeError):  # the table that has it is not one
        return
