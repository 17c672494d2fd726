"""Pages of the Python API: the names of the package, and the modules that have a place there."""

import inspect
import re
from importlib import import_module
from typing import Any

import maskedbandit as mb
from tools.site.docstrings import write_docstring
from tools.site.shelves import SHELVES


def write_package(name: str, modules: list[str]) -> str:
    """The page of a folder, or of a file, of the package."""
    lines = [f"# maskedbandit.{name}", ""]
    if f"maskedbandit.{name}" not in modules:  # which say it themselves
        lines += [first_line(f"maskedbandit.{name}"), ""]
    for module in modules:
        lines += [f"::: {module}", "    options:", "      show_root_full_path: true", ""]
    return "\n".join(lines)


def first_line(module: str) -> str:
    """What a module says of itself."""
    return write_docstring((inspect.getdoc(import_module(module)) or "").partition("\n\n")[0], module)


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
    return re.sub(r"\s+", " ", write_docstring((inspect.getdoc(it) or "").partition("\n\n")[0], it.__module__)).replace(
        "|", r"\|"
    )
