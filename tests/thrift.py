"""What `make test` leaves to `make slow`: of a claim on many values those whose tests cost most, never all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def thrifty(values: Iterable[Any], dear: Callable[[Any], bool]) -> list[Any]:
    """The values of a parameter, or tuples of several; those that are dear here are left to `make slow`."""
    all_of_them = list(values)
    assert not all(map(dear, all_of_them)), "`make test` looks at one at least"
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=[pytest.mark.slow] * dear(value))
        for value in all_of_them
    ]
