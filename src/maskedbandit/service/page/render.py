"""The pages, from what may be shown to HTML; nothing here knows of HTTP.

`role` is that of whoever looks, none without a session, and `csrf` the token that every form brings back. A page has no
styles and no scripts of its own, so it may be sent with the strictest content security policy.
"""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from maskedbandit import words
from maskedbandit.service.page import charts, sentences, tables
from maskedbandit.service.page.form import CHOICES
from maskedbandit.statement import sentences as privacy
from maskedbandit.statement.page import make_environment

MOST_LINES = 1000  # of a ledger on its page


def render_page(name: str, role: str | None, csrf: str, **given: Any) -> str:
    """The page of this name, with what its template needs; it may have a `notice`, or a `problem` beside a form."""
    return load_templates().get_template(f"{name}.html").render(**given, role=role, csrf=csrf)


@cache
def load_templates() -> Environment:
    """The templates, and what they call."""
    given: dict[str, Any] = {"words": words, "charts": charts, "sentences": sentences, "tables": tables}
    given |= {"privacy": privacy, "most": MOST_LINES, "notice": "", "problem": "", "choices": CHOICES}
    return make_environment(Path(__file__).parent / "templates", given)
