"""The form of a new study: the table of the protocol that was filled in."""

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.policies.parts.purposes import list_purposes

EXAMPLE_FORM = {
    "name": "newsletter",
    "about": "which of three subject lines is opened most often",
    "arms": "short\nquestion\nnumbers",
    "people": "20000",
    "per_day": "2000",
    "baseline": "0.4",
    "difference": "0.05",
    "window": "6 hours",
    "exposure": "10 minutes",
    "default": "0",
    "trust": "central",
    "epsilon": "1",
    "budget": "1",
    "period": "90 days",
}
KNOWN = {goal: each for goal, each in list_purposes().items() if each.live}  # goals with a policy for live studies
CHOICES = {goal: each.choice for goal, each in KNOWN.items() if each.choice}


def read_protocol_form(values: Mapping[str, str]) -> dict[str, Any]:
    """The table of the protocol, or raise `InvalidValue`; `Protocol.from_table` checks what is in it.

    >>> found = read_protocol_form({**EXAMPLE_FORM, "people": "", "trust": "local"})
    >>> found["policy"], found["channel"], found["arms"][0]
    ('contemporaneous_elimination', {'name': 'response', 'epsilon': 1.0}, {'name': 'short'})
    """
    given = {name: value.strip() for name, value in values.items()}
    if text := given.get("protocol"):
        try:
            return tomllib.loads(text.replace("\r\n", "\n"))
        except (tomllib.TOMLDecodeError, RecursionError) as wrong:
            raise InvalidValue("protocol", "this text", f"TOML ({wrong})") from None
    search = next(goal for goal, each in KNOWN.items() if each.aim == "delta")
    goal = given.get("goal", next(iter(CHOICES))) if given.get("people") else search
    if goal not in KNOWN:
        raise UnknownName("goal", goal, KNOWN)
    local = given.get("trust") == "local"
    epsilon = read_form_number("epsilon", given.get("epsilon", ""))
    budget = read_form_number("budget", given["budget"]) if given.get("budget") else epsilon
    table: dict[str, Any] = {
        "name": given.get("name", ""),
        "policy": KNOWN[goal].live,
        "channel": {"name": "response" if local else "central", "epsilon": epsilon},
        "arms": [{"name": line.strip()} for line in given.get("arms", "").splitlines() if line.strip()],
        "reward": {name: given[name] for name in ("window", "exposure") if given.get(name)},
        "budget": {"epsilon": budget},
    }
    if given.get("default"):
        table["reward"]["default"] = read_form_number("default", given["default"])
    if local:
        table["reward"]["rule"] = "first"
    if given.get("people"):
        people = read_form_number("people", given["people"])
        table["people"] = int(people) if people == int(people) else people
    if given.get("delta"):
        table["delta"] = read_form_number("delta", given["delta"])
    if given.get("period"):
        table["budget"]["period"] = given["period"]
    return table | {name: given[name] for name in ("about", "project") if given.get(name)}


def read_form_number(name: str, text: str) -> float:
    """The number that was typed."""
    try:
        found = float(text.replace("_", "").replace("\N{NARROW NO-BREAK SPACE}", ""))
    except ValueError:
        raise InvalidValue(name, text, "a number") from None
    if found != found or abs(found) == float("inf"):
        raise InvalidValue(name, text, "a finite number")
    return found


def read_form_payload(text: str) -> Any:
    """The payload of an arm that was typed, as JSON; None if nothing was.

    >>> read_form_payload(' {"color": "red"} '), read_form_payload("")
    ({'color': 'red'}, None)
    """
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        raise InvalidValue("payload", text, "JSON, or nothing") from None
