"""Links between files of the repository, as links between pages of the site.

What has no page leads to the repository. As long as no address of it is known, such a link becomes its text, and a
picture is left out.
"""

import posixpath
import re
from collections.abc import Mapping

from tools.site.checkout import FENCE, address_of

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s]+)\)")
ATTRIBUTE = re.compile(r'\b(src|href|srcset)="(?![a-z]+:|#)([^"]+)"')


def rewrite_links(markdown: str, path: str, page: str, pages: Mapping[str, str]) -> str:
    """The text of a file of the repository, as the text of a page; `pages` has the page of each file that has one.

    >>> rewrite_links("[a](../src/a.py), [b](b.md#c)", "docs/x.md", "x.md", {"docs/b.md": "b.md"})
    'a, [b](b.md#c)'
    """

    def lead(target: str, picture: bool) -> str:
        file, hash_, anchor = target.partition("#")
        there = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        if there in pages:
            to, _, place = pages[there].partition("#")
            anchor = anchor or place
            return posixpath.relpath(to, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")
        away = address_of(there, picture)
        return f"{away}{hash_}{anchor}" if away else ""

    def link(found: re.Match[str]) -> str:
        picture, said, target = found.groups()
        said = LINK.sub(link, said)
        to = lead(target, bool(picture))
        return f"{picture}[{said}]({to})" if to else "" if picture else said

    def attribute(found: re.Match[str]) -> str:
        return f'{found[1]}="{lead(found[2], found[1] != "href")}"'

    def rewrite(text: str) -> str:
        return ATTRIBUTE.sub(attribute, LINK.sub(link, text))

    return edit_text(markdown, rewrite)


def edit_text(markdown: str, edit) -> str:
    """A text whose fenced code stays as it is."""
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [edit(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, edit(markdown[end:])])
