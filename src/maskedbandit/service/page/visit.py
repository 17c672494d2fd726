"""A request for a page: who looks, what the form says, the page that is drawn, and what is answered to the refused."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from maskedbandit import words
from maskedbandit.errors import Forbidden, TooLarge, Unauthorized
from maskedbandit.service.page import (
    arm_order,
    attention,
    charts,
    connect,
    control,
    health,
    metrics,
    operators,
    own_site,
    rounds,
    sentences,
    sites,
    tables,
)
from maskedbandit.service.request.holders import HeldElsewhere
from maskedbandit.service.request.limits import BODY
from maskedbandit.service.request.multipart import read_multipart
from maskedbandit.service.request.route import log_problem, study_name
from maskedbandit.service.request.sessions import find_key, form_token, is_form_token, name_browser
from maskedbandit.service.views.describe import check_visible, read_simulated
from maskedbandit.service.views.status import say_who_asked
from maskedbandit.service.views.view import StudyView
from maskedbandit.statement import sentences as privacy
from maskedbandit.statement.find_trust import find_trust_words
from maskedbandit.statement.page import make_environment

SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": SECURITY_POLICY,
    "Referrer-Policy": "same-origin",  # with less, browsers do not say where the forms of these pages come from
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


Handler = Callable[["Visit"], Awaitable[Response]]


class Visit:
    """A request for a page."""

    def __init__(self, request: Request) -> None:
        self.request, self.host = request, request.app.service_host
        self.cookie = request.headers.get("cookie")
        self.key = find_key(self.host, self.cookie, self.host.clock())  # None: nobody in particular looks
        self.role = self.key.role if self.key else None
        self.browser = name_browser(self.cookie)
        self.body = b""
        if self.key is not None:
            self.host.last_use.note(self.key, "", self.host.clock())

    @property
    def csrf(self) -> str:
        """The token of the forms on this page."""
        return form_token(self.host, self.browser)

    @property
    def address(self) -> str:
        """Where the request comes from."""
        return self.request.client.host if self.request.client else ""

    @property
    def service_address(self) -> str:
        """Where whoever looks reaches the service."""
        return connect.find_address(self.request.url.scheme, self.request.headers.get("host", ""))

    @property
    def name(self) -> str:
        """The study that the path names."""
        return study_name(str(self.request.path_params["study"]))

    @property
    def values(self) -> dict[str, str]:
        """What the form says."""
        kind = self.request.headers.get("content-type", "")
        if kind.startswith("multipart/form-data"):  # with a file
            return read_multipart(kind, self.body)
        return dict(parse_qsl(self.body.decode(errors="replace"), keep_blank_values=True))

    async def may_see(self) -> None:
        """Raise unless the visitor may see the study."""
        check_visible(self.key, self.name)
        if self.key is None and not await self.host.read(partial(read_simulated, name=self.name)):
            raise Unauthorized("sign in to see this")

    async def view(self) -> StudyView:
        """What may be shown of the study."""
        await self.may_see()
        return await self.host.view(self.name)

    async def show(self, page: str, status: int = 200, **given: Any) -> HTMLResponse:
        """A page, which may take a while to draw, while the server goes on."""
        return HTMLResponse(await asyncio.to_thread(render_page, page, self.role, self.csrf, **given), status)

    async def read_form(self) -> None:
        """Read the form, or raise unless it comes from a page of this session."""
        try:
            async for part in self.request.stream():
                self.body += part
                if len(self.body) > BODY:
                    raise TooLarge(f"the form has more than {BODY} bytes")
        except ClientDisconnect:
            raise TooLarge("the form ended before its length") from None
        if not self.from_here():
            raise Forbidden("this form comes from another site")
        if not is_form_token(self.host, self.browser, self.values.get("csrf", "")):
            raise Forbidden("this form is of another session: load the page again")

    def from_here(self) -> bool:
        """Whether the form is of this site, if a browser says where it is from; other programs say nothing."""
        said, scheme = self.request.headers, self.request.url.scheme
        if said.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        schemes = {scheme, "https"}  # a proxy that is not believed may speak TLS
        return "origin" not in said or said["origin"] in {f"{each}://{said.get('host')}" for each in schemes}

    def allow(self, roles: tuple[str, ...]) -> None:
        """Raise unless one of these roles is signed in."""
        if self.key is None:
            raise Unauthorized("sign in to do this")
        if self.role not in roles:
            raise Forbidden(f"only {' or '.join(roles)} may do this")
        self.host.callers.take(self.key.key)


def handle_page(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Answer with a page. A refusal leads to the form that asks for a key, or is explained."""

    async def answer(request: Request) -> Response:
        visit = Visit(request)
        try:
            if visit.key is None:
                visit.host.visitors.take(visit.address)
            if request.method == "POST":
                await visit.read_form()
            try:
                found = await handler(visit)
            except HeldElsewhere as other:
                found = await elsewhere(visit, other)
        except Unauthorized:
            found = RedirectResponse("/sign-in", 303)
        except Exception as why:
            said = log_problem(f"page {request.url.path}", why)
            found = await visit.show("problem", said.status, title=said.title, detail=said.detail)
        found.headers.update(PAGE_HEADERS)
        return found

    return answer


def name_attachment(name: str) -> dict[str, str]:
    """What makes an answer a file of this name."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}


async def elsewhere(visit: Visit, other: HeldElsewhere) -> Response:
    """What the process that holds the study answers to the form."""
    headers = {"cookie": visit.cookie or "", "content-type": "application/x-www-form-urlencoded"}
    found = await other.holder.relay("POST", visit.request.url.path, headers, visit.body)
    kept = {name: found.headers[name] for name in ("location", "content-type") if name in found.headers}
    return Response(found.content, found.status_code, kept)


MOST_LINES = 1000  # of a ledger on its page


def render_page(name: str, role: str | None, csrf: str, **given: Any) -> str:
    """The page of this name, with what its template needs; it may have a `notice`, or a `problem` beside a form."""
    return load_templates().get_template(f"{name}.html").render(**given, role=role, csrf=csrf)


@cache
def load_templates() -> Environment:
    """The templates, compiled, and what they call: a tenth of a second, which is for the start of a server."""
    given: dict[str, Any] = {"words": words, "charts": charts, "sentences": sentences, "tables": tables}
    given |= {
        "operators": operators,
        "sites": sites,
        "rounds": rounds,
        "own_site": own_site,
        "health": health,
        "arm_order": arm_order,
        "sort": "",
    }
    given |= {
        "control": control,
        "attention": attention,
        "metrics": metrics,
        "find_trust_words": find_trust_words,
        "say_who_asked": say_who_asked,
        "connect": connect,
        "address": connect.ANY_ADDRESS,
    }
    given |= {"privacy": privacy, "most": MOST_LINES, "notice": "", "problem": ""}
    made = make_environment(Path(__file__).parent / "templates", given)
    for each in made.list_templates():
        made.get_template(each)
    return made
