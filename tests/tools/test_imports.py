"""Tools and benchmarks import what there is: some need what is not installed here, so they are read and not run."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def names_imported(text: str) -> Iterator[tuple[str, str]]:
    """Modules of the package and the names that are imported from them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "maskedbandit":
            yield from ((str(node.module), each.name) for each in node.names)


def missing(text: str) -> list[str]:
    """Those that are not there."""

    def is_there(module: str, name: str) -> bool:
        if hasattr(import_module(module), name):
            return True
        try:
            return bool(import_module(f"{module}.{name}"))
        except ImportError:
            return False

    return [f"{module}.{name}" for module, name in names_imported(text) if not is_there(module, name)]


def test_what_is_imported_is_there() -> None:
    files = [*(ROOT / "bench").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    assert len(files) > 20
    assert {path.name: found for path in files if (found := missing(path.read_text()))} == {}
    assert missing("from maskedbandit.core import Floats, Reals\nfrom maskedbandit.lab import streams") == [
        "maskedbandit.core.Reals"
    ]
