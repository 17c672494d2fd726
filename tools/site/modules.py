"""Modules that have a page: those of the rooms, and on pages of the API those that documents and these pages name."""

import ast
import inspect
import posixpath
import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import maskedbandit as mb
from tools.site.checkout import FENCE, ROOT, list_documents
from tools.site.links import LINK
from tools.site.shelves import SHELVES

SOURCE = "src/"
PATH = re.compile(r"^    .*$|`[^`]*`|(?<![\w/.])((?:\w+/)*\w+\.py)\b", re.MULTILINE)  # in a docstring, but not in code


@cache
def list_modules() -> dict[str, list[str]]:
    """Modules that have no page of a room, by the folder or the file of the package that they are in."""
    found = {mb.__name__ + "." + home for home in mb._HOME.values()} | {"maskedbandit.theory", "maskedbandit.errors"}
    for file, text in list_documents().items():
        found |= {*imported_modules(text), *linked_modules(text, file)}
    classes = {shelf.room.modules[name] for shelf in SHELVES for name in shelf.room}
    for module in classes:
        found |= named_modules(inspect.getdoc(import_module(module)) or "", module)
    interfaces = {module for shelf in SHELVES for module in [shelf.package, *shelf.interfaces]}
    pages = defaultdict(list)
    for module in sorted(found - classes - interfaces - {mb.__name__}):
        pages[module.split(".")[1]].append(module)
    return dict(pages)


@cache
def list_places() -> dict[str, str]:
    """The page of every module that has one, with its place on it."""
    places = {mb.__name__: "api/index.md"}
    for shelf in SHELVES:
        places |= {module: f"{shelf.folder}/index.md#{module}" for module in shelf.interfaces}
        places |= {shelf.room.modules[name]: shelf.page(name) for name in shelf.room}
    for name, modules in list_modules().items():
        places |= {module: f"api/{name}.md#{module}" for module in modules}
    return places


def find_module(path: str, near: str) -> str:
    """The module of the package that the docstring of another one calls by the end of its path; empty if none is.

    >>> find_module("batches.py", near="maskedbandit.policies.regret.noise_aware_klucb")
    'maskedbandit.policies.parts.batches'
    >>> find_module("batches.py", near="maskedbandit.store.settle")
    'maskedbandit.store.batches'
    """

    def shared(module: str) -> int:
        return len(posixpath.commonprefix([module.split("."), near.split(".")]))

    ending = "." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    found = sorted((module for module in list_package() if module.endswith(ending)), key=shared)
    unclear = len(found) > 1 and shared(found[-1]) == shared(found[-2])
    return found[-1] if found and not unclear else ""


@cache
def list_package() -> list[str]:
    """Every module of the package."""
    return [module_name(path.relative_to(ROOT).as_posix()) for path in (ROOT / SOURCE).rglob("*.py")]


def named_modules(docstring: str, near: str) -> set[str]:
    """Modules whose paths stand in the docstring of one."""
    return {find_module(found[1], near) for found in PATH.finditer(docstring) if found[1]} - {""}


def imported_modules(text: str) -> set[str]:
    """Modules from which the Python of a document imports names."""
    found = set()
    for fence in FENCE.finditer(text):
        if fence[0].startswith("```python"):
            for node in ast.walk(ast.parse(fence[0].partition("\n")[2].rpartition("\n")[0])):
                if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{mb.__name__}."):
                    found.add(str(node.module))
    return found


def linked_modules(text: str, file: str) -> set[str]:
    """Modules to whose files a document links."""
    found = set()
    for link in LINK.finditer(text):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), link[3].partition("#")[0]))
        if path.startswith(SOURCE) and path.endswith(".py"):
            found.add(module_name(path))
    return found


def module_name(file: str) -> str:
    """The module of a file of the repository."""
    return file.removeprefix(SOURCE).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def module_file(module: str) -> str:
    """The file of a module, in the repository."""
    spec = find_spec(module)
    assert spec is not None
    return str(spec.origin).removeprefix(f"{ROOT}/")
