"""Connections, within limits that hold before anybody is known: how much comes, and how long it takes to come.

Whatever is over a limit is answered here, by a problem, after what was asked before it, and its connection ends. No
application hears of such a head; of a body that comes too slowly it hears that whoever asked is gone.
"""

from asyncio import TimerHandle, Transport
from collections.abc import Sized
from typing import Any

import httptools
import msgspec
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.problems import make_problem
from maskedbandit.service.request.route import PROBLEM, begin_answer

HEAD, URL, HEADERS = 64 * 1024, 8 * 1024, 100  # bytes of a head, bytes of its URL, and how many headers it has
BESIDE = BATCH  # bytes that come with a body and are not of it: as many as the largest body has
WAITING_REQUESTS = 16  # requests of a connection behind the one that is under way
HEAD_TIME, BODY_TIME, IDLE_TIME, READ_TIME = 10, 30, 75, 60  # seconds; proxies keep idle connections for 60
SPARE = 64  # connections over the most that are told so; the others are closed without a word
LINGER = 2  # seconds: whoever is refused is no longer heard, and may read the answer
ONCE = frozenset(  # two readers of the same request could take it for different ones
    (b"authorization", b"content-length", b"content-type", b"cookie", b"host", b"idempotency-key", b"origin")
)


class RefusedRequest(Exception):
    """Why a request is not taken."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.status, self.said = status, make_problem(status, code, detail)

    def answer(self) -> bytes:
        """The whole answer."""
        body = msgspec.json.encode(self.said)
        again = ((b"retry-after", b"1"),) if self.status in (429, 503) else ()
        return begin_answer(self.status, PROBLEM, ((b"connection", b"close"), *again), len(body)).head + body


class Flow(FlowControl):
    """Nothing more is read while requests wait, or once one is refused."""

    def __init__(self, transport: Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self.waiting, self.over = waiting, False

    def resume_reading(self) -> None:
        """Read on, unless there is enough to do."""
        if not self.waiting and not self.over:
            super().resume_reading()


class Unheard(list[Any]):
    """A list that keeps nothing, for the headers after a body: there may be many, and nobody reads them."""

    def append(self, _: Any) -> None:
        """Forget a header."""


class Connection(HttpToolsProtocol):
    """A connection of the server, one of `most` at a time."""

    flow: Flow

    def __init__(self, most: int, **given: Any) -> None:
        super().__init__(**given)
        self._most = most
        self._head: int | None = 0  # bytes of a head that is not whole; None: the head is, and its body is not
        self._extra = 0  # bytes that came with a body and are not of it: lengths of its parts, and headers after it
        self._under_way: RequestResponseCycle | None = None  # the request that is being answered, or was the last
        self._last: RefusedRequest | None = None  # what is said once everything before it is answered
        self._due: TimerHandle | None = None  # when what is under way must have come
        self._read: TimerHandle | None = None  # when an answer must have been read

    # as uvicorn has it: what a socket is served by is more than the `BaseTransport` of asyncio's protocols
    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a head, or refuse whoever is one too many."""
        super().connection_made(transport)
        self.flow = Flow(transport, self.pipeline)
        if len(self.connections) > self._most + SPARE:
            transport.abort()
        elif len(self.connections) > self._most:
            said = f"{self._most} connections are open, and no more are taken: try again later"
            self._refuse(RefusedRequest(503, "too_many_connections", said))
        else:
            self._within(HEAD_TIME)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more, and do nothing more of what was asked."""
        self._cancel()
        self._stop_waiting_for_reader()
        self.pipeline.clear()
        if self._under_way is not None and not self._under_way.response_complete:  # the server tells the last one alone
            self._under_way.disconnected = True
            self._under_way.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came, unless it is too much."""
        if self.flow.over or (self._head == 0 and not (data := data.lstrip(b"\r\n"))):
            return  # empty lines before a head are not of it
        self._unset_keepalive_if_required()
        if self._head is None:
            self._extra += len(data)
        else:
            self._head += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # to nothing: the request is answered as any other
        except httptools.HttpParserError as why:
            known = why.__context__
            self._refuse(
                known if isinstance(known, RefusedRequest) else RefusedRequest(400, "bad_request", "this is not HTTP")
            )
            return
        if self._head is None:
            if self._extra > BESIDE:
                self._refuse(RefusedRequest(431, "head_too_large", f"more than {BESIDE} bytes came beside the body"))
            else:
                self._wait_for_the_rest()
        elif self._head > HEAD:
            self._refuse(too_large())
        elif self._head:
            self._wait_for_the_rest()
        elif self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self._wait_for_another()  # the answer was there before the end of the request

    def on_message_begin(self) -> None:
        """A head has begun: whatever came with it, it is not nothing."""
        if len(self.pipeline) >= WAITING_REQUESTS:
            said = (
                f"{WAITING_REQUESTS} requests of this connection wait, and no more are taken: wait for answers, and "
                "ask again"
            )
            raise RefusedRequest(429, "too_many", said)
        super().on_message_begin()
        self._head = self._head or 1

    def on_headers_complete(self) -> None:
        """Hand a head on that is within the limits."""
        assert self._head is not None
        if self._head > HEAD and sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD:
            raise too_large()
        if len(self.url) > URL:
            raise RefusedRequest(
                414, "url_too_long", f"the URL has {len(self.url)} bytes, and at most {URL} are allowed"
            )
        names = [name for name, _ in self.headers]
        if len(names) > HEADERS:
            said = f"the request has {len(names)} headers, and at most {HEADERS} are allowed"
            raise RefusedRequest(431, "head_too_large", said)
        if len(set(names)) < len(names) and (twice := sorted(each for each in ONCE if names.count(each) > 1)):
            raise RefusedRequest(400, "bad_request", f"the header {twice[0].decode()} came twice")
        if not self.url.startswith(b"/") and not names_path(self.url):
            raise RefusedRequest(400, "bad_request", "the request names no path: one begins with /, also behind a host")
        super().on_headers_complete()
        self._cancel()
        self._head, self._extra, self.headers = None, 0, Unheard()

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        self._extra -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._cancel()
        self._head = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer is whole: if it was the last, say what is said after it."""
        super().on_response_complete()
        if self._last is None:
            self._wait_for_the_rest()
        elif not self._answering():
            self._say(self._last)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection, also if nobody reads the last answer."""
        self.transport.abort()

    def pause_writing(self) -> None:
        """The client reads more slowly than this writes: look whether it reads at all."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """The client goes on reading."""
        super().resume_writing()
        self._stop_waiting_for_reader()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._under_way = cycle
        super()._start_asgi_task(cycle, app)

    def _answering(self) -> bool:
        return self._under_way is not None and not self._under_way.response_complete

    def _wait_for_another(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def _wait_for_the_rest(self) -> None:
        if self._head != 0 and self._due is None and not self.pipeline:  # while requests wait nothing is read
            self._within(BODY_TIME if self._head is None else HEAD_TIME)

    def _within(self, seconds: int) -> None:
        self._due = self.loop.call_later(seconds, self._late, seconds)

    def _late(self, seconds: int) -> None:
        what = "body" if self._head is None else "head"
        self._refuse(
            RefusedRequest(408, "too_slow", f"the {what} of the request was not there after {seconds} seconds")
        )

    def _cancel(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _wait_for_reader(self) -> None:
        self._read = self.loop.call_later(READ_TIME, self._look_at_reader, self.transport.get_write_buffer_size())

    def _look_at_reader(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._wait_for_reader()
        else:
            self.transport.abort()

    def _stop_waiting_for_reader(self) -> None:
        if self._read is not None:
            self._read.cancel()
            self._read = None

    def _refuse(self, why: RefusedRequest) -> None:
        """Read no more, answer what was asked before, then this, and close; without an answer if one was begun."""
        self._cancel()
        if self.transport.is_closing():
            return
        self.flow.over = True
        self.flow.pause_reading()
        if self._head is None and not self.pipeline:  # the application has heard of it
            if self.cycle.response_started:
                self.transport.close()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._say(why)
            return
        if self._head is None:
            self.pipeline.popleft()
        if self._answering():
            self._last = why
        else:
            self._say(why)

    def _say(self, why: RefusedRequest) -> None:
        if not self.transport.is_closing():
            self.transport.write(why.answer())
            self.transport.write_eof()
            self._due = self.loop.call_later(LINGER, self._leave)

    def _leave(self) -> None:
        if self.flow.write_paused:  # somebody still reads what was asked before
            self._due = self.loop.call_later(LINGER, self._leave)
        else:
            self.transport.abort()


def too_large() -> RefusedRequest:
    """A head that has no end."""
    return RefusedRequest(431, "head_too_large", f"the head of the request has more than {HEAD} bytes")


def names_path(url: bytes) -> bool:
    """Whether what is asked for has a path: `CONNECT` names a host alone, and so may a URL.

    >>> names_path(b"http://example.com"), names_path(b"a:80"), names_path(b"http://example.com/a")
    (False, False, True)
    """
    try:
        return httptools.parse_url(url).path is not None
    except httptools.HttpParserInvalidURLError:
        return False
