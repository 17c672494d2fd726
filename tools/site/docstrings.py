"""Docstrings as Markdown."""

import re
from textwrap import dedent

from tools.site.checkout import ROOT, read_title
from tools.site.citations import link_citations
from tools.site.formulas import set_formulas
from tools.site.links import edit_text
from tools.site.modules import PATH, find_module, list_places

DOCUMENT = re.compile(r"^    .*$|`[^`]*`|\bdocs/(\w+\.md)(?![^\[\]]*\]\[)", re.MULTILINE)
STAR = re.compile(r"^    .*$|`[^`]*`|(?<![\w*])(\w{1,2}\*)(?!\*)", re.MULTILINE)  # of a name such as T* or μ*
LIST = re.compile(r"^(?!\* |$)(.+)\n(?=\* )", re.MULTILINE)  # which needs an empty line before it
EXAMPLE = re.compile(r"^( *)>>> .*?(?=\n[ ]*\n(?! *>>> )|\Z)", re.MULTILINE | re.DOTALL)


def write_docstring(docstring: str, module: str) -> str:
    """A docstring of a module with its examples in fences, and with links to the papers and the files that it names.

    >>> write_docstring("A sum.\\n\\n>>> 1 + 1\\n2", "maskedbandit")
    'A sum.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    >>> print(write_docstring("w*, *not* at T*_KL.", "maskedbandit"))
    w\\*, *not* at T\\*<sub>KL</sub>.
    """
    fenced = EXAMPLE.sub(lambda found: f"```pycon\n{dedent(found[0]).rstrip()}\n```", docstring)
    cited = link_citations(LIST.sub(r"\1\n\n", fenced))

    def link_path(found: re.Match[str]) -> str:
        place = list_places().get(find_module(found[1], module)) if found[1] else None
        return f"[`{found[1]}`](../{place})" if place else found[0]

    def edit(text: str) -> str:
        return set_formulas(STAR.sub(escape_star, PATH.sub(link_path, DOCUMENT.sub(link_document, text))))

    return edit_text(cited, edit)


def escape_star(found: re.Match[str]) -> str:
    """A sign that Markdown would take for the beginning or the end of an emphasis."""
    return f"{found[1][:-1]}\\*" if found[1] else found[0]


def link_document(found: re.Match[str]) -> str:
    """A link to a document that a docstring names: all pages with docstrings are in a folder beside the documents."""
    if not found[1]:
        return found[0]
    return f"[{read_title((ROOT / found[0]).read_text())}](../{found[1]})"
