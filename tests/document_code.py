"""The code that the documents show, as programs that tests run: their Python, and in tutorials what a shell is told."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMISE = "# → "


def program(document: str) -> str:
    """The Python blocks of a document as one module, each line where it stands in the document."""
    return joined(document, {"python": str})


def session(document: str) -> str:
    """The same with the blocks for a shell, which the module runs where they stand."""
    return joined(document, {"python": str, "bash": lambda block: f"run_in_bash(r'''{block}''')\n"})


def joined(document: str, kinds: dict[str, Callable[[str], str]]) -> str:
    """Blocks of these kinds, each made Python."""
    kept = ""
    for block in FENCED.finditer(document):
        if block[1] in kinds:
            kept += "\n" * (document.count("\n", 0, block.start(2)) - kept.count("\n")) + kinds[block[1]](block[2])
    return kept


def promised(source: str) -> str:
    """What a program says that it prints, on lines that begin with `# → `."""
    return "".join(line.removeprefix(PROMISE) + "\n" for line in source.splitlines() if line.startswith(PROMISE))


def run_in_bash(block: str) -> None:
    """Run what a shell is told, to its first failure; if it promises to print something, show what it prints."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], stdout=subprocess.PIPE, text=True, check=True)
    if promised(block):
        print(done.stdout, end="")


def executed(source: str, path: Path) -> None:
    """Run a program from a file, as kernels are compiled from their source."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module)["run_in_bash"] = run_in_bash
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
