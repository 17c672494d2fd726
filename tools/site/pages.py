"""Every page of the site that is a file of the repository, and every page that is written."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tools.site.checkout import PAGES, ROOT
from tools.site.citations import link_citations, write_references
from tools.site.links import rewrite_links

AT_THE_ROOT = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}


def copied_pages() -> dict[str, str]:
    """The page of each file of the repository that is one as it stands."""
    docs = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "docs").rglob("*") if path.is_file()}
    return AT_THE_ROOT | {name: name.removeprefix("docs/") for name in docs if not name.endswith(".bib")}


def write_pages() -> None:
    """Write all of them."""
    shutil.rmtree(PAGES, ignore_errors=True)
    pages = copied_pages()
    for file, page in pages.items():
        to = PAGES / page
        to.parent.mkdir(parents=True, exist_ok=True)
        if page.endswith(".md"):
            to.write_text(link_citations(rewrite_links((ROOT / file).read_text(), file, page, pages)))
        else:
            shutil.copyfile(ROOT / file, to)
    (PAGES / "references.md").write_text(write_references())
    shutil.copyfile(Path(__file__).with_name("site.css"), PAGES / "site.css")
