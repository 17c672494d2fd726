"""Experiments: what each of them names, and its page with its figure, its file and the command that draws it."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tools.site.checkout import ROOT, read_title

FOLDER = ROOT / "experiments"


@dataclass(frozen=True)
class Experiment:
    """An experiment that comes with the package."""

    name: str

    @cached_property
    def text(self) -> str:
        """Its file."""
        return (FOLDER / f"{self.name}.toml").read_text()

    @cached_property
    def table(self) -> dict[str, Any]:
        """What it says."""
        return tomllib.loads(self.text)

    @property
    def file(self) -> str:
        """Where it is in the repository."""
        return f"experiments/{self.name}.toml"

    @property
    def page(self) -> str:
        """Its page."""
        return f"experiments/{self.name}.md"

    @property
    def picture(self) -> str:
        """Its figure, among the pages."""
        return f"figures/{self.name}.svg"

    @property
    def command(self) -> str:
        """What runs it, and draws the figure."""
        return f"maskedbandit run {self.name}"

    @property
    def title(self) -> str:
        """What its figure shows, in a few words."""
        return self.table["about"]

    @property
    def source(self) -> str:
        """Where its setting is from, with brackets around what is more than a citation."""
        said = re.sub(r"docs/\w+\.md", name_document, self.table["source"])
        return said if said.startswith("[") and said.endswith("]") else f"({said})"


def name_document(found: re.Match[str]) -> str:
    """A link to a document that is named, from the folder of experiments or another one."""
    return f"[{read_title((ROOT / found[0]).read_text())}](../{found[0]})"


def list_experiments() -> list[Experiment]:
    """All of them, by name."""
    return [Experiment(path.stem) for path in sorted(FOLDER.glob("*.toml"))]


def list_named(value: Any, kind: str) -> Iterator[str]:
    """Names of a kind, wherever a table has one.

    >>> list(list_named({"curves": [{"policy": "ucb1"}, {"policy": {"name": "klucb"}}]}, "policy"))
    ['ucb1', 'klucb']
    """
    if isinstance(value, list):
        for each in value:
            yield from list_named(each, kind)
    elif isinstance(value, dict):
        for key, each in value.items():
            name = each.get("name") if isinstance(each, dict) else each
            if key == kind and isinstance(name, str):
                yield name
            yield from list_named(each, kind)


def write_experiment(one: Experiment) -> str:
    """The page of an experiment, as if it stood in its folder of the repository."""
    return f"""# {one.name}

{one.title} {one.source}.

[![{one.title}](../docs/{one.picture})](../docs/{one.picture})

{one.table.get("caption", "")}

## How to reproduce it

    {one.command}

This writes the table, and the figure, into `results/{one.name}`; `--out`, `--jobs` and `--resume` are in
[the command line](../docs/command_line.md#run). The experiment is this file:

```toml
{one.text.strip()}
```
"""


def write_experiments() -> str:
    """The first page of the folder, as if it stood in that of the repository."""
    lines = ["# Experiments", "", "Every experiment that comes with the package, with the figure that it draws.", ""]
    lines += ["`maskedbandit run NAME` runs one again, and `make figures` all of them, which takes an hour or two.", ""]
    lines += ["| name | what it shows |", "|---|---|"]
    return "\n".join(
        [*lines, *(f"| [{one.name}]({one.name}.toml) | {one.title} {one.source} |" for one in list_experiments()), ""]
    )
