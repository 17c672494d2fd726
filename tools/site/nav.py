"""The configuration of the site with the pages that are written in its navigation."""

from pathlib import Path
from typing import Any

import yaml

from tools.site.checkout import ROOT, VERSION

FILE = "mkdocs.yml"


def fill_nav(entries: list[Any], folders: dict[str, Any]) -> list[Any]:
    """A navigation in which each entry that ends with "/" is what stands for that folder.

    >>> fill_nav([{"Reference": ["a.md", {"Noises": "noises/"}]}], {"noises/": ["noises/skellam.md"]})
    [{'Reference': ['a.md', {'Noises': ['noises/skellam.md']}]}]
    """

    def fill(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {title: fill(below) for title, below in entry.items()}
        if isinstance(entry, list):
            return [fill(each) for each in entry]
        return folders[entry] if entry.endswith("/") else entry

    return [fill(entry) for entry in entries]


def list_pages(entry: Any) -> list[str]:
    """All pages of a navigation."""
    if isinstance(entry, str):
        return [entry]
    below = entry.values() if isinstance(entry, dict) else entry
    return [page for each in below for page in list_pages(each)]


def write_configuration(build: Path, folders: dict[str, Any]) -> list[Any]:
    """Write the file of which the site is built, and return its navigation; every page has exactly one place in it."""
    head, mark, rest = (ROOT / FILE).read_text().partition("\nnav:\n")
    nav = fill_nav(yaml.safe_load(mark + rest)["nav"], folders)
    placed = list_pages(nav)
    there = {path.relative_to(build / "pages").as_posix() for path in (build / "pages").rglob("*.md")}
    wrong = sorted(there ^ set(placed)) + sorted({page for page in placed if placed.count(page) > 1})
    if wrong:
        raise SystemExit(f"pages that are in the navigation of {FILE} and not there, not in it, or twice: {wrong}")
    own = {
        "site_dir": f"site/{VERSION}",
        "copyright": f"This is the documentation of Masked Bandit {VERSION}.",
        "nav": nav,
    }
    (build / FILE).write_text(f"{head}\n{yaml.safe_dump(own, allow_unicode=True, sort_keys=False)}")
    return nav
