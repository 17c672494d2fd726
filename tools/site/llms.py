"""`llms.txt`: every page of the site in one line, for programs that read documents."""

from pathlib import Path
from typing import Any

from tools.site.checkout import read_lead, read_title

SUMMARY = "Adaptive experiments on private outcomes: bandits and best-arm identification under differential privacy."


def write_llms(pages: Path, nav: list[Any]) -> str:
    """The file: a section for each of the navigation, and of each page its title and its first paragraph.

    Of a folder of written pages there is its first page alone, which lists the others.
    """
    lines = ["# Masked Bandit", "", f"> {SUMMARY}"]
    for section in nav:
        for title, entries in section.items():
            lines += ["", f"## {title}", ""]
            lines += [describe_page(pages, first_page(entry)) for entry in entries]
    return "\n".join([*lines, ""])


def first_page(entry: Any) -> str:
    """The page of an entry, or the first one below it."""
    while not isinstance(entry, str):
        entry = next(iter(entry.values())) if isinstance(entry, dict) else entry[0]
    return entry


def describe_page(pages: Path, page: str) -> str:
    """A link to a page, and its first paragraph."""
    text = (pages / page).read_text()
    return f"- [{read_title(text)}]({page.removesuffix('.md')}.html): {read_lead(text)}"
