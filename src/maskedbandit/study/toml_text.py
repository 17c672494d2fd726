"""A protocol as TOML, as people write it."""

import json
from collections.abc import Mapping
from typing import Any

from maskedbandit.errors import InvalidValue


def write_toml(table: Mapping[str, Any]) -> str:
    """The table as TOML, which is read as the same table; raise `InvalidValue` if it has a null, which TOML has not.

    >>> print(write_toml({"name": "x", "arms": [{"name": "a"}, {"name": "b"}], "budget": {"epsilon": 1.0}}))
    name = "x"
    arms = [
        { name = "a" },
        { name = "b" },
    ]
    budget = { epsilon = 1.0 }
    """
    ordered = sorted(table, key=lambda name: (isinstance(table[name], dict | list), name != "name"))
    try:
        return "\n".join(f"{write_name(name)} = {write_item(table[name])}" for name in ordered)
    except RecursionError:
        raise InvalidValue("protocol", "nested very deeply", "less deep, to be written as TOML") from None


def write_item(value: Any) -> str:
    """A value, on one line; each table of a list has one of its own."""
    match value:
        case dict():
            inner = ", ".join(f"{write_name(name)} = {write_item(each)}" for name, each in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case [dict(), *_]:
            return "[\n" + "".join(f"    {write_item(each)},\n" for each in value) + "]"
        case list():
            return f"[{', '.join(map(write_item, value))}]"
        case str():
            return write_text(value)
        case bool() | int() | float():
            return json.dumps(value)
    raise InvalidValue("protocol", value, "without null, to be written as TOML: it can be had as JSON")


def write_text(text: str) -> str:
    """A text in quotes, in which nothing is hidden, nor turns what is shown around.

    >>> print(write_text("a\\u202eb"))
    "a\\U0000202eb"
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(write_character, quoted))


def write_character(character: str) -> str:
    """A character, or its number if it cannot be seen."""
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def write_name(name: str) -> str:
    """A name, in quotes if it needs them."""
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else write_text(name)
