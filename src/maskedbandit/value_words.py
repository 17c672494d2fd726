"""How values and names are written in messages, and compared."""

LONGEST_VALUE = 400  # characters of a value in a message


def plain_name(name: str) -> str:
    """What the spellings of one name have in common: `SuccessiveElimination`, `successive_elimination`."""
    return name.replace("_", "").replace("-", "").lower()


def shorten_value(value: object) -> str:
    """A value in a message, cut short if it is very long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, a list of thousands of lists
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
