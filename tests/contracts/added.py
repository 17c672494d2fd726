"""Files that are added to a room for the time of a test: those of the guides, and broken ones."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType


def changed(source: str, old: str, new: str) -> str:
    """The source in which `old` became `new`."""
    assert old in source, f"the source does not hold {old!r}"
    return source.replace(old, new)


@contextmanager
def added(package: ModuleType, name: str, source: str) -> Iterator[None]:
    """While it lasts, the room of a package holds a file of this name, instead of another of that name if there is."""
    module = f"{package.__name__}.{name}"
    path, loaded = package.__path__, sys.modules.pop(module, None)
    with TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.py").write_text(source)
        package.__path__ = [folder, *path]
        vars(package.room).pop("modules", None)  # which were listed without it
        try:
            yield
        finally:
            package.__path__ = path
            vars(package.room).pop("modules", None)
            vars(package).pop(name, None)
            sys.modules.pop(module, None)
            if loaded is not None:
                sys.modules[module] = loaded
