"""Checks of parameters that many classes have in common. Each raises `InvalidValue` with what is allowed."""

import math
import re
from numbers import Real
from typing import Any

from maskedbandit.errors import InvalidValue, PersonalValue

LARGEST_COHORT = 10**15
User = str  # of 1 to 128 visible ASCII characters: the same text is the same bytes in a file, so one name is one person
_USER = re.compile(r"[!-~]{1,128}")


def is_number(value: Any) -> bool:
    """Whether a parameter is a real number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_positive(name: str, value: Any) -> None:
    """A finite number above 0."""
    if not (is_number(value) and 0 < value < math.inf):
        raise InvalidValue(name, value, "a positive number")


def check_fraction(name: str, value: Any) -> None:
    """A number strictly between 0 and 1.

    >>> check_fraction("failure", 1.0)
    Traceback (most recent call last):
    maskedbandit.errors.InvalidValue: failure is 1.0: it must be a number above 0 and below 1
    """
    if not (is_number(value) and 0 < value < 1):
        raise InvalidValue(name, value, "a number above 0 and below 1")


def check_cohort(name: str, value: Any) -> None:
    """A number of users."""
    if not (is_number(value) and 1 <= value <= LARGEST_COHORT and value % 1 == 0):
        raise InvalidValue(name, value, "a whole number of at least 1")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """One of some words.

    >>> check_choice("threshold", "sharp", ("proved", "published", "heuristic"))
    Traceback (most recent call last):
    maskedbandit.errors.InvalidValue: threshold is 'sharp': it must be 'proved', 'published' or 'heuristic'
    """
    if value not in choices:
        *others, last = map(repr, choices)
        raise InvalidValue(name, value, f"{', '.join(others)} or {last}")


def check_user(user: User) -> User:
    """The user, or `PersonalValue` if it is not a valid name.

    >>> check_user("ann"), check_user("7f3a:2")
    ('ann', '7f3a:2')
    >>> check_user(float("nan"))
    Traceback (most recent call last):
    maskedbandit.errors.PersonalValue: user must be a str of 1 to 128 visible ASCII characters, without spaces \
(the value given is personal and not shown)
    """
    if type(user) is not str or not _USER.fullmatch(user):
        raise PersonalValue("user", "a str of 1 to 128 visible ASCII characters, without spaces")
    return user
