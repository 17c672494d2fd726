"""The policy of docs/add_a_policy.md, as a file of its own: it runs through the contract like those of the room."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "add_a_policy.md"
NAME = "explore_then_commit"
FOLDER = TemporaryDirectory(prefix="guide")  # kept until the process ends: kernels are compiled from their source


def source() -> str:
    """The first block of Python in the page."""
    block = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    return block[1]


@cache
def guide_policy() -> Any:
    """The class in that block."""
    path = Path(FOLDER.name) / f"{NAME}.py"
    path.write_text(source())
    spec = spec_from_file_location(NAME, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[NAME] = module  # pickled states name it
    spec.loader.exec_module(module)
    return module.ExploreThenCommit
