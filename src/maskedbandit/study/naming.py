"""From names to objects: what a table in a TOML file calls a policy, a channel, a noise, a backend and so on."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import maskedbandit.backends as backends
import maskedbandit.channels as channels
import maskedbandit.noises as noises
import maskedbandit.policies as policies
from maskedbandit.backends.backend import Backend
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.codec import Grid
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.noises.noise import Noise
from maskedbandit.policies.policy import Policy
from maskedbandit.rooms import Room


@dataclass(frozen=True)
class TablePart:
    """What a table may describe: a class of these rooms, or one of the user's own below one of `classes`."""

    rooms: tuple[Room, ...]
    classes: tuple[type, ...]
    short: Callable[[Any], Any] | None = None  # makes the object of a value that is neither a name nor a table


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


def refuse_number_texts(given: Any) -> None:
    """Numbers are written as numbers; a fraction alone is a text.

    >>> refuse_number_texts({"name": "central", "epsilon": "1/3", "noise": "skellam"})
    >>> refuse_number_texts({"name": "central", "epsilon": "1"})
    Traceback (most recent call last):
    maskedbandit.errors.InvalidValue: epsilon is '1': it must be a number, or a fraction as a text, such as "1/3"
    """
    for key, value in given.items() if isinstance(given, dict) else ():
        refuse_number_texts(value)
        number = key != "name" and isinstance(value, str) and re.match(r"\s*[-+.]?\d", value)
        if number and not re.fullmatch(r"\d+/\d+", value, re.ASCII):
            raise InvalidValue(key, value, 'a number, or a fraction as a text, such as "1/3"')


def check_study_name(what: str, value: Any) -> str:
    """The name of a study, a project or an arm, which can be part of an address."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", value):
        raise InvalidValue(
            what, value, "1 to 64 letters, digits, dots, hyphens or underscores, a letter or digit first"
        )
    return value


def expand_table(part: str, value: Any) -> dict[str, Any]:
    """`"central"` is short for `{ name = "central" }`."""
    found: Any = {"name": value} if isinstance(value, str) else value
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        raise InvalidValue(part, value, f"the name of a {part}, or a table with its name and parameters")
    return found


@cache
def read_parameters(make: Callable[..., Any]) -> Mapping[str, Parameter]:
    """What a class, or a function that makes its objects, is given."""
    return signature(make).parameters


class Tables:
    """The parts that tables describe, by name.

    >>> STUDY_PARTS.made("channel", {"name": "central", "epsilon": 0.5}).epsilon
    Fraction(1, 2)
    """

    def __init__(self, parts: dict[str, TablePart]) -> None:
        self.parts = parts

    def kind(self, part: str, value: Any) -> Any:
        """The class that a table names: that of a file in its room, or `package.module:Class` from elsewhere."""
        name, rooms = expand_table(part, value)["name"], self.parts[part].rooms
        if ":" in name:
            return self.own(part, name)
        for room in rooms:
            with suppress(UnknownName):
                return room[name]
        raise UnknownName(part, name, [each for room in rooms for each in room])

    def own(self, part: str, name: str) -> Any:
        """A class of the user's own."""
        home, _, each = name.partition(":")
        try:
            module = import_module(home)
        except (ImportError, TypeError, ValueError) as wrong:
            allowed = (
                f"a class of a module that can be imported, from the current folder or an installed package ({wrong})"
            )
            raise InvalidValue(part, name, allowed) from None
        found = getattr(module, each, None)
        if not inspect.isclass(found):
            classes = [name for name, value in vars(module).items() if inspect.isclass(value)]
            raise UnknownName(f"class in {home}", each, classes)
        if not issubclass(found, self.parts[part].classes):
            allowed = f"a class derived from {' or '.join(kind.__name__ for kind in self.parts[part].classes)}"
            raise InvalidValue(part, name, allowed)
        if inspect.isabstract(found):
            left = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
            raise InvalidValue(part, name, f"a class that defines {left}")
        return found

    def maker(self, part: str, value: Any) -> Any:
        """What makes the object of a table: the class, or its `from_table` where files say more than Python does."""
        found = self.kind(part, value)
        return getattr(found, "from_table", found)

    def parameters(self, part: str, value: Any) -> list[str]:
        """What a table may hold besides its name."""
        return list(read_parameters(self.maker(part, value)))

    def made(self, part: str, value: Any) -> Any:
        """The object that a table describes."""
        short = self.parts[part].short
        if short and not isinstance(value, str | dict):
            return short(value)
        given, make = dict(expand_table(part, value)), self.maker(part, value)
        name = given.pop("name")
        refuse_unknown(f"parameter of {name}", given, self.parameters(part, value))
        for inner, own in given.items():  # a noise, a backend, an instance that drifts
            if inner in self.parts:
                given[inner] = self.made(inner, own)
        if isinstance(given.get("grid"), dict):
            refuse_unknown("parameter of grid", given["grid"], (each.name for each in fields(Grid)))
            given["grid"] = Grid(**given["grid"])
        for each in read_parameters(make).values():
            if each.name not in given and each.default is Parameter.empty:
                raise InvalidValue(f"{each.name} of {name}", None, "given")
        try:
            return make(**given)
        except (TypeError, ValueError, OverflowError, AttributeError) as wrong:
            if isinstance(wrong, InvalidValue):
                raise
            raise InvalidValue(f"a parameter of {name}", given, f"of another type ({wrong})") from None


STUDY_PARTS = Tables(
    {
        "policy": TablePart((policies.room,), (Policy,)),
        "channel": TablePart((channels.room,), (Channel,)),
        "noise": TablePart((noises.room,), (Noise,)),
        "backend": TablePart((backends.room,), (Backend,)),
    }
)
