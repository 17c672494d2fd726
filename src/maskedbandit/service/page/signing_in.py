"""Pages that every server with pages has: signing in and out, the words that are used, and files.

Whoever signs in has a session, by a cookie. The key of an application begins none.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as Path_
from starlette.staticfiles import StaticFiles

from maskedbandit.errors import Unauthorized
from maskedbandit.service.keys import STAFF
from maskedbandit.service.page.glossary import OWN_WORDS, WORDS_OF_OTHERS
from maskedbandit.service.page.visit import PAGE_HEADERS, Handler, Visit, handle_page
from maskedbandit.service.request.sessions import BEFORE, COOKIE_NAME, SESSION_LENGTH, end_session, new_session


async def show_glossary(visit: Visit) -> Response:
    """What the words of all pages mean, and what others call the same."""
    return await visit.show("glossary", words_of_others=WORDS_OF_OTHERS, own_words=OWN_WORDS)


class Static(StaticFiles):
    """Files of the page, with the headers of pages."""

    def file_response(self, *given: Any, **more: Any) -> Response:
        """Answer with a file, or that it has not changed."""
        found = super().file_response(*given, **more)
        found.headers.update(PAGE_HEADERS)
        return found


async def sign_in_page(visit: Visit) -> Response:
    """The form that asks for a key."""
    fresh = "" if visit.browser else secrets.token_hex(16)
    visit.browser = visit.browser or fresh
    answer = await visit.show("sign_in")
    if fresh:
        set_cookie(visit, answer, BEFORE, fresh)
    return answer


def set_cookie(visit: Visit, answer: Response, name: str, value: str) -> None:
    """Have the browser keep something, and tell it to no other site and to no script."""
    secure, age = visit.request.url.scheme == "https", SESSION_LENGTH // 1000
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
        return await visit.show("sign_in", 401, problem=text)
    answer = RedirectResponse("/", 303)
    set_cookie(visit, answer, COOKIE_NAME, new_session(host, key))
    return answer


async def sign_out(visit: Visit) -> Response:
    """End the session."""
    await end_session(visit.host, visit.cookie)
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(COOKIE_NAME, httponly=True, samesite="strict")
    return answer


def route_pages(pages: Mapping[tuple[str, str], Handler]) -> list[BaseRoute]:
    """The routes of pages, by method and path."""
    return [Path_(path, handle_page(handler), methods=[method]) for (method, path), handler in pages.items()]


def list_common_pages() -> list[BaseRoute]:
    """The pages that are the same on every server."""
    pages: dict[tuple[str, str], Handler] = {
        ("GET", "/glossary"): show_glossary,
        ("GET", "/sign-in"): sign_in_page,
        ("POST", "/sign-in"): sign_in,
        ("POST", "/sign-out"): sign_out,
    }
    return [*route_pages(pages), Mount("/static", Static(directory=Path(__file__).parent / "static"))]
