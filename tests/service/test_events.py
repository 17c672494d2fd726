"""Server-sent events: whoever was away gets exactly what was missed, and streams end with the server, or the key."""

import asyncio
import json
import signal
from http.client import HTTPConnection
from typing import Any, NamedTuple

import pytest

from maskedbandit.errors import StorageFailed
from maskedbandit.service.request import events
from tests.service.inside import TABLE, Inside
from tests.service.live import Live

PATH = "/v1/studies/small/events"


class Event(NamedTuple):
    """One event."""

    id: int | None
    kind: str
    data: Any


def parsed(text: str) -> list[Event]:
    """The events of a stream."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            number = int(fields["id"]) if "id" in fields else None
            found.append(Event(number, fields["event"], json.loads(fields["data"])))
    return found


def heard(
    service: Inside, query: str = "", last: str | None = None, until: int = 1, key: str = "officer"
) -> list[Event]:
    """What is heard until there were so many `changed`; then the listener goes away."""

    async def listen() -> str:
        said, enough = [], asyncio.Event()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                assert message["status"] == 200
                assert (b"content-type", b"text/event-stream; charset=utf-8") in message["headers"]
            said.append(message.get("body", b"").decode())
            if "".join(said).count("event: changed") >= until or not message.get("more_body", True):
                enough.set()

        async def receive() -> Any:
            await enough.wait()
            return {"type": "http.disconnect"}

        headers = [] if last is None else [("last-event-id", last)]
        await service.app(service.scope("GET", PATH + query, key, headers), receive, send)
        return "".join(said)

    return parsed(service.run(asyncio.wait_for(listen(), 60)))


def released(service: Inside, first: int) -> None:
    """Two cohorts of two people are released."""
    for i in range(first, first + 4):
        service.seen(f"u{i}")
    service.tick(21)


def test_what_was_missed_is_replayed(service: Inside) -> None:
    service.begin()
    released(service, 0)
    entries = service.ask("GET", "/v1/studies/small/ledger", key="officer").json["entries"]
    assert len(entries) == 3
    every = [event for event in heard(service) if event.id is not None]
    assert [event.id for event in every] == [0, 1, 2]
    assert [event.kind for event in every] == ["started", "released", "released"]
    assert [event.data["hash"] for event in every] == [entry["hash"] for entry in entries]
    for entry, event in zip(entries, every, strict=True):
        assert json.loads(entry["body"]).items() <= event.data.items()
    for after in range(4):
        missed = [event for event in heard(service, last=str(after)) if event.id is not None]
        assert missed == every[after + 1 :]
        assert [event for event in heard(service, f"?after={after}") if event.id is not None] == missed
    assert heard(service, "?after=0", last="2")[0].kind == "changed"  # the header is what the browser adds
    for wrong in ("x", "-1", "9" * 16):
        assert service.ask("GET", PATH, key="officer", headers=[("last-event-id", wrong)]).status == 422


def test_more_entries_than_are_read_at_once(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    service.begin()
    released(service, 0)
    for verb in ("pause", "resume") * 3:
        service.study(verb, key="owner")
    whole = [event.id for event in heard(service) if event.id is not None]
    monkeypatch.setattr(events, "MOST_ENTRIES", 3)
    assert [event.id for event in heard(service) if event.id is not None] == whole
    assert len(whole) > 6


@pytest.mark.slow
def test_a_stream_ends_with_its_key(service: Inside) -> None:
    service.begin()
    key = service.ask("POST", "/v1/keys", {"role": "officer"}, "owner").json["key"]
    assert heard(service, key=key)

    async def revoked() -> None:
        await asyncio.sleep(0.1)
        assert (await service.asked("POST", f"/v1/keys/{key.split('_')[2]}/revoke", None, "owner")).status == 200

    async def both() -> None:
        said: list[Any] = []

        async def send(message: Any) -> None:
            said.append(message)

        async def receive() -> Any:
            await asyncio.sleep(3600)

        listening = asyncio.ensure_future(service.app(service.scope("GET", PATH, key, ()), receive, send))
        await asyncio.gather(asyncio.wait_for(listening, 60), revoked())
        assert said[-1] == {"type": "http.response.body", "body": b"", "more_body": False}

    service.run(both())


@pytest.mark.slow
def test_a_database_that_fails_ends_the_stream_and_no_more(
    service: Inside, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service.begin()
    real, calls = service.host.version, []

    async def fails(name: str) -> Any:
        calls.append(name)
        if len(calls) > 2:
            raise StorageFailed("the disk is full")
        return await real(name)

    monkeypatch.setattr(service.host, "version", fails)
    found = heard(service, until=9)
    assert [event.id for event in found] == [0, None]


def test_asking_whether_something_changed_reads_no_ledger(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked every second for every page that is open."""
    service.begin()
    before = service.run(service.host.version("small"))

    def reads(*given: Any) -> Any:
        raise AssertionError("the whole ledger was read")

    monkeypatch.setattr("maskedbandit.store.book.book.read_entries", reads)
    assert service.run(service.host.version("small")) == before
    monkeypatch.undo()
    released(service, 0)
    between = service.run(service.host.version("small"))
    service.assign("ann")
    assert len({before, between, service.run(service.host.version("small"))}) == 3


@pytest.mark.slow
def test_streams_end_when_the_server_does(server: Live) -> None:
    server.start_study(TABLE)
    listeners = []
    for _ in range(5):
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", PATH, headers={"Authorization": f"Bearer {server.keys['owner']}"})
        listeners.append((connection, connection.getresponse()))
    for _, stream in listeners:
        while stream.readline().strip() != b"event: changed":
            pass
    assert server.end(signal.SIGTERM) == 0
    for connection, stream in listeners:
        assert stream.read().count(b"event: released") == 0  # it ends, and well
        connection.close()
    assert "Traceback" not in server.said()
