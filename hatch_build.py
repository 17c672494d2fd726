"""The README as a package index shows it, where links into the repository lead nowhere.

With `Source = "https://..."` under [project.urls], the page of the repository, they are made to lead there. As long as
no address is known, links become their text, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)")


def for_an_index(text: str, source: str, version: str) -> str:
    """The text with absolute links, to the files of this version."""

    def link(found: re.Match[str]) -> str:
        picture, said, target = found.groups()
        if not source:
            return "" if picture else said
        return f"{picture}[{said}]({source.rstrip('/')}/{'raw' if picture else 'blob'}/v{version}/{target})"

    return re.sub(r"\n{3,}", "\n\n", LINK.sub(link, text))


class Readme(MetadataHookInterface):
    """The field `readme` of the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        source = metadata.get("urls", {}).get("Source", "")
        text = for_an_index((Path(self.root) / "README.md").read_text(), source, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
