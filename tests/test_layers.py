"""An import points only to a lower layer, of rooms and of the folders of the lab, and no files import in a circle."""

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "maskedbandit"
LAYERS = (
    ("core", "errors", "extras", "checks", "golden_section", "law", "noise_bounds"),
    ("rooms", "privacy", "words", "drawing"),
    ("noises", "secagg", "shuffle", "theory"),
    ("backends", "policies"),
    ("channels",),
    ("study",),
    ("client",),
    ("lab",),
    ("store",),
    ("statement",),
    ("service",),
    ("reports",),
    ("cli", "__main__"),
)
LAB = (
    ("streams", "generator_type", "delays", "files"),
    ("worlds",),
    ("engine",),
    ("logs", "rehearsal"),
    ("goals",),
    ("experiments",),
)
# pairs that may not meet although their layers would allow it
APART = {
    ("policies", "noises"),
    ("policies", "secagg"),
    ("policies", "shuffle"),
    ("channels", "policies"),
    ("secagg", "shuffle"),
    ("store", "lab"),
    ("statement", "lab"),
    ("service", "lab"),
    ("logs", "rehearsal"),
}
# rooms that know of the package what is here, and nothing else: an application has the client, and not numpy
ONLY = {"client": {"errors", "extras"}}
# with local trust the noise is added where the client is, by the channel that the application names, which it has then
UNLESS = {"client.device": {"channels", "privacy", "study"}}
VAGUE = {"utils", "helpers", "common", "base", "manager", "types", "misc"}


def modules(root: Path) -> dict[str, str]:
    """The text of every module below the package, by its dotted name within it; a folder's own is the folder's name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path.read_text()
    return found


def imported(source: str, package: str = "maskedbandit") -> set[str]:
    """Dotted names within a package that a module imports, wherever in the module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix(f"{package}.") for name in found if name.startswith(f"{package}.")}


def folder_of(name: str, under: str = "") -> str:
    """The room of a dotted name, or the folder of the lab."""
    return name.removeprefix(under).split(".")[0]


def breaches(layers: tuple[tuple[str, ...], ...], room: str, others: set[str]) -> list[str]:
    """Which of the others point up from the room, or to one that it must not know."""
    height = {name: level for level, names in enumerate(layers) for name in names}
    return [
        other
        for other in sorted(others - {room})
        if other in height and (height[other] > height[room] or (room, other) in APART)
    ]


def circle(texts: Mapping[str, str], package: str = "maskedbandit") -> list[str]:
    """Modules that import each other in a circle; a folder's own module comes with each of its files, so not it."""
    graph = {}
    for name, text in texts.items():
        wanted = {each if each in texts else each.rpartition(".")[0] for each in imported(text, package)}
        graph[name] = {each for each in wanted if each in texts and each != name and not name.startswith(each + ".")}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return found.args[1]
    return []


MODULES = modules(SOURCE)


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"__init__"}))
def test_imports_point_down(name: str) -> None:
    others = {folder_of(each) for each in imported(MODULES[name])}
    assert breaches(LAYERS, folder_of(name), others) == []


def strangers(name: str, others: set[str]) -> set[str]:
    """Which of the others a module must not know, as its room knows few."""
    room = folder_of(name)
    return others - {room} - ONLY[room] - UNLESS.get(name, set()) if room in ONLY else set()


@pytest.mark.parametrize("name", sorted(each for each in MODULES if folder_of(each) in ONLY))
def test_some_rooms_know_little(name: str) -> None:
    typed = "    from maskedbandit.channels.channel import Channel\n"  # for those who check types, and not when it runs
    others = {folder_of(each) for each in imported(MODULES[name].replace(f"if TYPE_CHECKING:\n{typed}", ""))}
    assert strangers(name, others) == set()


def test_a_stranger_is_found() -> None:
    assert strangers("client.calls", {"errors", "client", "checks"}) == {"checks"}
    assert strangers("client.device", {"errors", "study", "store"}) == {"store"}
    assert strangers("store.study", {"study"}) == set()


@pytest.mark.parametrize("name", sorted(each for each in MODULES if each.startswith("lab.")))
def test_imports_between_folders_of_the_lab_point_down(name: str) -> None:
    others = {folder_of(each, "lab.") for each in imported(MODULES[name]) if each.startswith("lab.")}
    assert breaches(LAB, folder_of(name, "lab."), others) == []


def test_no_files_import_in_a_circle() -> None:
    assert circle(MODULES) == []
    assert circle(modules(ROOT / "bench"), "bench") == []


def shadowed(texts: Mapping[str, str]) -> list[str]:
    """Functions and classes of a folder's own module whose name is also that of a file: importing it replaces them."""
    found = []
    for name, text in texts.items():
        own = {each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
        found += [f"{name}.{each}" for each in sorted(own) if f"{name}.{each}" in texts]
    return found


def test_no_file_replaces_a_function_of_its_folder() -> None:
    assert shadowed(MODULES) == []
    assert shadowed({"lab": "def goal(): ...\ndef other(): ...", "lab.goal": ""}) == ["lab.goal"]


def test_every_room_has_a_layer() -> None:
    assert {folder_of(name) for name in MODULES} - {"__init__"} <= {name for names in LAYERS for name in names}
    folders = {folder_of(name, "lab.") for name in MODULES if name.startswith("lab.")}
    assert folders == {name for names in LAB for name in names}


def test_an_import_that_points_up_is_found() -> None:
    def up(room: str, source: str, layers: tuple[tuple[str, ...], ...] = LAYERS, under: str = "") -> list[str]:
        return breaches(layers, room, {folder_of(each, under) for each in imported(source)})

    assert up("noises", "from maskedbandit.lab.engine import simulate") == ["lab"]
    assert up("policies", "def f():\n    import maskedbandit.channels.raw") == ["channels"]
    assert up("lab", "from maskedbandit import cli") == ["cli"]
    assert up("store", "from maskedbandit.lab.streams import Streams") == ["lab"]
    assert up("lab", "from maskedbandit.core import Law\nimport numpy") == []
    assert up("engine", "from maskedbandit.lab.goals import drive", LAB, "lab.") == ["goals"]
    assert up("goals", "from maskedbandit.lab.engine import compiler", LAB, "lab.") == []


def test_a_circle_is_found() -> None:
    one, two = "from maskedbandit.lab.two import f", "def g():\n    from maskedbandit.lab import one"
    assert set(circle({"lab.one": one, "lab.two": two})) == {"lab.one", "lab.two"}
    assert circle({"lab.one": one, "lab.two": "import numpy"}) == []
    part, whole = "if True:\n    from bench.__main__ import row", "from bench.part import part"
    assert set(circle({"__main__": whole, "part": part}, "bench")) == {"__main__", "part"}


def test_file_names_say_what_is_inside() -> None:
    assert {path.stem for path in SOURCE.rglob("*.py")} & VAGUE == set()


def test_files_hold_one_concept() -> None:
    assert {name: n for name, text in MODULES.items() if (n := len(text.splitlines())) > 320} == {}
