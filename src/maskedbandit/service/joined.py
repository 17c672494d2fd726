"""Answers whose head is sent with the body: one call to the system and one packet, where the server has two of each.

Heads are kept, as those of a route differ in the length of the body alone, and to make one takes longer than to look at
all else that an answer consists of.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

STREAM = -1  # the length of an answer that does not come at once


@lru_cache(maxsize=1024)
def head_of(status: int, headers: tuple[tuple[bytes, bytes], ...]) -> tuple[bytes, int]:
    """The head of an answer, and the length of its body; whatever is unusual is taken for a stream.

    >>> head_of(200, ((b"content-length", b"2"),))
    (b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\n', 2)
    >>> head_of(200, ((b"content-type", b"text/event-stream"),))
    (b'', -1)
    """
    given = {name.lower(): value for name, value in headers}
    length = given.get(b"content-length", b"")
    unusual = len(given) < len(headers) or b"connection" in given or b"transfer-encoding" in given
    wrong = any(HEADER_RE.search(name) or HEADER_VALUE_RE.search(value) for name, value in given.items())
    if unusual or wrong or not length.isdigit():
        return b"", STREAM
    lines = [STATUS_LINE[status], *(b"%b: %b\r\n" % line for line in given.items()), b"\r\n"]
    return b"".join(lines), int(length)


class Cycle(RequestResponseCycle):
    """A request and its answer, whose head waits for the body. Streams and last answers are sent as the server does."""

    start: Any = None  # the message of the head that waits
    head = b""
    length = STREAM  # of the body that it waits for

    async def send(self, message: Any) -> None:
        """Send the head or a part of the body."""
        start = self.start
        if start is None:
            if message["type"] == "http.response.start":
                self.head, self.length = head_of(message["status"], (*self.default_headers, *message["headers"]))
                if self.length != STREAM and self.keep_alive and self.scope["method"] != "HEAD":
                    self.start = message
                    return
            await super().send(message)
            return
        self.start = None
        body = message.get("body", b"")
        whole = len(body) == self.length and not message.get("more_body")
        if not whole or not self.keep_alive or self.flow.write_paused or self.disconnected:
            await super().send(start)
            await super().send(message)
            return
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(self.head + body)
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
