"""The purposes of policies: a folder for each goal, whose `__init__.py` holds the record that all layers must know.

How the lab runs, plans and shows a goal stands in `lab/goals`, in a folder of the same name.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal

from maskedbandit.errors import UnknownName


@dataclass(frozen=True)
class Purpose:
    """The purpose of the policies of a folder: what they are told, and how a study with them ends."""

    heading: str  # of their list
    aim: Literal["people", "delta"]  # what `init` is told: how many people there are, or how often it may be wrong
    serves: bool = False  # it goes on to the last person: its answer is the arm that all later ones get, and no end
    phased: bool = False  # its phases are planned for all people, so the arms of a study may not change
    live: str = ""  # the policy of live studies, if there is one for all questions
    choice: str = ""  # what the form of a new study says of it, where people choose by words
    meaning: str = ""  # what the policy for live studies does then, in the same form
    rank: int = 100  # where it stands in lists


@cache
def list_purposes() -> dict[str, Purpose]:
    """Every purpose, by the name of its folder, in the order of lists."""
    package = import_module("maskedbandit.policies")
    names = sorted(each.name for each in iter_modules(package.__path__) if each.ispkg and each.name != "parts")
    found = {name: import_module(f"{package.__name__}.{name}").PURPOSE for name in names}
    return dict(sorted(found.items(), key=lambda each: each[1].rank))


def find_purpose(goal: str) -> Purpose:
    """The purpose of a goal."""
    found = list_purposes()
    if goal not in found:
        raise UnknownName("goal", goal, found)
    return found[goal]
