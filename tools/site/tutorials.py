"""Tutorials as files that a reader takes away and opens as notebooks."""

import base64
import mimetypes
import re
from pathlib import Path

from tools.site.checkout import ROOT
from tools.site.links import edit_text, rewrite_links

PICTURE = re.compile(r"(!\[[^\]]*\])\(([^):]+)\)")


def is_tutorial(file: str) -> bool:
    """Whether a document can be opened as a notebook."""
    return file.startswith("docs/tutorials/")


def offer_file(file: str, text: str) -> str:
    """The text of a document, and of a tutorial a link to its file before the second heading."""
    if not is_tutorial(file):
        return text
    link = f'<a href="{Path(file).name}" download>{Path(file).name}</a>'
    return text.replace("\n## ", f"\nThe file of this page: {link}.\n\n## ", 1)


def write_file(file: str, text: str) -> str:
    """The text of a tutorial that stands alone in a folder: pictures are in it, and no link leads to another page."""

    def embed(found: re.Match[str]) -> str:
        picture = ROOT / Path(file).parent / found[2]
        content = base64.b64encode(picture.read_bytes()).decode()
        return f"{found[1]}(data:{mimetypes.guess_type(picture)[0]};base64,{content})"

    return rewrite_links(edit_text(text, lambda part: PICTURE.sub(embed, part)), file, Path(file).name, {})
