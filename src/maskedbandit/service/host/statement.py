"""The privacy statement of a study that is served, from all that may be shown of it."""

from maskedbandit.service.shown.view import View
from maskedbandit.statement.content import Statement
from maskedbandit.statement.study import study_statement


def statement(view: View) -> Statement:
    """The privacy statement of a study."""
    return study_statement(view.protocol, view.facts, view.key, view.kept_in)
