"""Answers whose head is sent with the body: one call to the system and one packet, where the server has two of each."""

from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import HEADER_RE, HEADER_VALUE_RE, STATUS_LINE, RequestResponseCycle


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
        self.head = b"".join([STATUS_LINE[status], *(b"%b: %b\r\n" % line for line in headers), b"\r\n"])


def send_whole(send: Any, head: bytes, body: bytes) -> bool:
    """Send a whole answer, if `send` is that of the server. False: nothing was sent, as there is more to do.

    Nothing is lent by way of the request: what leads back to it would be a circle, which stays until it is looked for.
    """
    cycle = getattr(send, "__self__", None)
    if type(cycle) is not RequestResponseCycle or cycle.default_headers or cycle.scope["method"] == "HEAD":
        return False
    if cycle.response_started or cycle.disconnected or not cycle.keep_alive or cycle.flow.write_paused:
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.transport.write(head + body)
    cycle.message_event.set()
    cycle.on_response()
    return True
