"""The page of references, and links to it from wherever a paper is cited."""

import re
import unicodedata
from collections.abc import Iterator

from tools.site.checkout import ROOT
from tools.site.links import edit_text

BIBLIOGRAPHY = ROOT / "docs" / "references.bib"
KEY = r"[A-Z][A-Za-z+]*\d\d"
CITATION = re.compile(rf"^    .*$|`[^`]*`|(?<!\\)\[({KEY}(?![\w-])[^\[\]]*)\](?!\()", re.MULTILINE)
ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    '"': "\u0308",
    "v": "\u030c",
    "H": "\u030b",
    "c": "\u0327",
}
LETTERS = {
    r"\o": "ø",
    r"\O": "Ø",
    r"\l": "ł",
    r"\L": "Ł",
    r"\ss": "ß",
    r"\i": "ı",
    r"\aa": "å",
    r"\&": "&",
    r"\varepsilon": "ε",
}


def read_bibliography(text: str) -> dict[str, dict[str, str]]:
    """The fields of each entry, by its key."""
    entries = {}
    for entry in re.split(r"^@", text, flags=re.MULTILINE)[1:]:
        key = re.match(r"\w+\{([^,\s]+),", entry)
        assert key, entry
        fields = re.findall(r"^ +(\w+) *= \{(.*?)\},?$", entry, re.MULTILINE | re.DOTALL)
        entries[key[1]] = {name: " ".join(value.split()) for name, value in fields}
    return entries


def plain_text(tex: str) -> str:
    """The text of a field without the commands of TeX.

    >>> plain_text(r"Nicol{\\`o} Cesa-Bianchi, {\\O}stlund, pages 1--2")
    'Nicolò Cesa-Bianchi, Østlund, pages 1–2'
    """

    def accent(found: re.Match[str]) -> str:
        return unicodedata.normalize("NFC", found[2].replace("\\i", "i") + ACCENTS[found[1]])

    tex = re.sub(r"\{?\\([`'^~=\"]|[uvHc](?![a-z]))\s*\{?(\\?\w)\}?\}?", accent, tex)
    for command, letter in LETTERS.items():
        tex = re.sub(re.escape(command) + r"(?![a-z])\s*", letter, tex)
    return tex.replace("--", "–").replace("{", "").replace("}", "").replace("~", " ").replace("$", "")


def describe_entry(fields: dict[str, str]) -> str:
    """An entry as a line of Markdown: who, what, where and when."""
    said = {name: plain_text(value) for name, value in fields.items()}
    authors = [" ".join(reversed(each.split(", ", 1))) for each in said["author"].split(" and ")]
    who = ", ".join(authors[:-1]) + " and " + authors[-1] if len(authors) > 1 else authors[0]
    where = next((said[name] for name in ("journal", "booktitle", "publisher", "institution") if name in said), "")
    volume = said.get("volume", "") and f" {said['volume']}" + (f"({said['number']})" if "number" in said else "")
    pages = said.get("pages", "") and f", pages {said['pages']}"
    line = f"{who}. *{said['title']}*. {where}{volume}{pages}{', ' if where else ''}{said.get('year', '')}."
    if said.get("archiveprefix") == "arXiv":
        line += f" arXiv [{said['eprint']}](https://arxiv.org/abs/{said['eprint']})."
    if "url" in fields:
        line += f" [{fields['url']}]({fields['url']})"
    return f"{line} {said['note']}." if "note" in said else line


def list_cited(text: str) -> Iterator[str]:
    """Keys cited in a text."""
    for found in CITATION.finditer(text):
        for part in (found[1] or "").split(";"):
            if key := re.match(rf"\s*({KEY})(?!\w)", part):
                yield key[1]


def link_citations(markdown: str) -> str:
    """A text whose citations lead to the page of references.

    >>> link_citations("as in [CZ23, Alg. 2; Mir12], but `[CZ23]` is code")
    'as in \\\\[[CZ23, Alg. 2][CZ23]; [Mir12][Mir12]\\\\], but `[CZ23]` is code'
    """

    def link(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0]
        parts = [part.strip() for part in found[1].split(";")]
        keys = [re.match(rf"({KEY})(?!\w)", part) for part in parts]
        if not all(keys):
            return found[0]
        linked = [f"[{' '.join(part.split())}][{key[1]}]" for part, key in zip(parts, keys, strict=True) if key]
        return rf"\[{'; '.join(linked)}\]"

    return edit_text(markdown, lambda text: CITATION.sub(link, text))


def write_references() -> str:
    """The page of references."""
    entries = read_bibliography(BIBLIOGRAPHY.read_text())
    lines = ["# References", "", "Papers are cited by these keys, on the pages, in docstrings and in comments."]
    for key, fields in sorted(entries.items(), key=lambda each: each[0].lower()):
        lines += ["", f"## {key} {{#{key}}}", "", describe_entry(fields)]
    return "\n".join([*lines, ""])
