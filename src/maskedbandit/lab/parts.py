"""From names to objects: what a table in a TOML file calls a policy, a channel, a noise, a backend and so on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import Any

import maskedbandit.backends as backends
import maskedbandit.channels as channels
import maskedbandit.noises as noises
import maskedbandit.policies as policies
from maskedbandit.channels.codec import Grid
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.contexts import LinearContexts
from maskedbandit.lab.delays import Constant, Delay, Recorded, measured
from maskedbandit.lab.engine import whole
from maskedbandit.lab.front_page_log import FrontPage
from maskedbandit.lab.instances import Instance, named_means
from maskedbandit.lab.logs import RecordedLog
from maskedbandit.lab.newsroom import Newsroom

PARTS = ("policy", "channel", "instance")
ROOMS = {"policy": policies.room, "channel": channels.room, "noise": noises.room, "backend": backends.room}


def refuse_unknown(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Every key is read by something, or it is a mistake."""
    known = list(known)
    for key in given:
        if key not in known:
            raise UnknownName(kind, key, known)


def refuse_twice(name: str, values: list[Any]) -> None:
    """What is listed twice would be drawn as one, with half the error."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise InvalidValue(name, values, f"without repeats ({value!r} is there twice)")


def table(part: str, value: Any) -> dict[str, Any]:
    """`"central"` is short for `{ name = "central" }`."""
    found: Any = {"name": value} if isinstance(value, str) else value
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        raise InvalidValue(part, value, f"the name of a {part}, or a table with its name and parameters")
    return found


def named(classes: Iterable[type]) -> dict[str, type]:
    """Classes by what files call them."""
    return {re.sub("(?<!^)(?=[A-Z])", "_", c.__name__).lower(): c for c in classes}


def instances() -> dict[str, type]:
    """Families of instances by name, contexts and logs among them."""
    return named([*Instance.__subclasses__(), LinearContexts, RecordedLog, Newsroom, FrontPage])


def delayed(value: Any) -> Delay:
    """The delay that a file asks for: a number of rounds, or a table."""
    found: Delay = made("delay", value) if isinstance(value, str | dict) else Constant(value)
    return found


def kind(part: str, value: Any) -> Any:
    """The class that a table names."""
    name = table(part, value)["name"]
    if part in ("instance", "delay"):
        known = instances() if part == "instance" else named(Delay.__subclasses__())
        refuse_unknown(part, [name], known)
        return known[name]
    return ROOMS[part][name]


def parameters(part: str, value: Any) -> list[str]:
    """What a table may hold besides its name; generated means take a number of arms and a seed, a list its file."""
    names = [each.name for each in fields(kind(part, value)) if each.init]
    if kind(part, value) is Recorded:
        names.append("file")
    return [*names, "k", "seed"] if part == "instance" and "means" in names else names


def made(part: str, value: Any) -> Any:
    """The object that a table describes."""
    given, found = dict(table(part, value)), kind(part, value)
    name = given.pop("name")
    refuse_unknown(f"parameter of {name}", given, parameters(part, value))
    if part == "delay" and "file" in given:
        refuse_unknown(f"parameter of {name} with a file", given, ["file"])
        given["rounds"] = measured(given.pop("file"))
    if part == "instance" and "means" in parameters(part, value):
        k, seed = whole("k", given.pop("k", 10), 2, 10**6), whole("instance seed", given.pop("seed", 0), 0, 2**32 - 1)
        if isinstance(given.get("means"), str):
            given["means"] = named_means(given["means"], k, seed)
    given |= {inner: made(inner, value) for inner, value in given.items() if inner in ROOMS}  # a noise, a backend
    if isinstance(given.get("grid"), dict):
        refuse_unknown("parameter of grid", given["grid"], (each.name for each in fields(Grid)))
        given["grid"] = Grid(**given["grid"])
    for each in fields(found):
        if each.init and each.name not in given and each.default is MISSING and each.default_factory is MISSING:
            raise InvalidValue(f"{each.name} of {name}", None, "given")
    try:
        return found(**given)
    except (TypeError, ValueError, OverflowError, AttributeError) as wrong:
        if isinstance(wrong, InvalidValue):
            raise
        raise InvalidValue(f"a parameter of {name}", given, f"of another type ({wrong})") from None
