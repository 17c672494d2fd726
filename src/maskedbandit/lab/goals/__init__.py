"""The goals of policies, a folder for each: how a policy with this goal is run, its table and its figures.

A goal is found by its folder, which holds a `goal.py` with `GOAL`, a record of type `Goal`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from maskedbandit.errors import UnknownName

if TYPE_CHECKING:
    from maskedbandit.lab.goals.goal import Goal


@cache
def list_goals() -> dict[str, Goal]:
    """Every goal, by the name of its folder."""
    found = sorted(each.name for each in iter_modules(__path__) if each.ispkg)
    return {name: import_module(f"{__name__}.{name}.goal").GOAL for name in found}


def find_goal(name: object) -> Goal:
    """The goal that a file names."""
    if not isinstance(name, str) or name not in list_goals():
        raise UnknownName("goal", str(name), list_goals())
    return list_goals()[name]
