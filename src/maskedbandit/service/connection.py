"""Connections, within limits that hold before anybody is known: how much comes, and how long it takes to come.

Whatever is over a limit is answered here, by a problem, and its connection ends. No application hears of such a head;
of a body that comes too slowly it hears that whoever asked is gone.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from maskedbandit.service.problems import of_status
from maskedbandit.service.route import PROBLEM, start_of

HEAD, URL, HEADERS = 64 * 1024, 8 * 1024, 100  # bytes of a head, bytes of its URL, and how many headers it has
HEAD_TIME, BODY_TIME, IDLE_TIME, READ_TIME = 10, 30, 75, 60  # seconds; proxies keep idle connections for 60
SPARE = 64  # connections over the most that are told so; the others are closed without a word
LINGER = 2  # seconds: whoever is refused is no longer heard, and may read the answer
ONCE = frozenset(  # two readers of the same request could take it for different ones
    (b"authorization", b"content-length", b"content-type", b"cookie", b"host", b"idempotency-key", b"origin")
)


class Refusal(Exception):
    """Why a request is not taken."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.status, self.said = status, of_status(status, code, detail)

    def answer(self) -> bytes:
        """The whole answer."""
        body = msgspec.json.encode(self.said)
        again = ((b"retry-after", b"1"),) if self.status == 503 else ()
        return start_of(self.status, PROBLEM, ((b"connection", b"close"), *again), len(body)).head + body


class Connection(HttpToolsProtocol):
    """A connection of the server, one of `most` at a time."""

    def __init__(self, most: int, **given: Any) -> None:
        super().__init__(**given)
        self._most = most
        self._head: int | None = 0  # bytes of a head that is not whole; None: the head is, and its body is not
        self._extra = 0  # bytes that came with a body and are not of it: lengths of its parts, and headers after it
        self._refused = False
        self._due: TimerHandle | None = None  # when what is under way must have come
        self._read: TimerHandle | None = None  # when an answer must have been read

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a head, or refuse whoever is one too many."""
        super().connection_made(transport)
        if len(self.connections) > self._most + SPARE:
            transport.abort()
        elif len(self.connections) > self._most:
            said = f"{self._most} connections are open, and no more are taken: try again later"
            self._refuse(Refusal(503, "too_many_connections", said))
        else:
            self._within(HEAD_TIME)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._cancel()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came, unless it is too much."""
        if self._refused:
            return
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
            self._refuse(known if isinstance(known, Refusal) else Refusal(400, "bad_request", "this is not HTTP"))
            return
        if self._head is None:
            if self._extra > HEAD:
                self._refuse(Refusal(431, "head_too_large", f"more than {HEAD} bytes came beside the body"))
            elif self._due is None:
                self._within(BODY_TIME)
        elif self._head > HEAD:
            self._refuse(too_large())
        elif self._head and self._due is None:
            self._within(HEAD_TIME)
        elif not self._head and self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self._wait_for_another()  # the answer was there before the end of the request

    def on_message_begin(self) -> None:
        """A head has begun: whatever came with it, it is not nothing."""
        super().on_message_begin()
        self._head = self._head or 1

    def on_headers_complete(self) -> None:
        """Hand a head on that is within the limits."""
        assert self._head is not None
        if self._head > HEAD and sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD:
            raise too_large()
        if len(self.url) > URL:
            raise Refusal(414, "url_too_long", f"the URL has {len(self.url)} bytes, and at most {URL} are allowed")
        names = [name for name, _ in self.headers]
        if len(names) > HEADERS:
            said = f"the request has {len(names)} headers, and at most {HEADERS} are allowed"
            raise Refusal(431, "head_too_large", said)
        if len(set(names)) < len(names) and (twice := sorted(each for each in ONCE if names.count(each) > 1)):
            raise Refusal(400, "bad_request", f"the header {twice[0].decode()} came twice")
        self._cancel()
        self._head, self._extra = None, 0
        super().on_headers_complete()
        self.headers = []  # for what comes after the body, which is nobody's

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        self._extra -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._cancel()
        self._head = 0
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection, also if nobody reads the last answer."""
        self.transport.abort()

    def pause_writing(self) -> None:
        """Whoever asked does not read: wait for a while."""
        super().pause_writing()
        self._read = self.loop.call_later(READ_TIME, self.transport.abort)

    def resume_writing(self) -> None:
        """Whoever asked goes on reading."""
        super().resume_writing()
        self._stop_waiting_for_reader()

    def _wait_for_another(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def _within(self, seconds: int) -> None:
        self._due = self.loop.call_later(seconds, self._late, seconds)

    def _late(self, seconds: int) -> None:
        what = "body" if self._head is None else "head"
        self._refuse(Refusal(408, "too_slow", f"the {what} of the request was not there after {seconds} seconds"))

    def _cancel(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _stop_waiting_for_reader(self) -> None:
        if self._read is not None:
            self._read.cancel()
            self._read = None

    def _refuse(self, why: Refusal) -> None:
        """Answer, and close; without an answer if one is under way to what was asked before, or was given."""
        self._cancel()
        if self.transport.is_closing():
            return
        asked = self.cycle is not None and not self.cycle.response_complete
        if asked != (self._head is None) or (asked and (self.cycle.response_started or self.pipeline)):
            self.transport.close()
            return
        if asked:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._refused = True
        self.flow.pause_reading()
        self.transport.write(why.answer())
        self.transport.write_eof()
        self._due = self.loop.call_later(LINGER, self.transport.abort)


def too_large() -> Refusal:
    """A head that has no end."""
    return Refusal(431, "head_too_large", f"the head of the request has more than {HEAD} bytes")
