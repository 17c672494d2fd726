"""The whole files that the guides in docs/ show, as modules: so that each guide's example keeps the contract."""

import importlib.util
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def source(page):
    """The first block of Python of a page."""
    return re.search(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)[1]


def example(page, folder):
    """The module that the first block of a page makes, from a file, as kernels are compiled from their source."""
    path = folder / f"example_of_{page.removesuffix('.md')}.py"
    path.write_text(source(page))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
