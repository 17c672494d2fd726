"""Links between files of the repository, as links between pages of the site.

A link whose text is the name of a document says its title instead. What has no page leads to the repository; as long as
no address of it is known, such a link becomes its text, and a picture is left out.
"""

import posixpath
import re
from collections.abc import Callable, Mapping

from tools.site.checkout import FENCE, ROOT, address_of, read_title

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s]+)\)")
ATTRIBUTE = re.compile(r'\b(src|href|srcset)="(?![a-z]+:|#)([^"]+)"')


def rewrite_links(markdown: str, path: str, page: str, pages: Mapping[str, str]) -> str:
    """The text of a file of the repository, as the text of a page; `pages` has the page of each file that has one.

    >>> rewrite_links("[a](../src/a.py), [b](b.md#c)", "docs/x.md", "x.md", {"docs/b.md": "b.md"})
    'a, [b](b.md#c)'
    """

    def there(target: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0]))

    def lead(target: str, picture: bool) -> str:
        to, anchor = pages.get(there(target)), target.partition("#")[2]
        if to is None:
            away = address_of(there(target), picture)
            return away and away + (f"#{anchor}" if anchor else "")
        to, _, place = to.partition("#")
        anchor = anchor or place
        return posixpath.relpath(to, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")

    def link(found: re.Match[str]) -> str:
        picture, said, target = found.groups()
        said, to = LINK.sub(link, said), lead(target, bool(picture))
        if said.strip("`").endswith(".md") and to and (ROOT / there(target)).is_file():
            said = read_title((ROOT / there(target)).read_text())
        return f"{picture}[{said}]({to})" if to else "" if picture else said

    def attribute(found: re.Match[str]) -> str:
        return f'{found[1]}="{lead(found[2], found[1] != "href")}"'

    def rewrite(text: str) -> str:
        return ATTRIBUTE.sub(attribute, LINK.sub(link, text))

    return edit_text(markdown, rewrite)


def edit_text(markdown: str, edit: Callable[[str], str]) -> str:
    """A text whose fenced code stays as it is."""
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [edit(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, edit(markdown[end:])])
