"""Answers whose head is sent with the body: one call to the system and one packet, where the server has two of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)


class Start(dict[str, Any]):
    """The message in which an answer of this length begins, with its head as it is sent.

    >>> Start(200, [(b"content-type", b"text/plain")], 2).head
    b'HTTP/1.1 200 OK\\r\\ncontent-type: text/plain\\r\\ncontent-length: 2\\r\\n\\r\\n'
    """

    def __init__(self, status: int, headers: Sequence[tuple[bytes, bytes]], length: int) -> None:
        headers = [*headers, (b"content-length", str(length).encode())]
        super().__init__(type="http.response.start", status=status, headers=headers)
        if any(HEADER_RE.search(name) or HEADER_VALUE_RE.search(value) for name, value in headers):
            raise RuntimeError("a header has bytes that end it")
        self.length = length
        self.head = b"".join([STATUS_LINE[status], *(b"%b: %b\r\n" % line for line in headers), b"\r\n"])


class Cycle(RequestResponseCycle):
    """A request and its answer; the head of a `Start` waits for the body. All else is sent as the server does."""

    start: Any = None  # the `Start` that waits

    async def send(self, message: Any) -> None:
        """Send the head or a part of the body."""
        start = self.start
        if start is None:
            joins = type(message) is Start and not self.default_headers and not self.response_started
            if joins and self.keep_alive and self.scope["method"] != "HEAD":
                self.start = message
            else:
                await super().send(message)
            return
        self.start = None
        body = message.get("body", b"")
        whole = len(body) == start.length and not message.get("more_body")
        if not whole or not self.keep_alive or self.flow.write_paused or self.disconnected:
            await super().send(start)
            await super().send(message)
            return
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(start.head + body)
        self.message_event.set()
        self.on_response()

    async def send_500_response(self) -> None:
        """Say that the application failed: of a head that waits nothing was sent."""
        self.start = None
        await super().send_500_response()


class Protocol(HttpToolsProtocol):
    """HTTP with such answers."""

    def on_headers_complete(self) -> None:
        """A request has come, for which the server has made what answers it."""
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.__class__ = Cycle  # the server makes it itself, and asks nobody of which class
