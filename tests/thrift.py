"""What `make test` leaves to `make slow`: of a claim on many values those whose tests cost most, never all of them.

Where a rule says which values are dear, tests give it to `thrifty`. Of a claim that costs much whatever the values are,
marked `sparing(n)`, `make test` looks at n of its values, evenly spread among all.
"""

from collections import defaultdict
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


def spread_evenly(count: int, among: int) -> set[int]:
    """So many of the numbers below another, or all of them; 0 is one of them."""
    assert count > 0, "`make test` looks at one at least"
    return {place * among // count for place in range(count)} if count < among else set(range(among))


def leave_to_slow(items: Iterable[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves out of the claims that are marked `sparing`."""
    claims = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("sparing") and not item.get_closest_marker("slow"):
            claims[item.nodeid.partition("[")[0]].append(item)
    for values in claims.values():
        (count,) = values[0].get_closest_marker("sparing").args
        kept = spread_evenly(count, len(values))
        for place, item in enumerate(values):
            if place not in kept:
                item.add_marker(pytest.mark.slow)
