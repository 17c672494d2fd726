"""The OpenAPI document, generated from the routes and the types of their bodies."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from maskedbandit import __version__
from maskedbandit.service.messages import Problem
from maskedbandit.service.request.problems import TITLES
from maskedbandit.service.request.protocol_schema import write_protocol_schemas
from maskedbandit.service.request.route import Route

PARAMETERS = {
    "study": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"},
    "arm": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"},
    "cohort": {"type": "integer", "minimum": 0},
    "key": {"type": "string", "pattern": "^[0-9a-f]{8}$"},
    "webhook": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
}
QUERIES = {"ledger": ["after"], "events": ["after"], "start": ["simulated"], "stop": ["without_helper"]}
WHOLE = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}

LOOKED_AT = {
    "name": "If-Match",
    "in": "header",
    "required": True,
    "schema": {"type": "string", "pattern": '^"?[0-9a-f]{64}"?$'},
    "description": "the hash of the protocol that was looked at, as the study has it",
}


def write_openapi(routes: Sequence[Route]) -> dict[str, Any]:
    """The document of these routes.

    >>> from maskedbandit.service.api import list_routes
    >>> write_openapi(list_routes())["paths"]["/healthz"]["get"]["summary"]
    'Whether the server answers.'
    """
    types = {
        each for route in routes for each in (route.body, route.answer, route.fault) if each not in (None, Any, dict)
    }
    types = {each for each in types if not isinstance(each, str)} | {Problem}
    ordered = sorted(types, key=str)
    schemas, components = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    schema = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = describe_route(route, schema)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Masked Bandit",
            "version": __version__,
            "description": "Adaptive studies with privacy.",
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The service that has this document."}],
        "paths": paths,
        "components": {
            "schemas": components | write_protocol_schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def describe_route(route: Route, schema: dict[Any, Any]) -> dict[str, Any]:
    """A method of a path."""
    statuses = {431, *route.refusals}  # 431: whose head is too large is heard by no route
    if route.roles:
        statuses |= {401, 403, 429}
    if route.method != "GET":
        statuses |= {413}
    if route.body is not None or "{key}" in route.path:
        statuses |= {422}
    if route.path not in ("/healthz", "/openapi.json"):
        statuses |= {503}
    kind = route.answer if isinstance(route.answer, str) else "application/json"
    right: dict[str, Any] = {"type": "string"} if isinstance(route.answer, str) else schema.get(route.answer, {})
    right = {"type": "object"} if route.answer is dict else right
    found: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()} {route.path}").strip("_"),
        "summary": route.about.partition("\n")[0],
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": PARAMETERS[name]}
                for name in re.findall(r"{(\w+)}", route.path)
            ),
            *(
                {"name": name, "in": "query", "schema": WHOLE}
                for name in QUERIES.get(route.path.rpartition("/")[2], [])
            ),
            *([LOOKED_AT] if route.path == "/v1/studies/{study}" and route.method in ("PUT", "DELETE") else ()),
        ],
        "responses": {
            str(route.status): {"description": "Done", "content": {kind: {"schema": right}}},
            **{
                str(status): {
                    "description": TITLES[status],
                    "content": {"application/json": {"schema": schema[route.fault]}}
                    if route.fault and status in route.refusals
                    else {"application/problem+json": {"schema": schema[Problem]}},
                }
                for status in sorted(statuses)
            },
        },
    }
    found["security"] = [{"key": []}] if route.roles else []
    if route.roles:
        found["description"] = f"For keys of role {' or '.join(route.roles)}."
    if route.body is not None:
        body = {"$ref": "#/components/schemas/Protocol"} if route.body is Any else schema[route.body]
        kinds = ("application/json", "application/toml") if route.body is Any else ("application/json",)
        found["requestBody"] = {
            "required": not route.may_be_empty,
            "content": {each: {"schema": body if each.endswith("json") else {"type": "string"}} for each in kinds},
        }
    return found
