"""An answer is sent whole, with the head that the server would make; nothing of it waits for what may never come."""

from __future__ import annotations

import asyncio
import logging
import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from maskedbandit.service.joined import Cycle, Start
from tests.service.live import live

KIND, COOKIE = (b"content-type", b"text/plain"), (b"set-cookie", b"a=1; Path=/")
WHOLE = Start(200, [KIND], 2)
LOG = logging.getLogger("nobody")


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


def plain(*headers: tuple[bytes, bytes], status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": headers}


def body(part: bytes = b"{}", more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": part, "more_body": more}


def told(
    kind: type[RequestResponseCycle],
    *messages: dict[str, Any],
    method: str = "POST",
    keep_alive: bool = True,
    gone: bool = False,
) -> list[bytes | str]:
    """What goes over the wire, message by message, and whether the request was then done with."""
    wire: Any = Wire()

    async def go() -> None:
        done, scope = asyncio.Event(), {"method": method}
        asked: Any = scope, wire, FlowControl(wire), LOG, LOG, False, [], asyncio.Event(), False, keep_alive, done.set
        cycle = kind(*asked)
        cycle.disconnected = gone
        for message in messages:
            await cycle.send(message)
            wire.told.append("|")
        wire.told.append("done" if done.is_set() and cycle.response_complete else "not done")

    asyncio.run(go())
    found: list[bytes | str] = wire.told
    return found


def text(told: list[bytes | str]) -> list[bytes | str]:
    """The same, whatever came together."""
    return [b"".join(each for each in told if isinstance(each, bytes)), *(each for each in told if each in WORDS)]


WORDS = ("closed", "done", "not done")
CASES: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any]]] = {
    "whole": ((WHOLE, body()), {}),
    "a refusal": ((Start(404, [KIND], 2), body()), {}),
    "with a header twice": ((Start(200, [KIND, COOKIE, COOKIE], 2), body()), {}),
    "empty": ((Start(200, [KIND], 0), body(b"")), {}),
    "of another application": ((plain(KIND, (b"content-length", b"2")), body()), {}),
    "without a length": ((plain(KIND), body()), {}),
    "a stream": ((plain(KIND), body(more=True), body(more=True), body(b"")), {}),
    "in parts": ((Start(200, [KIND], 4), body(more=True), body()), {}),
    "to HEAD": ((WHOLE, body(b"")), {"method": "HEAD"}),
    "the last one": ((WHOLE, body()), {"keep_alive": False}),
    "said to be the last one": ((plain(KIND, (b"content-length", b"2"), (b"connection", b"close")), body()), {}),
    "to whoever is gone": ((WHOLE, body()), {"gone": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_client_is_sent_what_the_server_would_send(case: str) -> None:
    messages, how = CASES[case]
    assert text(told(Cycle, *messages, **how)) == text(told(RequestResponseCycle, *messages, **how))


def test_a_head_is_sent_with_its_body() -> None:
    _, together, *_ = told(Cycle, WHOLE, body())
    assert isinstance(together, bytes)
    assert together.endswith(b"\r\n\r\n{}")
    head, _, alone, *_ = told(RequestResponseCycle, WHOLE, body())
    assert (head, alone) == (together[:-2], b"{}"), "what a server does by itself"


def test_the_head_of_a_stream_does_not_wait_for_its_first_event() -> None:
    head, end, first, *_ = told(Cycle, plain(KIND), body(b"data: 1\n\n", more=True))
    assert isinstance(head, bytes)
    assert (head[-4:], end, first) == (b"\r\n\r\n", "|", b"9\r\ndata: 1\n\n\r\n")


@pytest.mark.parametrize(
    "messages",
    [
        (Start(200, [KIND], 3), body()),
        (Start(200, [KIND], 1), body()),
        (plain(KIND, (b"x", b"a\r\nset-cookie: b")), body()),
        (plain(KIND, (b"x: y\r\nz", b"a")), body()),
        (WHOLE, WHOLE),
        (plain(KIND), WHOLE),
        (body(),),
    ],
)
def test_what_is_no_answer_is_refused_as_by_the_server(messages: tuple[dict[str, Any], ...]) -> None:
    for kind in (RequestResponseCycle, Cycle):
        with pytest.raises(RuntimeError):
            told(kind, *messages)


@pytest.mark.parametrize("header", [(b"x", b"a\r\nset-cookie: b"), (b"x: y\r\nz", b"a")])
def test_no_header_ends_before_it_should(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(RuntimeError, match="end it"):
        Start(200, [header], 2)


def ended(kind: type[RequestResponseCycle], between: str) -> list[bytes | str]:
    """What goes over the wire if this comes between the head and the body."""
    wire: Any = Wire()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send(WHOLE)
        if between == "a failure":
            raise OSError
        if between == "nothing more":
            return
        if between == "the end of the server":
            cycle.keep_alive = False
        await send(body())
        if between == "nothing":
            await receive()

    scope, flow = {"method": "POST"}, FlowControl(wire)
    asked: Any = scope, wire, flow, LOG, LOG, False, [], asyncio.Event(), True, True, lambda: None
    cycle = kind(*asked)
    asyncio.run(cycle.run_asgi(application))
    found: list[bytes | str] = wire.told
    return found


@pytest.mark.parametrize("between", ["a failure", "nothing more"])
def test_an_application_that_fails_after_its_head_is_not_waited_for(between: str) -> None:
    assert ended(RequestResponseCycle, between)[-1] == "closed"
    told = ended(Cycle, between)
    assert told[-1] == "closed"
    assert b"".join(each for each in told if isinstance(each, bytes)).startswith(b"HTTP/1.1 500 "), "of its head"


def test_an_answer_is_the_last_one_if_the_server_ends_before_its_body() -> None:
    assert ended(Cycle, "the end of the server")[-1] == "closed"


def test_nobody_is_told_to_go_on_after_an_answer() -> None:
    for kind in (RequestResponseCycle, Cycle):
        told = b"".join(each for each in ended(kind, "nothing") if isinstance(each, bytes))
        assert told.endswith(b"\r\n\r\n{}")


def answers(port: int, many: int, at_once: bool) -> list[bytes]:
    """What many requests on one connection are answered, sent one after the other or all at once."""
    paths = [b"/healthz" if i % 2 else b"/v1/studies/none/assign" for i in range(many)]
    asked = [b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}" % path for path in paths]
    came: list[bytes] = []
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client, client.makefile("rb") as file:
        for each in [b"".join(asked)] if at_once else asked:
            client.sendall(each)
            for _ in range(many if at_once else 1):
                head = b"".join(iter(file.readline, b"\r\n"))
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                came.append(head.partition(b"\r\n")[0] + file.read(length))
    return came


def test_requests_that_come_together_are_answered_in_their_order(tmp_path: Path) -> None:
    with live(tmp_path / "data") as server:
        found = answers(server.port, 20, at_once=True)
        assert found == answers(server.port, 20, at_once=False)
        assert all(one != other for one, other in pairwise(found))


def test_who_says_no_more_after_a_request_is_answered(tmp_path: Path) -> None:
    with live(tmp_path / "data") as server:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                client.shutdown(socket.SHUT_WR)
                assert client.recv(12) == b"HTTP/1.1 200"
