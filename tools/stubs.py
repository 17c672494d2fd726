"""Type stubs of the packages whose names are found when they are first used. `make golden` writes them.

Such a package has no line for each of its names, so type checkers and editors cannot see them: a name that does not
exist would pass as anything. The stub `__init__.pyi` beside its `__init__.py` imports every name from its file.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

import maskedbandit
from maskedbandit.rooms import Room

HEADER = "# Written by `make golden`, for type checkers and editors. Do not edit.\n\n"
WIDTH = 120  # of a line


def imports(homes: dict[str, str]) -> str:
    """The lines that import each name from its home, and export it."""
    lines = []
    for home, name in sorted((home, name) for name, home in homes.items()):
        line = f"from {home} import {name} as {name}\n"
        lines.append(line if len(line) <= WIDTH else f"from {home} import (\n    {name} as {name},\n)\n")
    return "".join(lines)


def of_room(room: Room) -> str:
    """The stub of a package that finds the classes in its files."""
    found = [room[name] for name in room]
    homes = imports({each.__name__: each.__module__ for each in found})
    return f"{HEADER}import maskedbandit.rooms\n{homes}\nroom: maskedbandit.rooms.Room\n"


def of_names(package: ModuleType) -> str:
    """The stub of a package that has `__all__`, each name a module or defined where it says it is."""
    homes = {}
    for name in package.__all__:
        found = getattr(package, name)
        homes[name] = found.__name__.rpartition(".")[0] if isinstance(found, ModuleType) else found.__module__
    return f"{HEADER}{imports(homes)}\n__version__: str\n"


def stubs() -> dict[Path, str]:
    """The text of every stub, by its path."""
    packages = [
        import_module(each.name) for each in walk_packages(maskedbandit.__path__, "maskedbandit.") if each.ispkg
    ]
    rooms = [package for package in packages if isinstance(vars(package).get("room"), Room)]
    texts = {maskedbandit: of_names(maskedbandit)} | {package: of_room(package.room) for package in rooms}
    return {Path(str(package.__file__)).with_suffix(".pyi"): text for package, text in texts.items()}


def write() -> None:
    """Write every stub."""
    for path, text in stubs().items():
        path.write_text(text)


if __name__ == "__main__":
    write()
