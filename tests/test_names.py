"""A name means one thing in the whole tree, and a function that crosses files says what it does.

Whoever looks for a name finds the one place that defines it. Rooms are left out: the files of a room answer to the same
names, which is what makes them a room.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.test_layers import MODULES, imported

# folders whose files are asked for the same names
ROOMS = ("policies.", "cli.", "lab.goals.", "service.api.", "service.helping.", "service.sites.")
SEVERAL = 0.05  # of the definitions outside of rooms may have a name that another file defines too
# what was done to something is a state of it, and says neither who does it nor what comes out
IRREGULAR = {
    "built",
    "chosen",
    "cut",
    "drawn",
    "found",
    "given",
    "held",
    "kept",
    "known",
    "left",
    "made",
    "met",
    "said",
}
IRREGULAR |= {"seen", "sent", "shown", "spent", "taken", "told", "written"}
NOUNS = {"bed", "feed", "need", "seed", "speed"}  # words that end like one


def definitions(text: str) -> Iterator[str]:
    """Names that a file defines for others: not those that begin with an underscore."""
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found = [node.name]
            case ast.Assign():
                found = [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                found = [name]
            case _:
                found = []
        yield from (each for each in found if not each.startswith("_"))


def defined_in_several(texts: Mapping[str, str]) -> tuple[float, dict[str, list[str]]]:
    """The share of definitions whose name another file defines too, and where those names are defined."""
    places = defaultdict(list)
    for module, text in texts.items():
        if not f"{module}.".startswith(ROOMS):
            for name in dict.fromkeys(definitions(text)):
                places[name].append(module)
    several = {name: found for name, found in places.items() if len(found) > 1}
    return sum(map(len, several.values())) / sum(map(len, places.values())), several


def is_participle(name: str) -> bool:
    """Whether a name is a bare participle: `asked`, `drawn`."""
    return name in IRREGULAR or (bool(re.fullmatch(r"[a-z]+ed", name)) and name not in NOUNS)


def functions_of_others(texts: Mapping[str, str]) -> set[str]:
    """Functions that other files import, as `module.function`."""
    own = {
        f"{module}.{node.name}"
        for module, text in texts.items()
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return own & {name for text in texts.values() for name in imported(text)}


def files_like_states(texts: Mapping[str, str]) -> list[str]:
    """Files and folders whose name is a bare participle, unless it is that of the class in them."""
    return sorted(
        module
        for module, text in texts.items()
        if is_participle(name := module.rpartition(".")[2]) and name.title() not in definitions(text)
    )


def test_few_names_are_defined_in_several_files() -> None:
    share, several = defined_in_several(MODULES)
    assert share <= SEVERAL, {
        name: several[name] for name in sorted(several, key=lambda each: -len(several[each]))[:20]
    }


def test_functions_that_cross_files_are_no_bare_participles() -> None:
    assert sorted(each for each in functions_of_others(MODULES) if is_participle(each.rpartition(".")[2])) == []


def test_files_are_no_bare_participles() -> None:
    assert files_like_states(MODULES) == []


def test_what_breaks_these_rules_is_found() -> None:
    twice = {
        "store.people": "def report(): ...\nLIMIT = 1",
        "service.api.people": "def report(): ...",
        "client": "LIMIT = 2",
    }
    assert defined_in_several(twice) == (2 / 3, {"LIMIT": ["store.people", "client"]})
    assert defined_in_several({"store": "def _report(): ...\ndef write(): ...", "client": "def _report(): ..."})[0] == 0
    users = {
        "store.people": "from maskedbandit.store.rows import asked",
        "store.rows": "def asked(): ...\ndef told(): ...",
    }
    assert functions_of_others(users) == {"store.rows.asked"}
    names = ("asked", "drawn", "find_rows", "seed", "is_used")
    assert [each for each in names if is_participle(each)] == ["asked", "drawn"]
    assert files_like_states({"channels.shuffled": "class Shuffled: ...", "store.asked": "class Demand: ..."}) == [
        "store.asked"
    ]
