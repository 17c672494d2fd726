"""An answer is sent whole, with the head that the server would make; nothing of it waits for what may never come."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from maskedbandit.service.host.metrics import Metrics
from maskedbandit.service.request.connection import WAITING_REQUESTS
from maskedbandit.service.request.joining import Start, send_whole
from maskedbandit.service.request.route import Answer, Route
from tests.for_each import for_each
from tests.service.live import Live, live

KIND, COOKIE = b"text/plain", (b"set-cookie", b"a=1; Path=/")
POST = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
EXPECTS = b"GET /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
WHOLE = Answer(b"{}", KIND)
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

    def get_extra_info(self, name: str) -> None:
        return None


class Behind:
    """What may be between an application and the server."""

    def __init__(self, send: Any) -> None:
        self._send = send

    async def send(self, message: Any) -> None:
        await self._send(message)


def told(
    at_once: bool,
    answer: Answer,
    request: bytes = POST,
    meanwhile: str = "",
    before: str = "",
    after: str = "",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> list[bytes | str]:
    """What goes over the wire if a route answers so, and whether the request was then done with."""
    wire: Any = Wire()

    async def handler(call: Any) -> Answer:
        if meanwhile == "whoever asked goes":
            protocol.connection_lost(OSError())
        if meanwhile == "the server ends":
            protocol.shutdown()
        if meanwhile == "too much waits to be sent":
            protocol.pause_writing()
            asyncio.get_running_loop().call_soon(wire.told.append, "room")
            asyncio.get_running_loop().call_soon(protocol.resume_writing)
        return answer

    async def application(scope: Any, receive: Any, send: Any) -> None:
        scope |= {"app": SimpleNamespace(service_host=SimpleNamespace(metrics=Metrics())), "path_params": {}}
        if before:
            await send({"type": "http.response.start", "status": 200, "headers": []})

        await Route("POST" if request == POST else "GET", "/x", (), handler)(
            scope, receive, send if at_once else Behind(send).send
        )
        if after:
            assert (await receive())["type"] == "http.disconnect"

    async def go() -> None:
        nonlocal protocol
        config, state = uvicorn.Config(application, lifespan="off", log_config=None), ServerState()
        config.load()
        state.default_headers = headers or []
        protocol = HttpToolsProtocol(config, state, {})
        protocol.connection_made(wire)
        protocol.data_received(request)
        await asyncio.wait(state.tasks)
        wire.told.append("done" if protocol.cycle.response_complete and state.total_requests else "not done")
        protocol._unset_keepalive_if_required()

    protocol: Any = None
    asyncio.run(go())
    found: list[bytes | str] = wire.told
    return found


def text(told: list[bytes | str]) -> list[bytes | str]:
    """The same, whatever came together."""
    return [b"".join(each for each in told if isinstance(each, bytes)), *(each for each in told if each in WORDS)]


WORDS = ("closed", "room", "done", "not done")
CASES: dict[str, tuple[Answer, dict[str, Any]]] = {
    "whole": (WHOLE, {}),
    "a refusal": (Answer(b"{}", KIND, 404), {}),
    "with a header twice": (Answer(b"{}", KIND, 200, (COOKIE, COOKIE)), {}),
    "empty": (Answer(b"", KIND), {}),
    "to GET": (WHOLE, {"request": b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"}),
    "to HEAD": (WHOLE, {"request": b"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n"}),
    "the last one": (WHOLE, {"request": b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"}),
    "in an old version": (WHOLE, {"request": b"GET /x HTTP/1.0\r\n\r\n"}),
    "before the end": (WHOLE, {"meanwhile": "the server ends"}),
    "to whoever is gone": (WHOLE, {"meanwhile": "whoever asked goes"}),
    "to whoever reads slowly": (WHOLE, {"meanwhile": "too much waits to be sent"}),
    "after another one": (WHOLE, {"before": "the head of another answer"}),
    "with headers of the server": (WHOLE, {"headers": [(b"server", b"a")]}),
    "to whoever asks before the body": (WHOLE, {"request": EXPECTS, "after": "more is read"}),
}


@for_each("case", CASES)
def test_the_client_is_sent_what_the_server_would_send(case: str) -> None:
    answer, how = CASES[case]
    assert text(told(True, answer, **how)) == text(told(False, answer, **how))


def test_a_head_is_sent_with_its_body() -> None:
    together, end = told(True, WHOLE)
    assert isinstance(together, bytes)
    assert (together[-6:], end) == (b"\r\n\r\n{}", "done")
    assert told(False, WHOLE) == [together[:-2], b"{}", "done"], "what a server does by itself"


def test_an_answer_waits_until_whoever_asked_has_read() -> None:
    assert told(True, WHOLE, meanwhile="too much waits to be sent")[0] == "room"


def test_an_answer_is_the_last_one_if_the_server_ends_before_it() -> None:
    assert "closed" in told(True, WHOLE, meanwhile="the server ends")


def test_nobody_is_told_to_go_on_after_an_answer() -> None:
    found = told(True, WHOLE, EXPECTS, after="more is read")
    assert text(found)[0] == told(True, WHOLE)[0]


def test_whoever_waits_for_more_of_the_request_is_told_that_it_is_answered() -> None:
    async def go() -> None:
        wire: Any = Wire()
        asked: Any = (
            {"method": "GET"},
            wire,
            FlowControl(wire),
            LOG,
            LOG,
            False,
            [],
            asyncio.Event(),
            False,
            True,
            print,
        )
        cycle = RequestResponseCycle(*asked)
        assert send_whole(cycle.send, b"", b"{}")
        assert cycle.message_event.is_set()

    asyncio.run(go())


@for_each("header", [(b"x", b"a\r\nset-cookie: b"), (b"x: y\r\nz", b"a")])
def test_no_header_ends_before_it_should(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(RuntimeError, match="end it"):
        Start(200, [header], 2)


def answers(port: int, many: int, at_once: bool) -> list[bytes]:
    """What many requests on one connection are answered, sent one after the other or all at once."""
    paths = [b"/healthz" if i % 2 else b"/v1/studies/none/assign" for i in range(many)]
    asked = [b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}" % path for path in paths]
    came: list[bytes] = []
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client, client.makefile("rb") as file:
        for each in [b"".join(asked)] if at_once else asked:
            client.sendall(each)
            for _ in range(many if at_once else 1):
                lines = list(iter(file.readline, b"\r\n") if file.peek(1) else ())
                assert lines, "the connection ended"
                head = b"".join(lines)
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                came.append(head.partition(b"\r\n")[0] + file.read(length))
    return came


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server that is asked by all tests here that ask one."""
    with live(tmp_path_factory.mktemp("data")) as made:
        yield made


@pytest.mark.slow
def test_requests_that_come_together_are_answered_in_their_order(server: Live) -> None:
    found = answers(server.port, WAITING_REQUESTS + 1, at_once=True)
    assert found == answers(server.port, WAITING_REQUESTS + 1, at_once=False)
    assert all(one != other for one, other in pairwise(found))


@pytest.mark.slow
def test_who_says_no_more_after_a_request_is_answered(server: Live) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            assert client.recv(12) == b"HTTP/1.1 200"
