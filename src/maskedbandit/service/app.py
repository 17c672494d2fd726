"""The application: all routes of the service and the page, over the studies of a host."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.routing import Route as Path
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from maskedbandit.service.api import list_routes
from maskedbandit.service.helping import list_helper_routes
from maskedbandit.service.host.helper import HelperHost, ShufflerHost
from maskedbandit.service.host.host import Host
from maskedbandit.service.host.site import SiteHost
from maskedbandit.service.page.site import list_pages
from maskedbandit.service.page.visit import PAGE_HEADERS, load_templates
from maskedbandit.service.request.cross_origin import allow_origin, answer_preflight
from maskedbandit.service.request.problems import make_problem
from maskedbandit.service.request.route import PROBLEM, Route, encode_answer
from maskedbandit.service.shuffling import list_shuffler_routes
from maskedbandit.service.sites import list_site_routes
from maskedbandit.service.sites.pages import list_site_pages

STUDIES_PATH = "/v1/studies/"
AnyHost = Host | HelperHost | ShufflerHost | SiteHost
ROUTES_OF_ROLES = {
    Host.role: list_routes,
    HelperHost.role: list_helper_routes,
    ShufflerHost.role: list_shuffler_routes,
    SiteHost.role: list_site_routes,
}
PAGES_OF_ROLES = {Host.role: list_pages, SiteHost.role: list_site_pages}
CODES_BY_STATUS = {404: "not_found", 405: "method_not_allowed"}


class Application(Starlette):
    """An application in which what is asked of one study goes straight to its route: clients ask nothing else.

    There the key tells who asks; elsewhere a proxy may.
    """

    service_host: AnyHost
    straight: Mapping[tuple[str, str], Route]

    def __init__(self, proxies: Sequence[str], **given: Any) -> None:
        super().__init__(**given)
        self.router.redirect_slashes = False  # to where the `Host` of the request says
        all_routes: Any = super().__call__
        self.proxied = ProxyHeadersMiddleware(all_routes, list(proxies))
        self.told = ProxyHeadersMiddleware(answer_nothing, list(proxies))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["path"].startswith(STUDIES_PATH):
            name, _, rest = scope["path"][len(STUDIES_PATH) :].partition("/")
            if (route := self.straight.get((scope["method"], rest))) is not None:
                scope["app"], scope["path_params"] = self, {"study": name}
                await route(scope, receive, send)
                return
            if scope["method"] == "OPTIONS" and (route := self.straight.get(("POST", rest))) is not None:
                allowed = allow_origin(self.service_host, name, dict(scope["headers"])) if route.from_pages else ()
                if allowed:
                    await answer_preflight(allowed, send)
                    return
        await self.proxied(scope, receive, send)

    async def asking(self, scope: Any, receive: Any, send: Any) -> str:
        """The address of whoever asks."""
        await self.told(scope, receive, send)
        return str((scope.get("client") or ("",))[0])


async def answer_nothing(*request: Any) -> None:
    """Answer nothing, where only the address of whoever asks is wanted."""


@cache
def list_routes_of_role(role: str) -> tuple[Route, ...]:
    """What servers of a role answer to programs."""
    return tuple(ROUTES_OF_ROLES[role]())


@cache
def list_paths_of_role(role: str) -> tuple[BaseRoute, ...]:
    """The same and their pages, as Starlette finds them: made once, however many applications a process has."""
    found = [Path(route.path, route, methods=[route.method]) for route in list_routes_of_role(role)]
    return *found, *(PAGES_OF_ROLES[role]() if role in PAGES_OF_ROLES else ())


def make_application(
    host: AnyHost, companions: Sequence[Callable[[Any], Awaitable[None]]] = (), proxies: Sequence[str] = ()
) -> Starlette:
    """The application of a host; companions run as long as it does. What proxies at these addresses say is believed."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if host.role in PAGES_OF_ROLES:
            await asyncio.to_thread(load_templates)  # before anybody waits for a page
        await host.start()
        tasks = [asyncio.ensure_future(each(host)) for each in companions]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await host.stop()

    app = Application(
        proxies,
        routes=list_paths_of_role(host.role),
        lifespan=lifespan,
        exception_handlers={HTTPException: answer_unknown},
    )
    app.service_host = host
    one, routes = STUDIES_PATH + "{study}/", list_routes_of_role(host.role)
    app.straight = {(each.method, each.path[len(one) :]): each for each in routes if each.path.startswith(one)}
    return app


async def answer_unknown(request: Request, why: Any) -> Response:
    """There is no such path, or it has no such method."""
    said = make_problem(why.status_code, CODES_BY_STATUS.get(why.status_code, "bad_request"), str(why.detail))
    headers = {**PAGE_HEADERS, **(why.headers or {})}
    if why.status_code == 405:  # several routes may have this path
        here = [each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE]
        here = [each for each in here if getattr(each, "path", "") == request.url.path] or here
        headers |= {"Allow": ", ".join(sorted({method for each in here for method in getattr(each, "methods", ())}))}
    return Response(encode_answer(said), why.status_code, headers, PROBLEM.decode())
