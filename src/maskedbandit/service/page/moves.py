"""How owners and officers change studies on the page: their states, the approval of a draft, and their arms.

What cannot be undone is asked first, on a page of its own that says what will happen. It shows the protocol that is
started or approved, and its form has the hash: no other protocol is.
"""

import json
from collections.abc import Callable
from typing import Any

from starlette.responses import RedirectResponse, Response

from maskedbandit.errors import InvalidValue
from maskedbandit.service.host.elsewhere import RELAYED
from maskedbandit.service.keys import OFFICER, OWNER
from maskedbandit.service.page.form import read_form_payload
from maskedbandit.service.page.visit import Handler, Visit
from maskedbandit.service.request.holders import find_writer
from maskedbandit.service.views.describe import check_visible
from maskedbandit.service.views.moves import ask_move
from maskedbandit.study.toml_text import write_toml


def show_question(verb: str, roles: tuple[str, ...]) -> Handler:
    """What a move will do, and a button that makes it."""

    async def answer(visit: Visit) -> Response:
        visit.allow(roles)
        view = await visit.view()
        shown = write_shown_protocol(view.protocol.table) if verb in ("start", "approve") else ""
        question = ask_move(view, verb)
        return await visit.show("question", view=view, verb=verb, question=question, protocol=shown)

    return answer


def write_shown_protocol(table: dict[str, Any]) -> str:
    """A protocol as TOML; as JSON if it has a null, which TOML has not."""
    try:
        return write_toml(table)
    except InvalidValue:
        return json.dumps(table, indent=2)


def submit_state(verb: str, roles: tuple[str, ...]) -> Handler:
    """A form that moves a study to another state."""
    return submit_change(verb, roles, lambda visit: ())


async def submit_start(visit: Visit) -> Response:
    """The form that starts the protocol which it has shown, by its hash."""
    start = submit_change("start", (OWNER,), lambda visit: (False, visit.values.get("looked_at", "")))
    return await start(visit)


async def submit_approval(visit: Visit) -> Response:
    """The form by which an officer approves the protocol that it has shown, by its hash."""
    approve = submit_change("approve", (OFFICER,), lambda visit: (visit.values.get("looked_at", ""),))
    return await approve(visit)


def submit_arms(what: str, roles: tuple[str, ...]) -> Handler:
    """A form that changes the arms of a study."""

    def change(visit: Visit) -> tuple[Any, ...]:
        name = visit.request.path_params.get("arm", visit.values.get("name", "").strip())
        return what, name, read_form_payload(visit.values.get("payload", ""))

    return submit_change("change_arms", roles, change)


def submit_change(verb: str, roles: tuple[str, ...], given: Callable[[Visit], tuple[Any, ...]]) -> Handler:
    """A form that has something done with a study, wherever it is held, and leads back to its page."""

    async def answer(visit: Visit) -> Response:
        visit.allow(roles)
        check_visible(visit.key, visit.name)
        writer = await find_writer(visit.host, visit.name, RELAYED in visit.request.headers)
        await writer.submit(verb, visit.key.key if visit.key else "", *given(visit))
        return RedirectResponse(f"/studies/{visit.name}", 303)

    return answer
