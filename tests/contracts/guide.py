"""The policy of docs/add_a_policy.md, as a file of its own: it runs through the contract like those of the room."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.guides import example

PAGE, NAME = "add_a_policy.md", "explore_then_commit"
FOLDER = TemporaryDirectory(prefix="guide")  # kept until the process ends: kernels are compiled from their source


@cache
def guide_policy() -> Any:
    """The class in the page's first block; pickled states name its module."""
    return example(PAGE, Path(FOLDER.name), NAME).ExploreThenCommit
