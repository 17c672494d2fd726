"""What `make test` leaves to `make slow`: of a claim on many values those whose tests cost most, never all of them.

Where a rule says which values are dear, tests give it to `thrifty`. `dear.txt` names others one by one: those that
took more than an eighth of a second, of tests that have cheaper values.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

NAMED = frozenset(Path(__file__).with_name("dear.txt").read_text().splitlines())
COLLECTED = pytest.StashKey[list[str]]()


def thrifty(values: Iterable[Any], dear: Callable[[Any], bool]) -> list[Any]:
    """The values of a parameter, or tuples of several; those that are dear here are left to `make slow`."""
    all_of_them = list(values)
    assert not all(map(dear, all_of_them)), "`make test` looks at one at least"
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=[pytest.mark.slow] * dear(value))
        for value in all_of_them
    ]


def left_to_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the collected tests that `dear.txt` names, and keep which were not marked before."""
    config.stash[COLLECTED] = [item.nodeid for item in items if item.get_closest_marker("slow") is None]
    for item in items:
        if item.nodeid in NAMED:
            item.add_marker(pytest.mark.slow)


def claim(name: str) -> str:
    """A test without its parameters."""
    return name.partition("[")[0]


def forgotten(named: Iterable[str], collected: Iterable[str]) -> list[str]:
    """Names of tests that are not there, or leave nothing of their claim; of claims of which anything was collected."""
    values, found = defaultdict[str, set[str]](set), []
    for name in collected:
        values[claim(name)].add(name)
    left = {name: each - set(named) for name, each in values.items()}
    for name in named:
        if claim(name) in values and (name not in values[claim(name)] or not left[claim(name)]):
            found.append(name)
    return sorted(found)
