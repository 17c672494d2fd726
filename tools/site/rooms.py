"""A folder of pages for each room of the package: policies, channels, noises, backends, worlds and delays.

What a page says is what the file of the class says: its docstring, which has the formula, the sources and what departs
from them, and the class with its guarantee. So a class that is added has a page because its file exists.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module

from tools.site.checkout import list_documents, read_title
from tools.site.citations import BIBLIOGRAPHY, describe_entry, list_cited, read_bibliography
from tools.site.docstrings import write_docstring
from tools.site.experiments import Experiment, list_experiments, list_named
from tools.site.shelves import Shelf

DEPARTURES = "Departures: "  # how a paragraph of a docstring begins that says what differs from the source


def write_class(shelf: Shelf, name: str) -> str:
    """The page of a class."""
    module, cls = shelf.room.modules[name], shelf.room[name]
    text, departures = split_departures(inspect.getdoc(import_module(module)) or "")
    lines = [f"# {cls.__name__}", "", write_docstring(text, module), ""]
    if departures:
        lines += ["## Departures", "", write_docstring(departures, module), ""]
    lines += [f"::: {module}.{cls.__name__}", "    options:", "      members: false", "      show_source: true", ""]
    lines += [*write_names(shelf, name, cls), *write_pictures(shelf, name)]
    entries = read_bibliography(BIBLIOGRAPHY.read_text())
    cited = dict.fromkeys([*list_cited(inspect.getsource(import_module(module)))])
    if cited:
        lines += ["## Sources", ""]
        lines += [f"* [{key}][{key}]: {describe_entry(entries[key])}" for key in cited]
    return "\n".join([*lines, ""])


def split_departures(docstring: str) -> tuple[str, str]:
    """What the docstring of a file says, without and of how the class departs from its source.

    A formula, and a sentence that goes on after it, belong to the paragraph before them.

    >>> split_departures("UCB1.\\n\\nDepartures: it has\\n\\n    x\\n\\nin its index.\\n\\nRegret.")
    ('UCB1.\\n\\nRegret.', 'It has\\n\\n    x\\n\\nin its index.')
    """
    parts: tuple[list[str], list[str]] = ([], [])
    departs = False
    for paragraph in docstring.split("\n\n"):
        departs = paragraph.startswith(DEPARTURES) or (departs and re.match(r" |[a-z]", paragraph) is not None)
        said = paragraph.removeprefix(DEPARTURES)
        parts[departs].append(said if said == paragraph else said[:1].upper() + said[1:])
    return "\n\n".join(parts[0]), "\n\n".join(parts[1])


def write_names(shelf: Shelf, name: str, cls: type) -> Iterator[str]:
    """How Python and experiments name a class."""
    yield from ["## How to name it", "", f"In Python it is `mb.{shelf.folder}.{cls.__name__}`, after"]
    yield "`import maskedbandit as mb`."
    if shelf.kind:
        yield f'In the TOML of an experiment it is `{shelf.kind} = "{name}"`, or, with'
        yield f'parameters, `{shelf.kind} = {{ name = "{name}", … }}`.'
    yield ""


def write_pictures(shelf: Shelf, name: str) -> Iterator[str]:
    """The league in which a class is, and the other figures that show it; without any, the pages that have numbers."""
    shown = [one for one in list_experiments() if shelf.kind and name in list_named(one.table, shelf.kind)]
    if not shown:
        yield from write_mentions(shelf, name)
        return
    best = max(shown, key=lambda one: (one.table.get("figure") in ("league", "cost"), -shown.index(one)))
    yield from ["## In figures", "", f"![{best.title}](../{best.picture})", ""]
    yield from [f"{best.title}. It is drawn by `{best.command}`, from [this file]({link(best)}).", ""]
    others = [f"[{one.name}]({link(one)})" for one in shown if one != best]
    if others:
        yield from [f"It is also in {', '.join(others)}.", ""]


def write_mentions(shelf: Shelf, name: str) -> Iterator[str]:
    """The documents that name a class of which no experiment draws a figure."""
    named = re.compile(rf"\b{shelf.room[name].__name__}\b")
    documents = {file: text for file, text in list_documents().items() if file.startswith("docs/")}
    pages = [f"[{read_title(text)}](../{file[5:]})" for file, text in documents.items() if named.search(text)]
    if pages:
        yield from ["## On other pages", "", f"No experiment draws it. Examples and numbers: {', '.join(pages)}.", ""]


def link(one: Experiment) -> str:
    """The page of an experiment, from that of a class."""
    return f"../{one.page}"


def write_index(shelf: Shelf) -> str:
    """The first page of a folder: all classes, and the terms that they share."""
    about = dict(shelf.room.about())
    said = (inspect.getdoc(import_module(shelf.package)) or "").partition(". ")[0]
    lines = [f"# {shelf.title}", "", f"{said.rstrip('.')}.", ""]
    if shelf.guide:
        lines += [f"How to add one of your own: [a guide](../{shelf.guide}).", ""]
    for heading, names in shelf.groups():
        lines += [f"## {heading}", ""] if heading else []
        lines += ["| name | what it is |", "|---|---|"]
        lines += [
            f"| [{shelf.room[name].__name__}]({name}.md) | {write_docstring(about[name], shelf.room.modules[name])} |"
            for name in names
        ] + [""]
    lines += ["## The interface", ""]
    for module in shelf.interfaces:
        lines += [f"::: {module}", "    options:", "      heading_level: 3", ""]
    return "\n".join(lines)
