"""Docstrings as Markdown."""

import re
from textwrap import dedent

from tools.site.citations import link_citations

EXAMPLE = re.compile(r"^( *)>>> .*?(?=\n[ ]*\n(?! *>>> )|\Z)", re.MULTILINE | re.DOTALL)


def write_docstring(docstring: str) -> str:
    """A docstring with its examples in fences, and with links from its citations.

    >>> print(write_docstring("A sum.\\n\\n>>> 1 + 1\\n2"))
    A sum.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    fenced = EXAMPLE.sub(lambda found: f"```pycon\n{dedent(found[0]).rstrip()}\n```", docstring)
    return link_citations(fenced)
