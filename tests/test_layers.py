"""An import points only to a lower layer: the rooms stay apart."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "maskedbandit"
LAYERS = (
    ("core", "errors", "golden_section", "law", "parameters"),
    ("rooms", "privacy"),
    ("secagg", "shuffle"),
    ("backends",),
    ("noises",),
    ("channels",),
    ("theory",),
    ("policies",),
    ("lab",),
    ("service",),
    ("cli", "__main__"),
)
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
# pairs that may not meet although their layers would allow it
APART = {
    ("policies", "channels"),
    ("policies", "noises"),
    ("service", "lab"),
    ("policies", "backends"),
    ("secagg", "shuffle"),
}
VAGUE = {"utils", "helpers", "common", "base", "manager", "types", "misc"}


def imported(source: str) -> set[str]:
    """Rooms of ours that a module imports, wherever in the module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("maskedbandit.")}
    return found


def breaches(room: str, source: str) -> list[str]:
    """Imports of a module in `room` that point up, or to a room it must not know."""
    others = imported(source) - {room}
    return [
        other
        for other in sorted(others)
        if other in HEIGHT and (HEIGHT[other] > HEIGHT[room] or (room, other) in APART)
    ]


MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or path.stem in HEIGHT]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert breaches(room, path.read_text()) == []


def test_every_room_has_a_layer() -> None:
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    assert rooms - {"__init__"} <= set(HEIGHT)


def test_an_import_that_points_up_is_found() -> None:
    assert breaches("noises", "from maskedbandit.lab.engine import simulate") == ["lab"]
    assert breaches("policies", "def f():\n    import maskedbandit.channels.raw") == ["channels"]
    assert breaches("lab", "from maskedbandit import cli") == ["cli"]
    assert breaches("lab", "from maskedbandit.core import Law\nimport numpy") == []


def test_file_names_say_what_is_inside() -> None:
    assert {path.stem for path in SOURCE.rglob("*.py")} & VAGUE == set()


def test_files_hold_one_concept() -> None:
    long = {
        str(path.relative_to(SOURCE)): n
        for path in SOURCE.rglob("*.py")
        if (n := len(path.read_text().splitlines())) > 320
    }
    assert long == {}
