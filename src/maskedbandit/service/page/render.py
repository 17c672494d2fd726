"""The pages, as functions from what may be shown to HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from maskedbandit.service.odds import best_guess, in_hundred
from maskedbandit.service.page import charts, sentences, words
from maskedbandit.service.view import View

PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.globals |= {"words": words, "charts": charts, "says": sentences}
PAGES.globals |= {"best_guess": best_guess, "in_hundred": in_hundred}


class Who(Protocol):
    """Who looks at the page: an owner, an officer, or somebody without a session."""

    @property
    def role(self) -> str | None:
        """owner, officer, or None."""


def _page(template: str, **given: Any) -> str:
    return PAGES.get_template(template).render(**given)


def render_study(view: View, who: Who, csrf: str) -> str:
    """The page of a study."""
    return _page("study.html", view=view, who=who, csrf=csrf)
