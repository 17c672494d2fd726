"""The experiments that come with the package: in its folder where it is installed, at the root of a checkout."""

from __future__ import annotations

from pathlib import Path

import maskedbandit
from maskedbandit.errors import UnknownName


def folder() -> Path:
    """Where they are.

    >>> (folder() / "quickstart.toml").exists()
    True
    """
    package = Path(maskedbandit.__file__).parent
    installed = package / "experiments"
    return installed if installed.is_dir() else package.parents[1] / "experiments"


def find(given: str) -> Path:
    """The file of an experiment that is given by its path, or by its name.

    >>> find("quickstart") == folder() / "quickstart.toml"
    True
    """
    path = Path(given)
    if path.suffix or len(path.parts) > 1 or path.exists():
        return path
    names = {each.stem: each for each in folder().glob("*.toml")}
    if given not in names:
        raise UnknownName("experiment", given, names)
    return names[given]
