"""The pages, as functions from what may be shown to HTML; they know nothing of HTTP.

`who` is who looks, `csrf` the token that every form brings back. A page has no styles and no scripts of its own, so it
may be sent with the strictest content security policy.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment

from maskedbandit import words
from maskedbandit.service.host.statement import statement
from maskedbandit.service.page import charts, sentences, tables
from maskedbandit.service.shown import guardrail as guarded
from maskedbandit.service.shown.view import Summary, View
from maskedbandit.statement import sentences as privacy
from maskedbandit.statement.page import environment, shown

MOST_LINES = 1000  # of a ledger on its page


class Who(Protocol):
    """Who looks at the page."""

    @property
    def role(self) -> str | None:
        """owner, officer, or None for somebody without a session."""


def render_list(studies: Sequence[Summary], who: Who, csrf: str) -> str:
    """All studies."""
    return _page("list.html", studies=studies, who=who, csrf=csrf)


def render_study(view: View, who: Who, csrf: str) -> str:
    """The page of a study."""
    return _page("study.html", view=view, who=who, csrf=csrf)


def render_ledger(view: View, who: Who, csrf: str, notice: str = "") -> str:
    """The entries of the ledger of a study, the newest first, and what came of something that was done."""
    return _page("ledger.html", view=view, who=who, csrf=csrf, notice=notice, most=MOST_LINES)


def render_statement(view: View, who: Who, csrf: str) -> str:
    """The privacy statement of a study, to be printed."""
    return _page("statement.html", **shown(statement(view)), who=who, csrf=csrf)


def render_new(
    values: Mapping[str, str],
    problems: Sequence[str],
    preview: Sequence[tuple[str, str]],
    who: Who,
    csrf: str,
) -> str:
    """The form of a new study, as it was filled in, what is wrong with it, and what the study would mean."""
    return _page("new.html", values=values, problems=problems, preview=preview, who=who, csrf=csrf)


def render_trust_plan(
    view: View,
    values: Mapping[str, str],
    problem: str,
    found: tuple[Sequence[str], Sequence[Sequence[str]], str],
    who: Who,
    csrf: str,
) -> str:
    """What a study would take under each trust model, and the form that asks for it."""
    head, rows, about = found
    given = {"view": view, "values": values, "problem": problem, "head": head, "rows": rows, "about": about}
    return _page("trust_plan.html", **given, who=who, csrf=csrf)


def render_audit(view: View, parts: Sequence[Mapping[str, Any]], problem: str, who: Who, csrf: str) -> str:
    """What an audit shows of a study's channels."""
    return _page("audit.html", view=view, parts=parts, problem=problem, who=who, csrf=csrf)


def render_problem(title: str, detail: str, who: Who, csrf: str) -> str:
    """Why something was not done."""
    return _page("problem.html", title=title, detail=detail, who=who, csrf=csrf)


def render_sign_in(csrf: str, problem: str = "") -> str:
    """The form that asks for a key."""
    return _page("sign_in.html", problem=problem, csrf=csrf)


@cache
def _pages() -> Environment:
    parts = {"words": words, "charts": charts, "says": sentences, "privacy": privacy, "rows": tables, "guard": guarded}
    return environment(Path(__file__).parent / "templates", parts)


def _page(template: str, **given: Any) -> str:
    return _pages().get_template(template).render(**given)
