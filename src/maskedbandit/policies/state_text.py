"""A policy's state as text, and back without loss: what a service stores between two decisions.

    maskedbandit-state 1 UCB1
    total float64 [2] 0x1.8000000000000p+1 0x0.0p+0
    n float64 [2] 0x1.0000000000000p+2 0x0.0p+0
    ...

A state is a NamedTuple of arrays, numbers and further such tuples. Each part has a line, in their order: name, type,
shape and values. Floats are hexadecimal, so no digit is lost; there is one text for a state.

A text is read against a fresh state of the same policy. Every name, type and shape must be the same, and so must every
number outside an array: kernels change arrays alone, so those numbers are the policy's parameters. A text that differs
in any way from what `state_to_text` writes is refused. The values in arrays are not checked, so a text must come from a
source that nobody else can write to.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.policies.policy import Policy

STATE_HEAD = "maskedbandit-state 1"
TYPE_WORDS = {  # how a value of each type is written
    "float64": re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|-?inf|nan"),
    "int64": re.compile(r"-?[0-9]{1,19}"),
    "bool": re.compile(r"[01]"),
}


def leaves(s: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The arrays and numbers of a state, each with the path of names that leads to it."""
    if isinstance(s, tuple) and hasattr(s, "_fields"):
        for field, part in zip(s._fields, s, strict=True):
            yield from leaves(part, f"{name}.{field}" if name else field)
    else:
        yield name, s


def write_line(name: str, part: Any) -> str:
    """The line of an array or a number."""
    values = np.asarray(part)
    kind = str(values.dtype)
    if kind not in TYPE_WORDS:
        raise InvalidValue(f"state.{name}", part, "an array or a number of float64, int64 or bool")
    words = [value.hex() if kind == "float64" else str(int(value)) for value in values.ravel().tolist()]
    shape = "x".join(map(str, values.shape))
    return " ".join([name, kind, f"[{shape}]", *words])


def write_head(policy: Policy) -> str:
    """The first line."""
    return f"{STATE_HEAD} {type(policy).__name__}"


def state_to_text(policy: Policy, s: Any) -> str:
    """The state of a policy as text.

    >>> from maskedbandit.policies.regret.uniform import Uniform
    >>> print(state_to_text(Uniform(), Uniform().init(k=3, horizon=100)), end="")
    maskedbandit-state 1 Uniform
    k int64 [] 3
    """
    return "".join(each + "\n" for each in (write_head(policy), *(write_line(name, part) for name, part in leaves(s))))


def state_from_text(policy: Policy, k: int, aim: Any, text: str) -> Any:
    """The state that a text describes, of a policy of k arms; `aim` is what `init` was given.

    >>> from maskedbandit.policies.regret.uniform import Uniform
    >>> state_from_text(Uniform(), 3, 100, "maskedbandit-state 1 Uniform\\nk int64 [] 3\\n")
    State(k=3)
    >>> state_from_text(Uniform(), 4, 100, "maskedbandit-state 1 Uniform\\nk int64 [] 3\\n")
    Traceback (most recent call last):
    maskedbandit.errors.InvalidValue: line 2 of the state is 'k int64 [] 3': it must be 'k int64 [] 4'
    """
    if not isinstance(text, str):
        raise InvalidValue("the state", type(text).__name__, "text")
    fresh = policy.init(k, aim)
    lines = text.split("\n")
    expected = [write_head(policy), *(write_line(name, part) for name, part in leaves(fresh)), ""]
    if len(lines) != len(expected):
        raise InvalidValue("the number of lines of the state", len(lines), f"{len(expected)}")
    if lines[0] != expected[0]:
        raise InvalidValue("line 1 of the state", lines[0][:80], repr(expected[0]))
    for i, (_, part) in enumerate(leaves(fresh), 1):
        if isinstance(part, np.ndarray):
            fill_values(part, lines[i], expected[i], i + 1)
        elif lines[i] != expected[i]:
            raise InvalidValue(f"line {i + 1} of the state", lines[i][:80], repr(expected[i]))
    if state_to_text(policy, fresh) != text:
        raise InvalidValue("the state", text[:80], "written as `state_to_text` writes it")
    return fresh


def fill_values(array: np.ndarray, found: str, expected: str, number: int) -> None:
    """Write the values of a line to an array of the same name, type and shape."""
    words, model, kind = found.split(" "), expected.split(" "), str(array.dtype)
    if words[:3] != model[:3] or len(words) != len(model):
        raise InvalidValue(f"line {number} of the state", found[:80], f"{' '.join(model[:3])} and {array.size} values")
    for i, word in enumerate(words[3:]):
        if not TYPE_WORDS[kind].fullmatch(word):
            raise InvalidValue(f"line {number} of the state", word[:80], f"a {kind}")
        try:
            array.flat[i] = float.fromhex(word) if kind == "float64" else int(word)
        except (OverflowError, ValueError):  # NumPy says the latter of a whole number that is too large
            raise InvalidValue(f"line {number} of the state", word, f"a {kind}") from None
