"""The statement as a page: a file of its own, to be printed on one sheet, and the same for the page of the service."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from maskedbandit.privacy.odds import in_hundred
from maskedbandit.statement.content import Points, Statement, digest_statement
from maskedbandit.statement.trust_picture import STATIONS, trust_picture

TEMPLATE_FOLDER = Path(__file__).parent / "templates"
STATEMENT_STYLE = "statement.css"
POINT_NAMES = {  # of the points, as the page calls them; what is said elsewhere on it is not said twice
    "definition": "Kind of privacy",
    "parameters": "ε and δ",
    "unit": "Unit of privacy",
    "neighbours": "Neighbours",
    "contribution": "Bound on a contribution",
    "mechanism": "Mechanism",
    "composition": "Composition",
    "budget": "Budget",
    "post_processing": "Post-processing",
    "query_model": "Query model",
    "data_collection": "Data collection",
    "access": "Access and security",
    "numerics": "Floating point",
    "randomness": "Random numbers",
    "timing": "Timing and side channels",
    "utility": "Utility",
    "bias": "Bias",
    "choices": "How ε was chosen",
    "testing": "Testing",
}


def fill_statement(said: Statement) -> dict[str, Any]:
    """What the templates need."""
    values = {name: str(getattr(said.points, name)) for name in Points.__struct_fields__}
    channels = {each.channel: each for each in said.promises}
    return {
        "said": said,
        "points": [(POINT_NAMES[name], values[name]) for name in POINT_NAMES],
        "pictures": [trust_picture(each) for each in trusts(said)],
        "needs": list(channels.values()),
        "tested": [(each.claim, by_file(each.tests)) for each in said.evidence.tested],
        "digest": digest_statement(said),
        "in_hundred": in_hundred,
    }


def by_file(tests: Sequence[str]) -> list[str]:
    """The names of tests, with that of each file once.

    >>> by_file(["tests/audit/test_a.py::test_one", "tests/audit/test_a.py::test_two"])
    ['audit/test_a: test_one, test_two']
    """
    files: dict[str, list[str]] = {}
    for each in tests:
        file, _, name = each.removeprefix("tests/").partition(".py::")
        files.setdefault(file, []).append(name.replace("::", "."))
    return [f"{file}: {', '.join(names)}" for file, names in files.items()]


def trusts(said: Statement) -> list[str]:
    """The trust models in it, in the order in which they come."""
    found = dict.fromkeys("none" if each.trust == "no privacy" else each.trust for each in said.promises)
    return [each for each in found if each in STATIONS]


def print_statement(said: Statement) -> str:
    """A page that needs no other file."""
    style = Markup((TEMPLATE_FOLDER / STATEMENT_STYLE).read_text())
    return pages().get_template("statement_printed.html").render(style=style, **fill_statement(said))


@cache
def pages() -> Environment:
    """The templates."""
    return make_environment(TEMPLATE_FOLDER, {})


def make_environment(folder: Path, given: Mapping[str, Any]) -> Environment:
    """Templates of a folder, which may include the statement."""
    found = Environment(
        loader=FileSystemLoader([folder, TEMPLATE_FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.globals |= given
    return found
