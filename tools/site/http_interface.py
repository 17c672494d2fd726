"""The page of the HTTP interface: every request of the service and of a helper, from their routes."""

from collections.abc import Iterator
from typing import get_args

from maskedbandit.service.api import list_routes
from maskedbandit.service.helping import list_helper_routes
from maskedbandit.service.request.route import Route

INTRODUCTION = """# The HTTP interface

Every request that the service answers, who may make it, and the fields of its body; the OpenAPI document has their
types and all answers: <a href="openapi.json" download>openapi.json</a>, which a service gives at `/openapi.json`.
How an application and a team use them is said on the pages of [the service](service.md) and of
[a client in another language](another_client.md).
"""


def list_fields(route: Route) -> list[str]:
    """The fields of the body of a request."""
    kinds = get_args(route.body) or (route.body,)
    return list(dict.fromkeys(name for each in kinds for name in getattr(each, "__struct_fields__", ())))


def list_rows(routes: list[Route]) -> Iterator[str]:
    """A table of requests."""
    yield from ("| request | who may make it | fields | what it does |", "|---|---|---|---|")
    for route in routes:
        fields = ", ".join(f"`{name}`" for name in list_fields(route))
        about = " ".join(route.about.partition("\n\n")[0].split())
        yield f"| `{route.method} {route.path}` | {', '.join(route.roles) or 'everybody'} | {fields} | {about} |"


def write_http() -> str:
    """The page."""
    service, helper = list_routes(), list_helper_routes()
    known = {(route.method, route.path) for route in service}
    lines = [INTRODUCTION, "## The service", "", *list_rows(service), "", "## A helper", ""]
    lines += ["The helper of a study of two operators answers its leader:", ""]
    own = [route for route in helper if (route.method, route.path) not in known]
    return "\n".join([*lines, *list_rows(own), ""])
