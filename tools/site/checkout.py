"""What the site is made from: this checkout, its version, and the address of its repository, if one is known."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION: str = PROJECT["version"]
ADDRESS: str = PROJECT.get("urls", {}).get("Source", "").rstrip("/")

AT_THE_ROOT = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
FENCE = re.compile(r"^(```+)\w*.*?^\1$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINKED = re.compile(r"\[((?:\\.|[^\]])*)\](?:\([^)]*\)|\[[^\]]*\])")


def address_of(path: str, raw: bool = False) -> str:
    """Where a file of this version is in the repository; empty as long as no address is known."""
    return f"{ADDRESS}/{'raw' if raw else 'blob'}/v{VERSION}/{path}" if ADDRESS else ""


def read_title(markdown: str) -> str:
    """The first heading of a page.

    >>> read_title("# Add a *policy*\\n\\nText.")
    'Add a policy'
    """
    found = re.search(r"^# (.+)$", markdown, re.MULTILINE)
    return re.sub(r"[*`]", "", found[1]) if found else ""


def read_lead(markdown: str) -> str:
    """The first paragraph of a page that is text, on one line and without links.

    >>> read_lead("# A page\\n\\n![A picture](x.svg)\\n\\nIt says\\n[this](x.md).\\n\\nMore.")
    'It says this.'
    """
    for paragraph in FENCE.sub("", markdown).split("\n\n"):
        text = LINKED.sub(r"\1", PICTURE.sub("", paragraph)).replace("\\[", "[").replace("\\]", "]").strip()
        if text and not re.match(r"#|\||<|    |---|\*\*Guar|- ", text) and not paragraph.startswith("    "):
            return " ".join(text.split())
    return ""


def list_documents() -> dict[str, str]:
    """The text of every document of the repository that is a page."""
    docs = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    return {name: (ROOT / name).read_text() for name in [*AT_THE_ROOT, *docs]}
