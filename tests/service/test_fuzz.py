"""Bodies of all sorts: whatever is sent, the answer is one that the document knows, and the service goes on."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.service.api import list_routes
from maskedbandit.service.request.route import Call
from tests.altered_messages import SHARE, count_messages, mutate_body
from tests.service.inside import TABLE, Inside
from tests.service.test_studies import TOML

TOGETHER = 64


def requests(service: Inside, rng: Random, tickets: list[str]) -> Iterator[tuple[Any, ...]]:
    """Method, path, body, key and headers, for ever."""
    ticket = tickets[0]
    at = "/v1/studies/small"
    toml = [("content-type", "application/toml")]
    rules = {"eligible": {"age": {"least": 18}, "land": ["DE"], "beta": True}, "group": {"name": "g", "below": "1/2"}}
    rules["ramp"] = {"shares": ["1/20"], "every": "1 day"}
    protocol = json.dumps(TABLE | {"name": "fuzzed", "project": "fuzzed", "enrolment": rules}).encode()
    report = b'{"ticket": "%s", "value": 0.5, "event": "e"}' % ticket.encode()
    sound: list[tuple[str, bytes, str, Any, int]] = [
        (f"{at}/assign", b'{"unit": "ann", "token": null}', "client", (), 3),
        (f"{at}/assign", b'{"unit": "eve", "attributes": {"age": 18, "beta": true, "land": "DE"}}', "client", (), 3),
        (f"{at}/report", report, "client", (), 8),
        (f"{at}/expose", b'{"ticket": "%s"}' % ticket.encode(), "client", (), 4),
        (f"{at}/budget", b'{"ticket": "%s"}' % ticket.encode(), "client", (), 2),
        (f"{at}/assign/batch", b'{"requests": [{"unit": "ann"}, {"unit": "bob"}]}', "client", (), 4),
        (f"{at}/report/batch", b'{"requests": [%s, %s]}' % (report, report), "client", (), 4),
        (f"{at}/expose/batch", b'{"requests": [{"ticket": "%s"}]}' % ticket.encode(), "client", (), 2),
        ("/ofrep/v1/evaluate/flags/small", b'{"context": {"targetingKey": "ann", "x": [1, {}]}}', "client", (), 2),
        ("/ofrep/v1/evaluate/flags/small", b'{"context": {"targetingKey": "bo", "age": 18}}', "client", (), 2),
        ("/ofrep/v1/evaluate/flags", b'{"context": {"targetingKey": "ann"}}', "client", (), 1),
        (f"{at}/erase", b'{"unit": "eve"}', "officer", (), 1),
        ("/v1/keys", b'{"role": "client", "study": "nobodys"}', "owner", (), 1),
        ("/v1/studies/validate", protocol, "owner", (), 2),
        ("/v1/studies/validate", TOML, "owner", toml, 1),
    ]
    many = [each for each in sound for _ in range(each[-1])]
    while True:
        path, body, key, headers, _ = rng.choice(many)
        yield "POST", path, mutate_body(rng, body), key, headers


ALLOWED = {
    f"/v1/studies/small{route.path.removeprefix('/v1/studies/{study}')}" if "{study}" in route.path else route.path: {
        route.status,
        *route.refusals,
        413,
        422,
    }
    for route in list_routes()
    if route.method == "POST"
}


def fuzz(service: Inside, count: int, seed: int) -> Counter[int]:
    """Ask so often, some at the same time: how often each status came."""
    service.said = {"age": 20}
    service.begin(enrolment={"eligible": {"age": {"least": 18}}})
    rng, found = Random(seed), Counter[int]()
    tickets = [service.seen(f"u{i}") for i in range(2)]

    async def one(request: tuple[Any, ...]) -> None:
        reply = await service.asked(*request)
        allowed = ALLOWED.get(request[1].replace("flags/small", "flags/{key}"))
        assert allowed is not None, request[1]
        assert reply.status in allowed, (request, reply)
        found[reply.status] += 1
        if reply.status != 200 and found[reply.status] % 64 == 0:
            said = reply.json
            assert said.get("status", reply.status) == reply.status
            assert "/ofrep" in request[1] or {"type", "title", "status", "code", "detail"} == said.keys() - {"faults"}

    async def some() -> None:
        source = requests(service, rng, tickets)
        for _ in range(count // TOGETHER):
            await asyncio.gather(*[one(next(source)) for _ in range(TOGETHER)])

    service.run(some())
    assert service.study("assign", {"unit": "u0"}).json["ticket"] == tickets[0]
    assert service.ask("POST", "/v1/studies/small/verify", key="owner").status == 200
    return found


@pytest.mark.slow
def test_fifty_thousand_mutated_bodies(service: Inside) -> None:
    found = fuzz(service, len(count_messages(50_000)), 2)
    assert found.total() > 49_000 * SHARE
    assert found[200] > 2500 * SHARE
    assert {200, 422, 404} <= found.keys()


@pytest.mark.slow
def test_almost_a_million_more_are_read_or_refused(service: Inside) -> None:
    """By what reads bodies; what it lets pass is of the type that the route has."""
    known = {route.path: route for route in list_routes() if route.method == "POST"}
    rng, read, refused = Random(3), 0, set[str]()
    source = requests(service, rng, ["0" * 32])
    for _ in count_messages(950_000):
        method, path, raw, key, headers = next(source)
        route = known[path.replace("/small", "/{study}").replace("flags/{study}", "flags/{key}")]
        call = Call(service.host, service.scope(method, path, key, headers) | {"path_params": {}}, None, None)
        call.raw = raw
        try:
            found = route.decoded(call)
        except InvalidValue as why:
            refused.add(why.code)
        else:
            read += 1
            assert route.body is Any or isinstance(found, route.body)
    assert read > 50_000 * SHARE
    assert refused == {"invalid_value"}
