"""Numbers as the user wrote them: 0.1 means one tenth, and budgets are never rounded."""

from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeGuard

import numpy as np

from maskedbandit.errors import InvalidValue

Number = int | float | str | Decimal | Fraction
LONGEST_NUMBER = 5000  # digits of a number that is written out


def to_fraction(name: str, value: Number, least: int = 0, strict: bool = True) -> Fraction:
    """The fraction that a user meant, above `least` (or equal to it, if not `strict`).

    A float stands for the shortest decimal that prints as it does, so ten times 0.1 is one.

    >>> to_fraction("epsilon", 0.1), to_fraction("epsilon", "1/3")
    (Fraction(1, 10), Fraction(1, 3))
    >>> to_fraction("epsilon", float("nan"))
    Traceback (most recent call last):
    maskedbandit.errors.InvalidValue: epsilon is nan: it must be a finite number above 0
    """
    allowed = f"a finite number {'above' if strict else 'of at least'} {least}"
    try:
        if isinstance(value, bool):
            raise TypeError
        written = Decimal(value) if isinstance(value, str) and "/" not in value else value
        if isinstance(written, Decimal) and written.is_finite() and abs(written.adjusted()) > LONGEST_NUMBER:
            raise ValueError  # it would take too long to write out
        if isinstance(value, Rational):
            number = Fraction(int(value.numerator), int(value.denominator))  # those of NumPy would overflow
        elif isinstance(value, Real):  # a float, NumPy's included
            number = Fraction(repr(float(value)))
        else:
            number = Fraction(value)
    except (ValueError, TypeError, ArithmeticError):
        raise InvalidValue(name, value, allowed) from None
    if number < least or (strict and number == least):
        raise InvalidValue(name, value, allowed)
    return number


def is_exact(value: object) -> TypeGuard[Fraction]:
    """Whether this is a Fraction of Python's own integers, which do not overflow.

    >>> is_exact(Fraction(1, 3)), is_exact(Fraction(np.int64(1), 3)), is_exact(0.5)
    (True, False, False)
    """
    return type(value) is Fraction and type(value.numerator) is int is type(value.denominator)


def to_probability(name: str, value: Number) -> Fraction:
    """The value as a fraction in [0, 1).

    >>> to_probability("delta", 1e-6)
    Fraction(1, 1000000)
    """
    number = to_fraction(name, value, strict=False)
    if number >= 1:
        raise InvalidValue(name, value, "a probability in [0, 1)")
    return number


def to_whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """The value as an integer of at least `least` and at most `most`; 1e6 is allowed."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidValue(name, value, f"a whole number of at least {least}")
    if most is not None and value > most:
        raise InvalidValue(name, value, f"at most {most}")
    return int(value)
