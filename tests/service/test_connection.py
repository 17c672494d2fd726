"""What may come over a connection before anybody is known: bytes in, answers out, on sockets of this machine.

Where a time is over the limit, the limit is made so short that it is over at once: a test waits for the answer.
"""

import asyncio
import json
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path
from re import findall
from typing import Any, NamedTuple

import pytest
import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from maskedbandit.service import server
from maskedbandit.service.api.uploads import LONGEST_UPLOAD
from maskedbandit.service.host.host import Host
from maskedbandit.service.request import connection
from maskedbandit.service.request.connection import HEADERS, URL, WAITING_REQUESTS, Connection
from maskedbandit.service.request.limits import BATCH, BODY
from tests.for_each import for_each

GET = b"GET /x HTTP/1.1\r\nHost: a\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"
WAIT = b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
PATIENCE = 3  # seconds after which a test has failed
Talk = Callable[["Service"], Awaitable[Any]]


class Answer(NamedTuple):
    """An answer, or nothing if the connection ended without one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """What a problem is for programs."""
        said = json.loads(self.body)
        assert self.headers["content-type"] == "application/problem+json"
        assert self.headers["connection"] == "close"
        assert (said["status"], said["title"] != "", said["detail"] != "") == (self.status, True, True)
        return str(said["code"])


NOTHING = Answer(0, {}, b"")


class Service:
    """An application behind the connections of a class; it notes what it hears."""

    def __init__(self, kind: Any) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.kind, self.go_on, self.connections = kind, asyncio.Event(), list[Any]()
        config = uvicorn.Config(self, lifespan="off", log_config=None, ws="none", timeout_keep_alive=PATIENCE)
        config.load()
        self.config, self.state, self.loop = config, ServerState(), asyncio.get_running_loop()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.heard.append(("gone", len(body)))
                return
            body, more = body + message["body"], message["more_body"]
            if scope["path"] == "/early":
                break
        self.heard.append((scope["path"], body, dict(scope["headers"])))
        if scope["path"] == "/wait":
            await self.go_on.wait()
        many = 64 * 2**20 if scope["path"] == "/much" else 2
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % many)]})
        await send({"type": "http.response.body", "body": b"o" * many})

    def made(self) -> Any:
        """A connection."""
        found = self.kind(config=self.config, server_state=self.state, app_state={})
        self.connections.append(found)
        return found

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A client."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def said(self, *parts: bytes) -> list[Answer]:
        """All answers on a connection on which these parts were sent, until it ends."""
        reader, writer = await self.open()
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await answers(reader)
        finally:
            writer.close()


async def answer(reader: asyncio.StreamReader) -> Answer:
    """One answer."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return NOTHING
    first, *lines = head[:-4].decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return Answer(int(first.split()[1]), headers, await reader.readexactly(int(headers["content-length"])))


async def answers(reader: asyncio.StreamReader) -> list[Answer]:
    """All answers until the connection ends."""
    found = list[Answer]()
    while (one := await answer(reader)) != NOTHING:
        found.append(one)
    return found


async def ended(service: Service) -> None:
    """Wait until nothing is under way."""
    while service.state.connections or service.state.tasks:
        service.go_on.set()
        await asyncio.sleep(0)


def served(talk: Talk, kind: Any = None, most: int = 100) -> Any:
    """What a talk gives, with a service that listens."""

    async def go() -> Any:
        service = Service(kind or (lambda **given: Connection(most, **given)))
        server = await service.loop.create_server(service.made, "127.0.0.1", 0)
        service.port = server.sockets[0].getsockname()[1]
        try:
            return await asyncio.wait_for(talk(service), PATIENCE)
        finally:
            server.close()
            for each in service.connections:
                each.transport.abort()
            await asyncio.wait_for(ended(service), PATIENCE)

    return uvloop.run(go())  # as the server does


def refused(*parts: bytes, kind: Any = None) -> tuple[int, str]:
    """What is answered to these bytes, of which the application hears nothing."""

    async def talk(service: Service) -> tuple[int, str]:
        (only,) = await service.said(*parts)
        assert service.heard == []
        return only.status, only.code

    found: tuple[int, str] = served(talk, kind)
    return found


def taken(raw: bytes) -> list[tuple[Any, ...]]:
    """What the application hears of a request that is answered with 200."""

    async def talk(service: Service) -> list[tuple[Any, ...]]:
        reader, writer = await service.open()
        writer.write(raw)
        assert (await answer(reader)).status == 200
        writer.close()
        return service.heard

    found: list[tuple[Any, ...]] = served(talk)
    return found


def headers(many: int, size: int = 1) -> bytes:
    """So many headers with values of this size."""
    return b"".join(b"x-%d: %b\r\n" % (i, b"v" * size) for i in range(many))


# --- how much --------------------------------------------------------------------------------------------------


def test_a_head_within_the_limits_is_heard() -> None:
    ((_, _, found),) = taken(GET + headers(HEADERS - 1, 600) + b"\r\n")
    assert len(found) == HEADERS
    ((path, _, _),) = taken(b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n" % (b"u" * (URL - 1)))
    assert len(path) == URL
    batch = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % 2**20 + b"b" * 2**20
    assert len(taken(batch)[0][1]) == 2**20


OVER: dict[str, tuple[int, str, tuple[bytes, ...]]] = {
    "a head that is whole": (431, "head_too_large", (GET + headers(90, 800) + b"\r\n",)),
    "a head in parts": (431, "head_too_large", (GET, *[headers(1, 8000)] * 9)),
    "a header without end": (431, "head_too_large", (GET + b"x: ", *[b"v" * 9000] * 9)),
    "a name without end": (431, "head_too_large", (GET, *[b"n" * 9000] * 9)),
    "a head after a request": (431, "head_too_large", (b"\r\n", GET + headers(90, 800) + b"\r\n")),
    "headers": (431, "head_too_large", (GET + headers(HEADERS) + b"\r\n",)),
    "a URL": (414, "url_too_long", (b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n" % (b"u" * URL),)),
    "a URL without end": (431, "head_too_large", (b"GET /", *[b"u" * 9000] * 9)),
}


@for_each("case", OVER)
def test_what_is_over_a_limit_is_answered_and_not_heard(case: str) -> None:
    status, code, parts = OVER[case]
    assert refused(*parts) == (status, code)


def test_empty_lines_before_a_head_are_not_of_it() -> None:
    assert len(taken(b"\r\n" * 50_000 + GET + b"\r\n")) == 1


def test_a_server_without_limits_is_caught() -> None:
    with pytest.raises(AssertionError):
        refused(GET + headers(HEADERS) + b"Connection: close\r\n\r\n", kind=HttpToolsProtocol)


def test_bytes_that_come_with_a_body_and_are_not_of_it() -> None:
    trailer = b"4\r\nbody\r\n0\r\n"

    async def talk(service: Service) -> Any:
        (only,) = await service.said(CHUNKED, trailer + b"x: ", *[b"v" * 2**16] * 20)
        return only.status, only.code, [each[0] for each in service.heard]

    assert served(talk) == (431, "head_too_large", ["gone"])
    ((_, body, found),) = taken(CHUNKED + trailer + b"Authorization: Bearer x\r\nHost: b\r\n\r\n")
    assert (body, found) == (b"body", {b"host": b"a", b"transfer-encoding": b"chunked"})


def test_the_largest_body_may_come_in_small_parts() -> None:
    """As a writer of JSON sends it; 19 bytes are the fewest for which the lengths are within the limit."""
    part = b"13\r\n" + b"b" * 19 + b"\r\n"
    ((_, body, _),) = taken(CHUNKED + part * (BATCH // 19) + b"0\r\n\r\n")
    assert len(body) == BATCH // 19 * 19


def test_headers_after_a_body_are_not_kept() -> None:
    async def talk(service: Service) -> int:
        _, writer = await service.open()
        writer.write(CHUNKED)
        while not service.connections or service.connections[0]._head is not None:
            await asyncio.sleep(0)
        writer.write(b"0\r\n" + b"a:\r\n" * 50_000)
        while service.connections[0]._extra < 200_000:
            await asyncio.sleep(0)
        writer.close()
        return len(service.connections[0].headers)

    assert served(talk) == 0


@for_each("name", ["Authorization", "Content-Length", "Content-Type", "Cookie", "Host", "Idempotency-Key", "Origin"])
def test_a_header_that_comes_twice(name: str) -> None:
    first = "" if name == "Host" else f"{name}: 0\r\n"
    assert refused(GET + f"{first}{name.lower()}: 0\r\n\r\n".encode()) == (400, "bad_request")


def test_other_headers_may_come_twice() -> None:
    assert len(taken(GET + b"accept: a\r\naccept: b\r\nauthorization: c\r\n\r\n")) == 1


GARBAGE = (
    b"\x00" * 100,
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET / HTTP/1.1\nHost: a\n x: y\r\n\r\n",
    b"GET http://example.com HTTP/1.1\r\nHost: example.com\r\n\r\n",
    b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
)


@for_each("raw", GARBAGE, ids=repr)
def test_what_is_no_request(raw: bytes) -> None:
    assert refused(raw) == (400, "bad_request")


def test_whoever_asks_for_another_protocol_gets_an_answer_in_this_one() -> None:
    assert len(taken(GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")) == 1


# --- how long --------------------------------------------------------------------------------------------------


@for_each("sent", [b"", b"GET", GET, GET + b"x: y\r\n"])
def test_a_head_that_does_not_come(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_TIME", 0.05)
    assert refused(sent) == (408, "too_slow")


@pytest.mark.parametrize("sent", [b"GET", b"\r\n\r\nG"])
def test_a_second_head_that_does_not_come(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(service: Service) -> list[int]:
        reader, writer = await service.open()
        writer.write(GET + b"\r\n")
        found = [await answer(reader)]
        monkeypatch.setattr(connection, "HEAD_TIME", 0.05)
        writer.write(sent)
        found += await answers(reader)
        writer.close()
        return [each.status for each in found]

    assert served(talk) == [200, 408]


def test_an_empty_line_begins_no_head() -> None:
    """It may end a body that came before (RFC 9112, 2.2): the connection is as idle as it was."""

    async def talk(service: Service) -> None:
        reader, writer = await service.open()
        for _ in range(2):
            writer.write(GET + b"\r\n")
            assert (await answer(reader)).status == 200
            (only,) = service.connections
            idle = only.timeout_keep_alive_task
            only.data_received(b"\r\n")
            assert (only._due, only.timeout_keep_alive_task) == (None, idle)
            assert idle is not None
        writer.close()

    served(talk)


LATER = {
    "half a head": (b"GET /x", 408),
    "half a body": (POST, 408),
    "no request": (b"\x00" * 100, 400),
    "no part of a body": (CHUNKED + b"zz\r\n", 400),
    "too many headers": (GET + headers(HEADERS) + b"\r\n", 431),
}


@for_each("case", LATER)
def test_what_was_asked_before_is_answered_before_a_refusal(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    later, status = LATER[case]
    monkeypatch.setattr(connection, "HEAD_TIME", 0.05)
    monkeypatch.setattr(connection, "BODY_TIME", 0.05)

    async def talk(service: Service) -> list[int]:
        reader, writer = await service.open()
        writer.write(WAIT + later)
        while not service.heard:
            await asyncio.sleep(0)
        service.go_on.set()
        found = await answers(reader)
        writer.close()
        return [each.status for each in found]

    assert served(talk) == [200, status]


def test_a_body_that_is_not_read_yet_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a request that takes long nothing is read, so nothing can come."""
    monkeypatch.setattr(connection, "BODY_TIME", 0)

    async def talk(service: Service) -> list[int]:
        reader, writer = await service.open()
        writer.write(WAIT + POST + b"bo")
        while not service.heard:
            await asyncio.sleep(0)
        writer.write(b"dy")
        for _ in range(100):
            await asyncio.sleep(0)
        monkeypatch.setattr(connection, "BODY_TIME", PATIENCE)
        service.go_on.set()
        found = [await answer(reader), await answer(reader)]
        writer.close()
        return [each.status for each in found]

    assert served(talk) == [200, 200]


@for_each("sent", [POST, POST + b"b", CHUNKED, CHUNKED + b"4\r\nbody\r\n", CHUNKED + b"0\r\n"])
def test_a_body_that_does_not_come(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BODY_TIME", 0.05)

    async def talk(service: Service) -> Any:
        (only,) = await service.said(sent)
        return only.status, only.code, [each[0] for each in service.heard]

    assert served(talk) == (408, "too_slow", ["gone"])


def test_a_body_for_which_the_answer_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """It must come in the same time; the answer stays the only one. And if it comes, the connection is idle again."""
    early = POST.replace(b"/x", b"/early")

    async def talk(service: Service) -> list[int]:
        return [each.status for each in await service.said(early + b"b")]

    with monkeypatch.context() as short:
        short.setattr(connection, "BODY_TIME", 0.05)
        assert served(talk) == [200]

    async def idle(service: Service) -> list[int]:
        reader, writer = await service.open()
        writer.write(early + b"b")
        found = [await answer(reader)]
        service.connections[0].timeout_keep_alive = 0
        writer.write(b"ody")
        found += await answers(reader)
        writer.close()
        return [each.status for each in found]

    assert served(idle) == [200]


def test_an_idle_connection_is_closed() -> None:
    async def talk(service: Service) -> list[int]:
        service.config.timeout_keep_alive = 0
        return [each.status for each in await service.said(GET + b"\r\n")]

    assert served(talk) == [200]


def test_an_answer_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READ_TIME", 0.05)

    async def talk(service: Service) -> None:
        _, writer = await service.open()
        writer.transport.pause_reading()
        writer.write(b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n")
        while not service.connections or service.state.connections:
            await asyncio.sleep(0)
        writer.close()

    served(talk)


def test_an_answer_that_somebody_reads_slowly() -> None:
    """Whenever the server looks and something was taken, it waits once more; if nothing was, it ends."""

    async def talk(service: Service) -> int:
        reader, writer = await service.open()
        writer.write(b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        (only,) = service.connections
        looks = 0
        while only._read is not None and looks < 5:
            before = only.transport.get_write_buffer_size()
            while only.transport.get_write_buffer_size() >= before:
                await reader.read(2**16)
            only._stop_waiting_for_reader()
            only._look_at_reader(before)
            assert only._read is not None, "it waits once more"
            looks += 1
        only._look_at_reader(only.transport.get_write_buffer_size())
        assert only.transport.is_closing()
        writer.close()
        return looks

    assert served(talk) == 5


def test_whoever_is_slow_but_in_time_is_heard() -> None:
    whole = POST + b"body"

    async def talk(service: Service) -> int:
        reader, writer = await service.open()
        for i in range(len(whole)):
            writer.write(whole[i : i + 1])
            await writer.drain()
        found = await answer(reader)
        assert all(each._due is None for each in service.connections), "nothing is waited for"
        writer.close()
        return found.status

    assert served(talk) == 200


def test_a_refusal_is_read_by_whoever_is_still_sending() -> None:
    """A connection that is closed at once, while bytes wait unread, would lose its answer."""

    async def talk(service: Service) -> tuple[int, str]:
        reader, writer = await service.open()
        writer.write(GET + headers(HEADERS) + b"\r\n" + b"more" * 100_000)
        await asyncio.sleep(0)
        found = await answer(reader)
        assert not service.connections[0].transport.is_reading(), "what is refused costs nothing more"
        writer.close()
        return found.status, found.code

    assert served(talk) == (431, "head_too_large")


# --- how many --------------------------------------------------------------------------------------------------


def pipelined(many: int) -> tuple[list[Answer], int]:
    """The answers to many requests that are sent at once, and how many are heard."""

    async def talk(service: Service) -> tuple[list[Answer], int]:
        last = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        found = await service.said((GET + b"\r\n") * (many - 1) + last)
        return found, len(service.heard)

    found: tuple[list[Answer], int] = served(talk)
    return found


def test_requests_that_come_before_the_answers_to_others() -> None:
    found, heard = pipelined(WAITING_REQUESTS + 1)
    assert [each.status for each in found] == [200] * (WAITING_REQUESTS + 1)
    assert heard == WAITING_REQUESTS + 1
    found, heard = pipelined(5000)
    assert [each.status for each in found[:-1]] == [200] * (WAITING_REQUESTS + 1), "in their order"
    assert (found[-1].status, found[-1].code, found[-1].headers["retry-after"]) == (429, "too_many", "1")
    assert heard == WAITING_REQUESTS + 1


def test_a_refusal_does_not_cut_off_whoever_still_reads_what_was_asked_before() -> None:
    async def talk(service: Service) -> bool:
        reader, writer = await service.open()
        writer.write(GET + b"\r\n" + b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n" + b"\x00")
        assert (await answer(reader)).status == 200
        (only,) = service.connections
        while only._last is None or only._answering():
            await asyncio.sleep(0)
        only._leave()
        found = only.transport.is_closing()
        writer.close()
        return bool(found)

    assert not served(talk)


def test_of_requests_that_come_without_end_a_few_wait_and_the_others_are_not_read() -> None:
    async def talk(service: Service) -> tuple[int, bool]:
        _, writer = await service.open()
        writer.write(WAIT + (GET + b"\r\n") * 5000)
        while not service.heard:
            await asyncio.sleep(0)
        (only,) = service.connections
        found = len(only.pipeline), only.transport.is_reading()
        writer.close()
        return found

    assert served(talk) == (WAITING_REQUESTS, False)
    with pytest.raises(AssertionError):
        assert served(talk, HttpToolsProtocol) == (WAITING_REQUESTS, False)


def test_nothing_more_is_read_while_requests_wait() -> None:
    """Otherwise the body of one that waits would be kept, however long it is."""

    async def talk(service: Service) -> bool:
        _, writer = await service.open()
        writer.write(b"POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody" + POST)
        while not service.heard:
            await asyncio.sleep(0)
        found = service.connections[0].transport.is_reading()
        writer.close()
        return bool(found)

    assert not served(talk)


@pytest.mark.parametrize("waiting", [0, 3])
def test_what_was_asked_by_whoever_is_gone_is_not_done(waiting: int, caplog: pytest.LogCaptureFixture) -> None:
    """The request that is under way goes on, and its answer is no failure."""

    async def talk(service: Service) -> list[str]:
        _, writer = await service.open()
        writer.write(WAIT + (GET + b"\r\n") * waiting)
        while not service.heard:
            await asyncio.sleep(0)
        (only,) = service.connections
        only.transport.abort()
        while service.state.connections:
            await asyncio.sleep(0)
        assert not only.pipeline
        service.go_on.set()
        while service.state.tasks:
            await asyncio.sleep(0)
        writer.close()
        return [each[0] for each in service.heard]

    assert served(talk) == ["/wait"]
    assert caplog.records == []


def test_there_are_so_many_connections_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SPARE", 1)

    async def talk(service: Service) -> None:
        first, second = await service.open(), await service.open()
        first[1].write(GET + b"\r\n")
        assert (await answer(first[0])).status == 200
        reader, writer = await service.open()
        too_many = await answer(reader)
        assert (too_many.status, too_many.code) == (503, "too_many_connections")
        assert too_many.headers["retry-after"] == "1"
        assert await service.said() == [], "and further ones are told nothing"
        for each in (writer, second[1]):
            each.close()
        while len(service.state.connections) > 1:
            await asyncio.sleep(0)
        again = await service.open()
        again[1].write(GET + b"\r\n")
        assert (await answer(again[0])).status == 200
        first[1].close()
        again[1].close()

    served(talk, most=2)


def test_descriptors_are_kept_for_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))

    def room(soft: int, hard: int) -> int:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
        return server.raise_connection_limit()

    whole = server.MOST_CONNECTIONS + server.RESERVE
    assert [room(256, 256), room(1024, 4096), room(1024, 10**6), room(1024, -1)] == [128, 3584, 10_000, 10_000]
    assert asked == [(256, 256), (4096, 4096), (whole, 10**6), (whole, -1)]
    asked.clear()
    assert [room(10**6, 10**6), room(-1, -1)] == [10_000, 10_000]
    assert asked == []


# --- what is said of it ----------------------------------------------------------------------------------------


def test_the_limits_are_those_of_the_document(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    table = text.partition("## What is limited")[2].partition("\n## ")[0]
    rows = dict([cell.strip() for cell in line.split("|")[1:3]] for line in table.splitlines() if line.startswith("| "))
    host = Host(f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness")
    host.questions.close()
    said = {
        "the head of a request": f"{connection.HEAD // 1024} KiB",
        "its headers": f"{HEADERS}",
        "its URL": f"{URL // 1024} KiB",
        "time until a head is whole, from the opening of the connection or the first byte of the next request": (
            f"{connection.HEAD_TIME} seconds"
        ),
        "time until a body is whole, from its head": f"{connection.BODY_TIME} seconds",
        "time without a request on an open connection": f"{connection.IDLE_TIME} seconds",
        "requests that wait on a connection for the answer to another": f"{WAITING_REQUESTS}",
        "what comes along with a body: the lengths of its chunks, and headers after it": (
            f"{connection.BESIDE // 2**20} MiB"
        ),
        "time in which a client reads nothing of an answer": f"{connection.READ_TIME} seconds, checked once in each",
        "connections": (
            f"{server.MOST_CONNECTIONS // 1000} 000, or what the limit of file descriptors leaves after "
            f"{server.RESERVE} for databases and the clock; {connection.SPARE} over that are answered, and "
            "further ones are closed without a word"
        ),
        "a body; a batch": f"{BODY // 1024} KiB; {BATCH // 2**20} MiB",
        "requests with one key, except a device's": (
            f"`--rate`, {host.callers.rate // 1000} 000 a second; a batch counts as its requests"
        ),
        "assigning one person; with a device key, once the token holds; and the person's own page": (
            f"{host.people.rate} a second, {host.people.burst} at once"
        ),
        "requests with device keys, uploads and leaves, from one address": (
            f"{host.devices.rate} a second, {host.devices.burst // 1000} 000 at once"
        ),
        "the same with one ticket, from one address": (
            f"{host.tickets.rate} a second, {host.tickets.burst} at once; of uploads and leaves the body "
            f"{LONGEST_UPLOAD // 1024} KiB"
        ),
        "requests with wrong keys, from one address": f"{host.strangers.rate} a second, {host.strangers.burst} at once",
        "pages without signing in, for one address": f"{host.visitors.rate} a second, {host.visitors.burst} at once",
        "streams of events with a key": f"{host.streams.most}, {host.streams.each} of one key",
        "streams of events without one, of simulated studies": (
            f"{host.open_streams.most}, {host.open_streams.each} of one address"
        ),
    }
    assert {name: rows[name] for name in said} == said
    once = {name.lower().encode() for name in findall("`(.+?)`", rows["headers that may come once"])}
    assert once == connection.ONCE
