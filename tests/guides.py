"""The whole files that the guides in docs/ show: as text, and as modules, so that each example keeps the contract."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block(page: str, number: int = 0) -> str:
    """A block of Python of a page."""
    return BLOCK.findall((DOCS / page).read_text())[number]


def example(page: str, folder: Path, name: str = "") -> Any:
    """The module that the first block of a page makes, from a file, as kernels are compiled from their source."""
    path = folder / f"{name or 'example_of_' + page.removesuffix('.md')}.py"
    path.write_text(block(page))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
