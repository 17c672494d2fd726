"""What is wrong with the built site: links that lead nowhere, and anything that a page would ask another host for."""

import posixpath
import re
from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "area": "href"}  # which a reader follows; all other addresses a browser asks for by itself
ASKED = ("href", "src", "srcset", "poster", "data", "action")
LOADED = ("mermaid", "glightbox", "pyodide")  # classes for which the theme would fetch programs from other hosts
KNOWN = ("arxiv.org", "keepachangelog.com", "semver.org", "www.standardwebhooks.com")
URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """The anchors and the addresses of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.asked: list[str] = []
        self.loaded: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag has."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.loaded += [name for name in given.get("class", "").split() if name in LOADED]
        self.asked += list_urls(given.get("style", ""))
        for name in ASKED:
            if given.get(name):
                values = [part.split()[0] for part in given[name].split(",")] if name == "srcset" else [given[name]]
                (self.links if LINKS.get(tag) == name else self.asked).extend(values)


def list_urls(style: str) -> list[str]:
    """Addresses in a style sheet."""
    return [one or other for one, other in URL.findall(style)]


class Built:
    """A folder of a built site."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Every page, by its path in the folder."""
        files = sorted(self.folder.rglob("*.html"))
        return {path.relative_to(self.folder).as_posix(): Page(path.read_text()) for path in files}

    def faults(self) -> Iterator[str]:
        """A line for each thing that is wrong."""
        for name, page in self.pages.items():
            yield from (f"{name}: the theme would fetch {each} from another host" for each in page.loaded)
            yield from (f"{name}: asks for {each}" for each in page.asked if self.is_away(each))
            for link in [*page.links, *page.asked]:
                if fault := self.fault(name, link):
                    yield f"{name}: {link} {fault}"
        for path in self.folder.rglob("*.css"):
            yield from (f"{path.name}: asks for {each}" for each in list_urls(path.read_text()) if self.is_away(each))

    @staticmethod
    def is_away(address: str) -> bool:
        """Whether an address is on another host."""
        return bool(urlsplit(address).netloc)

    def fault(self, page: str, link: str) -> str:
        """What is wrong with a link; empty if nothing is."""
        parts = urlsplit(link)
        if parts.netloc:
            return "" if parts.netloc in KNOWN else "leads to a host that nobody named"
        if parts.scheme:
            return "" if parts.scheme in ("data", "mailto") else "is no address of a page"
        if parts.path.startswith("/"):
            return "begins at the root of its host, where the site may not be"
        to = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path))) if parts.path else page
        if not any((self.folder / each).is_file() for each in (to, f"{to}/index.html")):
            return "leads to no file"
        anchor = unquote(parts.fragment)
        if anchor and to in self.pages and not anchor.startswith("__") and anchor not in self.pages[to].anchors:
            return "leads to no place on that page"
        return ""
