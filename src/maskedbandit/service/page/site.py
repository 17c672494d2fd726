"""The page over HTTP: who is signed in, what each may do, and which drawing is shown.

Whoever has no session sees simulated studies only. What changes something is a form with the token of its session.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as Path_
from starlette.staticfiles import StaticFiles

from maskedbandit.errors import BehindWitness, Corrupted, MaskedBanditError, Unauthorized
from maskedbandit.service.api.ledger import ledger_of, recomputed, releases_in
from maskedbandit.service.api.studies import MOVES, checked, made
from maskedbandit.service.host.elsewhere import RELAYED
from maskedbandit.service.host.statement import statement
from maskedbandit.service.keys import OWNER, STAFF
from maskedbandit.service.page import render
from maskedbandit.service.page.arms import changed
from maskedbandit.service.page.asked import PLANNED, audit_page, plan_page, plan_table
from maskedbandit.service.page.form import EXAMPLE, as_number, table_of
from maskedbandit.service.page.visit import HEADERS, Handler, Visit, page
from maskedbandit.service.request.events import event_stream
from maskedbandit.service.request.problems import problem
from maskedbandit.service.request.route import held_here
from maskedbandit.service.request.sessions import BEFORE, LENGTH, NAME, end_session, new_session
from maskedbandit.service.shown.describe import visible
from maskedbandit.service.shown.preview import preview
from maskedbandit.service.shown.view import View, summaries
from maskedbandit.statement.content import encoded
from maskedbandit.statement.facts import read_facts
from maskedbandit.statement.page import FOLDER, STYLE, printed


async def home(visit: Visit) -> Response:
    """The only study that these eyes may see, or the list."""
    names = [each.name for each in await seen(visit)]
    if not names and visit.who.key is None:
        return RedirectResponse("/sign-in", 303)
    if len(names) == 1 and visit.who.key is None:
        return RedirectResponse(f"/studies/{names[0]}", 303)
    return await list_all(visit)


async def seen(visit: Visit) -> list[Any]:
    """The studies that these eyes may see."""
    found = await visit.host.read(partial(summaries, witness=visit.host.witness))
    key = visit.who.key
    return [each for each in found if (each.simulated if key is None else key.study in (None, each.name))]


async def list_all(visit: Visit) -> Response:
    """All studies that these eyes may see."""
    return HTMLResponse(render.render_list(await seen(visit), visit.who, visit.csrf))


async def study(visit: Visit) -> Response:
    """A study."""
    return await visit.drawn(render.render_study, await visit.view(), visit.who, visit.csrf)


async def ledger_page(visit: Visit) -> Response:
    """Its ledger."""
    return await visit.drawn(render.render_ledger, await visit.view(), visit.who, visit.csrf)


async def events(visit: Visit) -> Response:
    """What tells a page that is open that something has changed; it needs no entries."""
    await visit.may_see()
    return await event_stream(visit.host, visit.name, 10**14, visit.who.key, visit.address)


def of_statement(show: Callable[[Visit, View], Response]) -> Handler:
    """Something made of the privacy statement, unless the ledger contradicts it."""

    async def answer(visit: Visit) -> Response:
        await visit.may_see()
        try:
            await visit.host.read(partial(read_facts, witness=visit.host.witness, study=visit.name))
            return show(visit, await visit.view())
        except (Corrupted, BehindWitness) as why:
            return refuse_misfit(visit, f"No statement can be made, as this does not fit: {why}")

    return answer


def refuse_misfit(visit: Visit, said: str) -> Response:
    """What does not fit, and nothing of the study, as that may be wrong."""
    return HTMLResponse(render.render_problem("Refused", said, visit.who, visit.csrf), 409)


def statement_page(visit: Visit, view: View) -> Response:
    """The statement, to look at."""
    return HTMLResponse(render.render_statement(view, visit.who, visit.csrf))


def statement_to_print(visit: Visit, view: View) -> Response:
    """The statement as a page of its own."""
    return HTMLResponse(printed(statement(view)), headers=attached(f"{visit.name}-statement.html"))


def statement_as_json(visit: Visit, view: View) -> Response:
    """The statement for programs, the same bytes as the command writes."""
    return Response(encoded(statement(view)), 200, attached(f"{visit.name}-statement.json"), "application/json")


async def style(request: Request) -> Response:
    """The style sheet of statements, which is theirs."""
    return FileResponse(FOLDER / STYLE, media_type="text/css", headers=HEADERS)


class Static(StaticFiles):
    """Files of the page, with the headers of pages."""

    def file_response(self, *given: Any, **more: Any) -> Response:
        """A file, or that it has not changed."""
        found = super().file_response(*given, **more)
        found.headers.update(HEADERS)
        return found


def attached(name: str) -> dict[str, str]:
    """What makes an answer a file."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def download(kind: str, content: Callable[[Visit], Awaitable[Any]]) -> Handler:
    """A file."""

    async def answer(visit: Visit) -> Response:
        await visit.may_see()
        text = msgspec.json.format(msgspec.json.encode(await content(visit)), indent=2)
        return Response(text, headers=attached(f"{visit.name}-{kind}.json"), media_type="application/json")

    return answer


async def releases(visit: Visit) -> Any:
    """All that was released."""
    return await visit.host.read(partial(releases_in, witness=visit.host.witness, name=visit.name))


async def whole_ledger(visit: Visit) -> Any:
    """The ledger, of which the API gives so many entries at once."""
    ask = partial(ledger_of, witness=visit.host.witness, name=visit.name)
    found = await visit.host.read(partial(ask, after=-1))
    while more := (await visit.host.read(partial(ask, after=len(found.entries) - 1))).entries:
        found.entries += more
    return found


async def sign_in_page(visit: Visit) -> Response:
    """The form that asks for a key."""
    fresh = "" if visit.browser else secrets.token_hex(16)
    visit.browser = visit.browser or fresh
    answer = HTMLResponse(render.render_sign_in(visit.csrf))
    if fresh:
        set_cookie(visit, answer, BEFORE, fresh)
    return answer


def set_cookie(visit: Visit, answer: Response, name: str, value: str) -> None:
    """Have the browser keep something, and tell it to no other site and to no script."""
    secure, age = visit.request.url.scheme == "https", LENGTH // 1000
    answer.set_cookie(name, value, max_age=age, httponly=True, samesite="strict", secure=secure)


async def sign_in(visit: Visit) -> Response:
    """Begin a session."""
    host = visit.host

    async def count_stranger() -> None:
        host.strangers.take(visit.address)

    text = visit.values.get("key", "").strip()
    try:
        try:
            key = host.keys.of(text, host.clock())
        except Unauthorized:
            key = await host.find_new_key(text, count_stranger)
        if key.role not in STAFF:
            await count_stranger()
            raise Unauthorized("this is the key of an application")
    except Unauthorized:
        text = "This is not the key of an owner or an officer, or it was revoked."
        return HTMLResponse(render.render_sign_in(visit.csrf, text), 401)
    answer = RedirectResponse("/", 303)
    set_cookie(visit, answer, NAME, new_session(host, key))
    return answer


async def sign_out(visit: Visit) -> Response:
    """End the session."""
    await end_session(visit.host, visit.cookie)
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(NAME, httponly=True, samesite="strict")
    return answer


async def new_page(visit: Visit) -> Response:
    """The form of a new study."""
    visit.allow((OWNER,))
    return HTMLResponse(render.render_new(EXAMPLE, [], [], visit.who, visit.csrf))


async def new_study(visit: Visit) -> Response:
    """Say what a study would mean, or write it down as a draft."""
    visit.allow((OWNER,))
    would: list[tuple[str, str]] = []
    try:
        protocol = checked(await asyncio.to_thread(table_of, visit.values))
        visible(visit.who.key, protocol.name)
        if visit.values.get("do") == "create":
            await made(visit.host, protocol)
            return RedirectResponse(f"/studies/{protocol.name}", 303)
        would = preview(protocol)
        if visit.host.forecast is not None:
            numbers = [as_number(name, visit.values.get(name, "")) for name in PLANNED]
            async with visit.host.forecasting:
                would += await visit.host.forecast(protocol, *numbers)
    except MaskedBanditError as why:
        content = render.render_new(visit.values, [str(why)], would, visit.who, visit.csrf)
        return HTMLResponse(content, problem(why).status)
    return HTMLResponse(render.render_new(visit.values, [], would, visit.who, visit.csrf))


async def verify(visit: Visit) -> Response:
    """Recompute all that is stored of the study, and say what came of it."""
    visit.allow(STAFF)
    visible(visit.who.key, visit.name)
    try:
        found = await recomputed(visit.host, visit.name)
    except (Corrupted, BehindWitness) as why:
        return refuse_misfit(visit, f"This does not fit: {why}")
    notice = (
        f"Everything fits: {found.entries} entries, the newest with hash {found.head[:16]}, as the witness has it; "
        f"{found.releases} releases recomputed; {found.people} people charged, of whom none more than {found.worst}."
    )
    return HTMLResponse(render.render_ledger(await visit.view(), visit.who, visit.csrf, notice))


def moved(verb: str) -> Handler:
    """A form that moves a study to another state."""
    operation, roles, _ = MOVES[verb]

    async def move(visit: Visit) -> Response:
        visit.allow(roles)
        visible(visit.who.key, visit.name)
        held = await held_here(visit.host, visit.name, RELAYED in visit.request.headers)
        await held.do(partial(operation, held.study))
        return RedirectResponse(f"/studies/{visit.name}", 303)

    return move


def routes() -> list[BaseRoute]:
    """All pages."""
    one = "/studies/{study}"
    pages: dict[tuple[str, str], Handler] = {
        ("GET", "/"): home,
        ("GET", "/studies"): list_all,
        ("POST", "/studies"): new_study,
        ("GET", "/new"): new_page,
        ("GET", "/sign-in"): sign_in_page,
        ("POST", "/sign-in"): sign_in,
        ("POST", "/sign-out"): sign_out,
        ("GET", one): study,
        ("GET", f"{one}/events"): events,
        ("GET", f"{one}/ledger"): ledger_page,
        ("GET", f"{one}/statement"): of_statement(statement_page),
        ("GET", f"{one}/statement.html"): of_statement(statement_to_print),
        ("GET", f"{one}/statement.json"): of_statement(statement_as_json),
        ("GET", f"{one}/releases.json"): download("releases", releases),
        ("GET", f"{one}/ledger.json"): download("ledger", whole_ledger),
        ("GET", f"{one}/plan"): plan_page,
        ("POST", f"{one}/plan"): plan_table,
        ("GET", f"{one}/audit"): audit_page,
        ("POST", f"{one}/verify"): verify,
        ("POST", f"{one}/arms"): changed("add", (OWNER,)),
        ("POST", f"{one}/arms/{{arm}}/pause"): changed("pause", STAFF),
        ("POST", f"{one}/arms/{{arm}}/resume"): changed("resume", (OWNER,)),
        **{("POST", f"{one}/{verb}"): moved(verb) for verb in MOVES},
    }
    return [
        *(Path_(path, page(handler), methods=[method]) for (method, path), handler in pages.items()),
        Path_(f"/static/{STYLE}", style, methods=["GET"]),
        Mount("/static", Static(directory=Path(__file__).parent / "static")),
    ]
