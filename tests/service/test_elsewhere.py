"""What a process sends to the one that holds a study."""

import asyncio
import json
from typing import Any

import httpx
import msgspec
import pytest

from maskedbandit.errors import FencedOff
from maskedbandit.service.host.elsewhere import Elsewhere
from maskedbandit.service.messages import Assign, Assigned, Item, Items
from tests.service.inside import TABLE, Inside


class Broken:
    """A client of HTTP that does not work any more."""

    async def request(self, *given: Any, **more: Any) -> Any:
        raise RuntimeError("the client was closed")


def test_nobody_waits_for_ever() -> None:
    async def ask() -> None:
        there = Elsewhere("small", "host 1 x", "http://127.0.0.1:1", Broken())
        for _ in range(2):
            answers = await asyncio.gather(
                *[there.ask(Assign(f"u{i}"), "key") for i in range(3)], return_exceptions=True
            )
            assert all(isinstance(each, FencedOff) for each in answers)

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_that_a_flag_is_evaluated_is_said_to_the_holder() -> None:
    sent = list[Any]()

    class Holder:
        async def request(self, method: str, url: str, content: bytes, **more: Any) -> httpx.Response:
            sent.extend(json.loads(content)["requests"])
            given = Assigned("small", "a", None, "t1", "1/2", False, exposed=True)
            return httpx.Response(200, content=msgspec.json.encode(Items([Item(200, given)])))

    async def ask() -> Assigned:
        there = Elsewhere("small", "host 1 x", "http://there", Holder())
        found: Assigned = await there.ask(Assign("ann", evaluated=True), "key")
        return found

    assert asyncio.run(ask()).exposed
    assert [each["evaluated"] for each in sent] == [True]


class Listens:
    """A client of HTTP that notes what is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    async def request(self, method: str, url: str, **more: Any) -> httpx.Response:
        self.sent.append((method, url))
        return httpx.Response(200, json={})


@pytest.mark.parametrize("query", ["", "?simulated=1"])
def test_a_request_is_relayed_with_its_query(service: Inside, query: str) -> None:
    """Without it a study with nobody real would begin as one with real people."""
    client, path = Listens(), f"/v1/studies/small/start{query}"
    service.host.held["small"] = Elsewhere("small", "host 1 x", "http://there", client)
    assert service.ask("POST", path, None, "owner").status == 200
    assert client.sent == [("POST", f"http://there{path}")]


@pytest.mark.parametrize("state", ["draft", "running", "archived"])
def test_a_study_whose_holder_is_gone_is_let_go(service: Inside, state: str) -> None:
    """In whichever state it is: somebody will ask for it."""
    service.ask("POST", "/v1/studies", TABLE, "owner")
    assert service.run(service.approved("small")).status == 200
    for verb in {"draft": [], "running": ["start"], "archived": ["start", "stop", "archive"]}[state]:
        assert service.study(verb, key="owner").status == 200
    service.run(service.host.drop("small"))
    service.host.held["small"] = Elsewhere("small", "gone 1 x", "http://127.0.0.1:1", Broken())
    service.tick()
    assert not isinstance(service.host.held.get("small"), Elsewhere)
    answer = service.study("start", key="owner")
    assert answer.status == 200 if state == "draft" else answer.code == "not_running"


def test_the_document_is_written_once(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = service.ask("GET", "/openapi.json", key=None)
    monkeypatch.setattr("maskedbandit.service.api.operations.write_openapi", None)
    assert service.ask("GET", "/openapi.json", key=None) == first
