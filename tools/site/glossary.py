"""The glossary as a page of its own, where every term has an address."""

import re

from tools.site.checkout import ROOT

FILE = "docs/concepts.md"


def read_terms(text: str) -> dict[str, str]:
    """Terms and their meanings, from the table under the heading of that name."""
    table = text.partition("## Glossary")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", table, re.MULTILINE)
    return {term: meaning for term, meaning in rows if term != "term"}


def write_glossary() -> str:
    """The page, as if it stood beside the table."""
    lines = ["# Glossary", "", "The pages, the docstrings and the errors use these words, each with one meaning.", ""]
    for term, meaning in sorted(read_terms((ROOT / FILE).read_text()).items(), key=lambda each: each[0].lower()):
        anchor = re.sub(r"\W+", "-", term.lower()).strip("-")
        lines += [f"**{term}**{{#{anchor}}}", f":   {meaning}", ""]
    return "\n".join(lines)
