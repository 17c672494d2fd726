"""Pages, streams and protocols that are asked for often, or are made to take long: the server goes on."""

import asyncio
from typing import Any

import pytest

from maskedbandit.errors import TooMany
from maskedbandit.service.api import ledger
from maskedbandit.service.keys import Key
from maskedbandit.service.page import visit
from maskedbandit.service.request import events
from maskedbandit.service.request.limits import OpenStreams
from tests.for_each import for_each
from tests.service.inside import TABLE, Inside
from tests.service.test_events import heard


def simulated(service: Inside, name: str) -> None:
    """A study whose people are made up, so that everybody may see it."""
    service.ask("POST", "/v1/studies", TABLE | {"name": name}, "owner")
    assert service.start(name, "?simulated=1").status == 200
    service.tick()


@for_each("origin", ["http://[", "http://", "", "://", "https://bandit@evil"])
def test_no_origin_makes_the_server_fail(service: Inside, origin: str) -> None:
    found = service.ask("POST", "/sign-in", b"key=x&csrf=y", None, [("origin", origin), ("host", "bandit")])
    assert found.status == 403


def test_no_database_is_asked_for_a_study_that_none_can_have(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.host, "read", None)
    for name in ("\x00", "a b", "x" * 65):
        assert service.ask("GET", f"/studies/{name}", None, None).status == 404


def test_whoever_goes_away_while_a_form_is_sent_is_no_failure(
    service: Inside, caplog: pytest.LogCaptureFixture
) -> None:
    said = list[Any]()

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        said.append(message)

    service.run(service.app(service.scope("POST", "/sign-in", None, []), receive, send))
    assert said[0]["status"] == 413
    assert b"The form ended before its length" in said[1]["body"]
    assert caplog.records == []


def test_strangers_may_not_ask_for_pages_without_end(service: Inside) -> None:
    simulated(service, "small")
    service.host.visitors.rate, service.host.visitors.burst = 0, 2
    assert [service.ask("GET", "/studies/small", None, None).status for _ in range(4)] == [200, 200, 429, 429]


def test_there_are_so_many_streams_and_no_more(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    service.begin()
    for _ in range(3):
        assert heard(service)
        assert service.host.streams.open == 0
    monkeypatch.setattr(service.host.streams, "most", 0)
    assert service.ask("GET", "/v1/studies/small/events", None, "officer").code == "too_many"


def test_streams_without_a_key_take_no_place_of_those_with_one(service: Inside) -> None:
    simulated(service, "small")
    host = service.host
    host.streams, host.open_streams = OpenStreams(2, 1), OpenStreams(3, 2)

    async def opened(key: Key | None, address: str) -> Any:
        found = await events.event_stream(host, "small", 10**14, key, address)
        await anext(found.body_iterator)
        return found.body_iterator

    async def both() -> list[str]:
        officer, owner = (host.keys.of(service.keys[role], service.clock()) for role in ("officer", "owner"))
        asked = [(None, "a"), (None, "a"), (None, "a"), (None, "b"), (None, "c"), (officer, "a"), (officer, "b")]
        found, said = [], ""
        for each in [*asked, (owner, "a")]:
            try:
                found.append(await opened(*each))
                said += "+"
            except TooMany:
                said += "-"
        for each in found:
            await each.aclose()
        return [said, f"{host.streams.open} {host.open_streams.open}"]

    assert service.run(both()) == ["++-+-+-+", "0 0"]


@pytest.mark.slow
def test_a_stream_says_that_a_study_is_simulated_though_it_began_before(service: Inside) -> None:
    service.ask("POST", "/v1/studies", TABLE, "owner")

    async def both() -> list[str]:
        found = await events.event_stream(service.host, "small", -1, None)
        said: list[str] = [str(await anext(found.body_iterator)), str(await anext(found.body_iterator))]
        assert (await service.started("small", "?simulated=1")).status == 200
        said += [str(await anext(found.body_iterator)) for _ in range(2)]
        return said

    said = service.run(both())
    assert '"simulated": false' in said[1]
    assert '"simulated": true' in said[3]


@pytest.mark.parametrize("what", ["toml", "study", "ledger"])
def test_what_takes_long_does_not_hold_up_the_rest(service: Inside, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    simulated(service, "small")

    async def alone() -> int:
        running = asyncio.get_running_loop()

        def waits(*given: Any, **more: Any) -> Any:  # until the server has answered another request
            asyncio.run_coroutine_threadsafe(service.asked("GET", "/healthz", None, None), running).result(30)
            return "" if what in ("study", "ledger") else {}

        monkeypatch.setattr("maskedbandit.service.request.route.tomllib.loads", waits)
        monkeypatch.setattr(visit, "render_page", waits)
        kind = [("content-type", "application/toml")]
        if what == "toml":
            return (await service.asked("POST", "/v1/studies/validate", b"a = 1", "owner", kind)).status
        return (await service.asked("GET", "/studies/small" + "/ledger" * (what == "ledger"), None, None)).status

    assert service.run(alone()) in (200, 422)


def test_one_ledger_is_verified_at_a_time(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    service.begin()
    now, most = 0, 0
    real = ledger.verify_study

    def counted(*given: Any, **more: Any) -> Any:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        try:
            return real(*given, **more)
        finally:
            now -= 1

    monkeypatch.setattr(ledger, "verify_study", counted)
    replies = service.together(*[("POST", "/v1/studies/small/verify", None, "officer")] * 6)
    assert {reply.status for reply in replies} == {200}
    assert most == 1
