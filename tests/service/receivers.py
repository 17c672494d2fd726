"""Receivers of webhooks: servers on a socket of this machine, and the check of signatures as the convention has it.

The check is written from the text of the convention (standardwebhooks.com), and shares nothing with the service.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.threaded_server import serve_in_thread


class Heard(NamedTuple):
    """A request that a receiver was sent."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The id of the announcement."""
        return self.headers["webhook-id"]

    @property
    def says(self) -> Any:
        """The body."""
        return json.loads(self.body)


def is_signed(secret: str, heard: Heard) -> bool:
    """Whether one of the signatures holds."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{heard.headers['webhook-id']}.{heard.headers['webhook-timestamp']}.{heard.body.decode()}"
    expected = base64.b64encode(hmac.new(key, content.encode(), hashlib.sha256).digest()).decode()
    given = [each.split(",", 1) for each in heard.headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(text, expected) for version, text in given)


class Receiver:
    """A server that notes what it hears; `answer` is how it answers: a status, or what is done with the request."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.answer: int | Callable[[BaseHTTPRequestHandler], None] = 204
        self.url = ""

    @property
    def types(self) -> list[str]:
        """What was heard, in order."""
        return [each.says["type"] for each in self.heard]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, until the end of a block."""
    found = Receiver()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.heard.append(Heard(headers, self.rfile.read(int(headers["content-length"]))))
            with suppress(OSError):  # whoever asked may be gone
                if not isinstance(found.answer, int):
                    found.answer(self)
                    return
                self.send_response(found.answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *said: object) -> None:
            pass

    with serve_in_thread(Answers) as address:
        found.url = f"{address}/hook"
        yield found
