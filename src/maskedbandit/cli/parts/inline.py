"""Values of options: a name, an inline table of TOML, or numbers."""

import tomllib
from typing import Any

from maskedbandit.errors import InvalidValue


def read_inline_table(text: str) -> Any:
    """A name, or an inline table."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return tomllib.loads(f"given = {text}")["given"]
    except ValueError as wrong:
        raise InvalidValue("table", text, f'such as {{ name = "central", epsilon = 1 }} ({wrong})') from None


def read_numbers(option: str, text: str) -> tuple[float, ...]:
    """Numbers with commas between them.

    >>> read_numbers("--means", "0.3, 0.35")
    (0.3, 0.35)
    """
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise InvalidValue(option, text, "numbers with commas between them, as in 0.3,0.35") from None
