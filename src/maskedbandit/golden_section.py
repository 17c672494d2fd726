"""Golden-section search for the least value of a function that falls and then rises, one step at a time.

    section = bracket(low, high)
    for _ in range(42):
        section = narrowed(section, f(section.x))
    least = section.least

The caller evaluates the function, because a compiled kernel that takes a function as an argument cannot be cached.
After i values the interval has (sqrt(5) - 1) / 2 to the power i - 1 of its first length.
"""

import math
from typing import NamedTuple

from maskedbandit.core import kernel

GOLDEN = 0.6180339887498949  # (sqrt(5) - 1) / 2


class Section(NamedTuple):
    """An interval that holds the minimum, and two points inside."""

    low: float
    high: float
    a: float  # a < b
    b: float
    at_a: float  # the function at a
    at_b: float  # nan: not evaluated yet
    x: float  # a or b: where the function has to be evaluated next
    least: float  # of all values so far


@kernel
def open_bracket(low: float, high: float) -> Section:
    """The interval before the first value."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    return Section(low, high, a, b, math.nan, math.nan, a, math.inf)


@kernel
def narrow_down(s: Section, y: float) -> Section:
    """The interval once the function is known to be y at x.

    >>> section = open_bracket(0.0, 4.0)
    >>> for _ in range(30):
    ...     section = narrow_down(section, (section.x - 1) ** 2 + 2)
    >>> round(section.x, 3), round(section.least, 9)
    (1.0, 2.0)
    """
    low, high, a, b, at_a, at_b, x = s.low, s.high, s.a, s.b, s.at_a, s.at_b, s.b
    if s.x == a:
        at_a = y
    else:
        at_b = y
    if not math.isnan(at_b):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            x = a
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            x = b
    return Section(low, high, a, b, at_a, at_b, x, min(s.least, y))
