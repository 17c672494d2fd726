"""The page over HTTP: who is signed in, what each may do, and which drawing is shown.

Whoever has no session sees simulated studies only. What changes something is a form with the token of its session.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute
from starlette.routing import Route as Path_

from maskedbandit.errors import BehindWitness, Corrupted
from maskedbandit.service.api.ledger import read_ledger, read_released
from maskedbandit.service.api.studies import MOVES
from maskedbandit.service.keys import OFFICER, OWNER, STAFF
from maskedbandit.service.page.arm_order import choose_sort
from maskedbandit.service.page.drafts import (
    download_toml,
    show_copy_form,
    show_draft_form,
    show_new_form,
    submit_draft,
    submit_new_form,
)
from maskedbandit.service.page.keys import show_keys, submit_keys
from maskedbandit.service.page.moves import show_question, submit_approval, submit_arms, submit_start, submit_state
from maskedbandit.service.page.signing_in import list_common_pages, route_pages
from maskedbandit.service.page.staff import show_audit, show_plan, show_verification
from maskedbandit.service.page.study_list import list_seen_studies, show_studies
from maskedbandit.service.page.visit import PAGE_HEADERS, Handler, Visit, name_attachment
from maskedbandit.service.page.webhooks import show_webhooks, submit_webhook
from maskedbandit.service.request.events import event_stream
from maskedbandit.service.views.releases_csv import write_csv
from maskedbandit.statement.content import Statement, encode_statement
from maskedbandit.statement.facts import read_facts
from maskedbandit.statement.page import STATEMENT_STYLE, TEMPLATE_FOLDER, fill_statement, print_statement


async def home(visit: Visit) -> Response:
    """Show the only study that the visitor may see, or the list of studies."""
    names = [each.name for each in await list_seen_studies(visit)]
    if not names and visit.key is None:
        return RedirectResponse("/sign-in", 303)
    if len(names) == 1 and visit.key is None:
        return RedirectResponse(f"/studies/{names[0]}", 303)
    return await show_studies(visit)


async def study(visit: Visit) -> Response:
    """Show the page of a study."""
    sort = choose_sort(visit.request.query_params.get("sort", ""))
    return await visit.show("study", view=await visit.view(), sort=sort, address=visit.service_address)


async def ledger_page(visit: Visit) -> Response:
    """Show the ledger of a study."""
    return await visit.show("ledger", view=await visit.view())


async def stream_page_events(visit: Visit) -> Response:
    """Stream the events that tell an open page of a change. The page needs no entries of the ledger."""
    await visit.may_see()
    return await event_stream(visit.host, visit.name, 10**14, visit.key, visit.address)


def of_statement(show: Callable[[Visit, Statement], Awaitable[Response]]) -> Handler:
    """Answer with something made of the privacy statement, unless the ledger contradicts the statement."""

    async def answer(visit: Visit) -> Response:
        await visit.may_see()
        try:
            await visit.host.read(partial(read_facts, witness=visit.host.witness, study=visit.name))
            return await show(visit, (await visit.view()).statement)
        except (Corrupted, BehindWitness) as why:
            said = f"No statement can be made, as this does not fit: {why}"
            return await visit.show("problem", 409, title="Refused", detail=said)

    return answer


async def statement_page(visit: Visit, said: Statement) -> Response:
    """Show the privacy statement in the browser."""
    return await visit.show("statement", **fill_statement(said))


async def statement_to_print(visit: Visit, said: Statement) -> Response:
    """Show the statement as a page of its own, to be printed."""
    return HTMLResponse(print_statement(said), headers=name_attachment(f"{visit.name}-statement.html"))


async def statement_as_json(visit: Visit, said: Statement) -> Response:
    """The statement for programs, the same bytes as the command writes."""
    return Response(encode_statement(said), 200, name_attachment(f"{visit.name}-statement.json"), "application/json")


def download(kind: str, content: Callable[[Visit], Awaitable[Any]]) -> Handler:
    """A file."""

    async def answer(visit: Visit) -> Response:
        await visit.may_see()
        text = msgspec.json.format(msgspec.json.encode(await content(visit)), indent=2)
        return Response(text, headers=name_attachment(f"{visit.name}-{kind}.json"), media_type="application/json")

    return answer


async def read_all_releases(visit: Visit) -> Any:
    """All that was released."""
    return await visit.host.read(partial(read_released, witness=visit.host.witness, name=visit.name))


async def releases_as_csv(visit: Visit) -> Response:
    """All that was released, for spreadsheets and data frames."""
    await visit.may_see()
    text = write_csv(await read_all_releases(visit))
    return Response(text, headers=name_attachment(f"{visit.name}-releases.csv"), media_type="text/csv")


async def whole_ledger(visit: Visit) -> Any:
    """The ledger, of which the API gives so many entries at once."""
    ask = partial(read_ledger, witness=visit.host.witness, name=visit.name)
    found = await visit.host.read(partial(ask, after=-1))
    while more := (await visit.host.read(partial(ask, after=len(found.entries) - 1))).entries:
        found.entries += more
    return found


async def person_page(visit: Visit) -> Response:
    """What a person asks about, whom the address names behind its #: that is for the script of the page alone."""
    return await visit.show("person")


async def style(request: Request) -> Response:
    """The style sheet of statements, which is theirs."""
    return FileResponse(TEMPLATE_FOLDER / STATEMENT_STYLE, media_type="text/css", headers=PAGE_HEADERS)


def list_pages() -> list[BaseRoute]:
    """All pages."""
    one = "/studies/{study}"
    pages: dict[tuple[str, str], Handler] = {
        ("GET", "/"): home,
        ("GET", "/studies"): show_studies,
        ("POST", "/studies"): submit_new_form,
        ("GET", "/new"): show_new_form,
        ("GET", "/person"): person_page,
        ("GET", "/keys"): show_keys,
        ("POST", "/keys"): submit_keys,
        ("GET", "/webhooks"): show_webhooks,
        ("POST", "/webhooks"): submit_webhook,
        ("GET", one): study,
        ("GET", f"{one}/events"): stream_page_events,
        ("GET", f"{one}/ledger"): ledger_page,
        ("GET", f"{one}/statement"): of_statement(statement_page),
        ("GET", f"{one}/statement.html"): of_statement(statement_to_print),
        ("GET", f"{one}/statement.json"): of_statement(statement_as_json),
        ("GET", f"{one}/releases.json"): download("releases", read_all_releases),
        ("GET", f"{one}/releases.csv"): releases_as_csv,
        ("GET", f"{one}/ledger.json"): download("ledger", whole_ledger),
        ("GET", f"{one}/protocol.toml"): download_toml,
        ("GET", f"{one}/copy"): show_copy_form,
        ("GET", f"{one}/draft"): show_draft_form,
        ("POST", f"{one}/draft"): submit_draft,
        ("GET", f"{one}/keys"): show_keys,
        ("POST", f"{one}/keys"): submit_keys,
        ("GET", f"{one}/plan"): show_plan,
        ("POST", f"{one}/plan"): show_plan,
        ("GET", f"{one}/audit"): show_audit,
        ("POST", f"{one}/verify"): show_verification,
        ("POST", f"{one}/arms"): submit_arms("add", (OWNER,)),
        ("POST", f"{one}/arms/{{arm}}/pause"): submit_arms("pause", STAFF),
        ("POST", f"{one}/arms/{{arm}}/resume"): submit_arms("resume", (OWNER,)),
        **{("POST", f"{one}/{verb}"): submit_state(verb, roles) for verb, (roles, _) in MOVES.items()},
        ("POST", f"{one}/start"): submit_start,
        ("POST", f"{one}/approve"): submit_approval,
        ("GET", f"{one}/approve"): show_question("approve", (OFFICER,)),
        **{("GET", f"{one}/{verb}"): show_question(verb, MOVES[verb][0]) for verb in ("start", "stop", "archive")},
    }
    return [*route_pages(pages), Path_(f"/static/{STATEMENT_STYLE}", style, methods=["GET"]), *list_common_pages()]
