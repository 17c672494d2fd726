"""An answer is sent whole, and nothing of it waits for what may never come."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from maskedbandit.service.joined import Joined
from tests.service.live import live

HEAD, BODY, NEXT = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", b"{}", b"data: 1\n\n"


class Wire:
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.told

    def get_extra_info(self, name: str) -> str:
        return name


def told(*steps: Callable[[Any], Any] | None, kind: Callable[[Wire], Any] = Joined) -> list[bytes | str]:
    """What goes over the wire, at the end of these steps; None is a round of the loop."""
    wire = Wire()

    async def go() -> list[bytes | str]:
        transport = kind(wire)
        for step in steps:
            if step:
                step(transport)
            else:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
        return list(wire.told)

    return asyncio.run(go())


def head(transport: Any) -> None:
    transport.write(HEAD)


def body(transport: Any) -> None:
    transport.write(BODY)


def event(transport: Any) -> None:
    transport.write(NEXT)


def test_a_head_is_sent_with_its_body() -> None:
    assert told(head, body) == [HEAD + BODY]
    assert told(head, body, kind=lambda wire: wire) == [HEAD, BODY], "what a server does by itself"
    assert told(head, body, head, body) == [HEAD + BODY] * 2
    assert told(head, body, None, head, None, body, None) == [HEAD + BODY, HEAD, BODY]


def test_the_head_of_a_stream_does_not_wait_for_its_first_event() -> None:
    assert told(head) == []
    assert told(head, None) == [HEAD]
    assert told(head, None, event, None, event, None) == [HEAD, NEXT, NEXT]


def test_nothing_is_lost_at_the_end() -> None:
    assert told(head, lambda transport: transport.close()) == [HEAD, "closed"]
    assert told(head, body, lambda transport: transport.close(), None) == [HEAD + BODY, "closed"]


def test_what_is_not_written_goes_to_the_transport() -> None:
    found: list[Any] = []
    told(lambda transport: found.extend([transport.is_closing(), transport.get_extra_info("peername")]))
    assert found == [False, "peername"]


def test_once_the_wire_is_closed_nothing_is_kept() -> None:
    assert told(lambda transport: transport.close(), head) == ["closed", HEAD]  # whose wire knows what to do
    assert told(head, lambda transport: transport.forget(), None) == []


def test_who_says_no_more_after_a_request_is_answered(tmp_path: Path) -> None:
    with live(tmp_path / "data") as server:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
                client.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                client.shutdown(socket.SHUT_WR)
                assert client.recv(12) == b"HTTP/1.1 200"
