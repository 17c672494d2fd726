"""A folder of pages for each room of the package: policies, channels, noises, backends, worlds and delays.

What a page says is what the file of the class says: its docstring, which has the formula, the sources and what departs
from them, and the class with its guarantee. So a class that is added has a page because its file exists.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby

from maskedbandit.policies.parts.purposes import find_purpose
from maskedbandit.rooms import Room
from tools.site.checkout import ROOT
from tools.site.citations import BIBLIOGRAPHY, describe_entry, list_cited, read_bibliography
from tools.site.docstrings import write_docstring
from tools.site.experiments import Experiment, list_experiments, list_named


@dataclass(frozen=True)
class Shelf:
    """A room as a folder of pages."""

    folder: str
    title: str
    package: str
    kind: str  # what it is called in an experiment; empty if experiments do not name it so
    guide: str = ""  # how one more is added

    @property
    def room(self) -> Room:
        """The room itself."""
        return import_module(self.package).room

    def page(self, name: str) -> str:
        """The page of a class."""
        return f"{self.folder}/{name}.md"

    def group(self, name: str) -> str:
        """The heading of a class in lists."""
        heading = find_purpose(self.room[name].goal).heading if self.folder == "policies" else ""
        return heading[:1].upper() + heading[1:]

    def groups(self) -> Iterator[tuple[str, list[str]]]:
        """Names by heading, in the order of `maskedbandit list`."""
        rank = {name: find_purpose(self.room[name].goal).rank if self.group(name) else 0 for name in self.room}
        for heading, names in groupby(sorted(self.room, key=rank.__getitem__), self.group):
            yield heading, list(names)


SHELVES = (
    Shelf("policies", "Policies", "maskedbandit.policies", "policy", "add_a_policy.md"),
    Shelf("channels", "Channels", "maskedbandit.channels", "channel", "add_a_channel.md"),
    Shelf("noises", "Noises", "maskedbandit.noises", "noise", "add_a_noise.md"),
    Shelf("backends", "Backends", "maskedbandit.backends", "backend"),
    Shelf("worlds", "Worlds", "maskedbandit.lab.worlds", "instance", "add_a_world.md"),
    Shelf("delays", "Delays", "maskedbandit.lab.delays", "delay", "add_a_world.md#add-a-delay"),
)


def file_of(module: str) -> str:
    """The file of a module, in the repository."""
    found = import_module(module).__file__
    assert found is not None
    return str(found).removeprefix(f"{ROOT}/")


def write_class(shelf: Shelf, name: str) -> str:
    """The page of a class."""
    module, cls = shelf.room.modules[name], shelf.room[name]
    lead, _, rest = (inspect.getdoc(import_module(module)) or "").partition("\n\n")
    lines = [f"# {cls.__name__}", "", write_docstring(lead), "", write_docstring(rest), ""]
    lines += [f"::: {module}.{cls.__name__}", "    options:", "      members: false", "      show_source: true", ""]
    lines += [*write_names(shelf, name, cls), *write_pictures(shelf, name)]
    entries = read_bibliography(BIBLIOGRAPHY.read_text())
    cited = dict.fromkeys([*list_cited(inspect.getsource(import_module(module)))])
    if cited:
        lines += ["## Sources", ""]
        lines += [f"* [{key}][{key}]: {describe_entry(entries[key])}" for key in cited]
    return "\n".join([*lines, ""])


def write_names(shelf: Shelf, name: str, cls: type) -> Iterator[str]:
    """How Python and experiments name a class."""
    yield from ["## How to name it", "", f"In Python it is `mb.{shelf.folder}.{cls.__name__}`, after"]
    yield "`import maskedbandit as mb`."
    if shelf.kind:
        yield f'In the TOML of an experiment it is `{shelf.kind} = "{name}"`, or, with'
        yield f'parameters, `{shelf.kind} = {{ name = "{name}", … }}`.'
    yield ""


def write_pictures(shelf: Shelf, name: str) -> Iterator[str]:
    """The league in which a class is, and the other figures that show it."""
    shown = [one for one in list_experiments() if shelf.kind and name in list_named(one.table, shelf.kind)]
    if not shown:
        return
    best = max(shown, key=lambda one: (one.table.get("figure") in ("league", "cost"), -shown.index(one)))
    yield from ["## In figures", "", f"![{best.title}](../{best.picture})", ""]
    yield from [f"{best.title}. It is drawn by `{best.command}`, from [this file]({link(best)}).", ""]
    others = [f"[{one.name}]({link(one)})" for one in shown if one != best]
    if others:
        yield from [f"It is also in {', '.join(others)}.", ""]


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
            f"| [{shelf.room[name].__name__}]({name}.md) | {write_docstring(about[name])} |" for name in names
        ] + [""]
    lines += ["## The interface", ""]
    for name, module in sorted(shelf.room.modules.items()):
        if name not in set(shelf.room):
            lines += [f"::: {module}", "    options:", "      heading_level: 3", ""]
    return "\n".join(lines)
