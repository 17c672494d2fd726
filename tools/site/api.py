"""Pages of the Python API: the names of the package, and every module that a document uses or links to."""

import ast
import inspect
import posixpath
import re
from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import maskedbandit as mb
from tools.site.checkout import FENCE, ROOT
from tools.site.docstrings import write_docstring
from tools.site.links import LINK
from tools.site.rooms import SHELVES

SOURCE = "src/"


def list_modules(documents: dict[str, str]) -> dict[str, list[str]]:
    """Modules that have no page of a room, by the folder or the file of the package that they are in."""
    found = {mb.__name__ + "." + home for home in mb._HOME.values()} | {"maskedbandit.theory", "maskedbandit.errors"}
    for file, text in documents.items():
        found |= {*imported_modules(text), *linked_modules(text, file)}
    shelved = tuple(f"{shelf.package}." for shelf in SHELVES)
    pages = defaultdict(list)
    for module in sorted(found - {mb.__name__}):
        if not f"{module}.".startswith(shelved):
            pages[module.split(".")[1]].append(module)
    return dict(pages)


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
            found.add(path.removeprefix(SOURCE).removesuffix("/__init__.py").removesuffix(".py").replace("/", "."))
    return found


def module_file(module: str) -> str:
    """The file of a module, in the repository."""
    spec = find_spec(module)
    assert spec is not None
    return str(spec.origin).removeprefix(f"{ROOT}/")


def write_package(name: str, modules: list[str]) -> str:
    """The page of a folder, or of a file, of the package."""
    lines = [f"# maskedbandit.{name}", "", first_line(f"maskedbandit.{name}"), ""]
    for module in modules:
        lines += [f"::: {module}", "    options:", "      show_root_full_path: true", ""]
    return "\n".join(lines)


def first_line(module: str) -> str:
    """What a module says of itself."""
    return write_docstring((inspect.getdoc(import_module(module)) or "").partition("\n\n")[0])


def write_api(pages: dict[str, list[str]]) -> str:
    """The first page: what `import maskedbandit as mb` gives, and the modules that have a page."""
    lines = ["# The Python API", "", inspect.getdoc(mb).partition("\n")[0], ""]  # type: ignore[union-attr]
    lines += ["## What `import maskedbandit as mb` gives", "", "| name | what it is |", "|---|---|"]
    rooms = {shelf.package: shelf for shelf in SHELVES}
    for name in mb.__all__:
        if name in mb._MODULES:
            module = f"maskedbandit.{mb._MODULES[name]}"
            to = f"../{rooms[module].folder}/index.md" if module in rooms else f"{mb._MODULES[name]}.md"
            lines.append(f"| [`mb.{name}`]({to}) | {first_line(module)} |")
        else:
            module = f"maskedbandit.{mb._HOME[name]}"
            lines.append(f"| [`mb.{name}`][{module}.{name}] | {first_sentence(getattr(mb, name))} |")
    lines += ["", "## Modules", "", "Names that are not in the table are imported from their modules.", ""]
    lines += ["| module | what it is |", "|---|---|"]
    for name, modules in pages.items():
        lines += [f"| [`{module}`]({name}.md#{module}) | {first_line(module)} |" for module in modules]
    return "\n".join([*lines, ""])


def first_sentence(it: Any) -> str:
    """What a class or a function says of itself, on one line of a table."""
    return re.sub(r"\s+", " ", write_docstring((inspect.getdoc(it) or "").partition("\n\n")[0])).replace("|", r"\|")
