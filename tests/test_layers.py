"""An import points only to a lower layer, of rooms and of the folders of the lab, and no files import in a circle."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "maskedbandit"
LAYERS = (
    (
        "core",
        "value_words",
        "errors",
        "device_refusals",
        "extras",
        "checks",
        "golden_section",
        "law",
        "noise_bounds",
        "private_files",
        "person_attributes",
        "toeplitz",
    ),
    ("rooms", "privacy", "words", "drawing"),
    ("noises", "secagg", "shuffle", "theory"),
    ("backends", "policies"),
    ("channels",),
    ("study",),
    ("client", "device"),
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
ONLY = {
    "client": {"errors", "device_refusals", "extras", "private_files", "person_attributes"},
    "device": {
        *("errors", "device_refusals", "extras", "private_files", "checks", "person_attributes"),
        *("privacy", "channels", "secagg", "shuffle", "study"),
    },
}
# with local trust the noise is added where the client is, by the channel that the application names, which it has then
UNLESS = {"client.local_noise": {"channels", "device", "privacy", "study"}}
VAGUE = {"utils", "helpers", "common", "base", "manager", "types", "misc"}


def modules(root: Path) -> dict[str, str]:
    """The text of every module below the package, by its dotted name within it; a folder's own is the folder's name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path.read_text()
    return found


def read_statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements of a module, but not what is in them: there are no imports in expressions."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, part, []) if not isinstance(node, ast.expr) else []:
            yield each
            yield from read_statements(each)


@cache
def read_imports(source: str) -> frozenset[str]:
    """Dotted names that a module imports, wherever in the module."""
    found = set[str]()
    for node in read_statements(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(found)


def imported(source: str, package: str = "maskedbandit") -> set[str]:
    """Dotted names within a package that a module imports."""
    return {name.removeprefix(f"{package}.") for name in read_imports(source) if name.startswith(f"{package}.")}


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


def upwards(texts: Mapping[str, str], layers: tuple[tuple[str, ...], ...], under: str = "") -> dict[str, list[str]]:
    """What points up from each module of a folder that has layers; modules from which nothing does are left out."""
    found = {}
    for name, text in texts.items():
        if name.startswith(under) and name != "__init__":
            others = {folder_of(each, under) for each in imported(text) if each.startswith(under)}
            found[name] = breaches(layers, folder_of(name, under), others)
    return {name: up for name, up in found.items() if up}


def test_imports_point_down() -> None:
    assert upwards(MODULES, LAYERS) == {}
    assert upwards(MODULES, LAB, "lab.") == {}


def strangers(name: str, others: set[str]) -> set[str]:
    """Which of the others a module must not know, as its room knows few."""
    room = folder_of(name)
    return others - {room} - ONLY[room] - UNLESS.get(name, set()) if room in ONLY else set()


def test_some_rooms_know_little() -> None:
    typed = "    from maskedbandit.channels.channel import Channel\n"  # for those who check types, and not when it runs
    found = {}
    for name, text in MODULES.items():
        others = {folder_of(each) for each in imported(text.replace(f"if TYPE_CHECKING:\n{typed}", ""))}
        found[name] = strangers(name, others)
    assert {name: others for name, others in found.items() if others} == {}
    assert {folder_of(name) for name in found} >= set(ONLY)


def test_a_stranger_is_found() -> None:
    assert strangers("client.calls", {"errors", "client", "checks"}) == {"checks"}
    assert strangers("client.local_noise", {"errors", "study", "store"}) == {"store"}
    assert strangers("store.study", {"study"}) == set()


def test_no_files_import_in_a_circle() -> None:
    assert circle(MODULES) == []
    assert circle(modules(ROOT / "bench"), "bench") == []


def shadowed(texts: Mapping[str, str]) -> list[str]:
    """Functions and classes of a folder's own module whose name is also that of a file: importing it replaces them."""
    found = []
    for name in {each.rpartition(".")[0] for each in texts} & set(texts):
        own = {each.name for each in ast.parse(texts[name]).body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
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
    def up(name: str, source: str, layers: tuple[tuple[str, ...], ...] = LAYERS, under: str = "") -> list[str]:
        found = upwards({"core": "", "lab.streams": "", name: source}, layers, under)
        assert found.keys() <= {name}
        return found.get(name, [])

    assert up("noises.noise", "from maskedbandit.lab.engine import simulate") == ["lab"]
    assert up("policies.policy", "def f():\n    import maskedbandit.channels.raw") == ["channels"]
    assert up("lab.files", "from maskedbandit import cli") == ["cli"]
    assert up("store.study", "from maskedbandit.lab.streams import Streams") == ["lab"]
    assert up("lab.files", "from maskedbandit.core import Law\nimport numpy") == []
    assert up("lab.engine.deck", "from maskedbandit.lab.goals import drive", LAB, "lab.") == ["goals"]
    assert up("lab.goals.drive", "from maskedbandit.lab.engine import compiler", LAB, "lab.") == []


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
