"""Requests of a device to the leader of a study: one attempt, and its answer or none. The next contact tries again."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.extras import import_extra

if TYPE_CHECKING:
    import httpx

CONTACT_PATIENCE = 10.0  # seconds for each step of a request
MOST_ANSWER = 2**16  # bytes


class LeaderReply(NamedTuple):
    """What came back: a status, 0 if nothing came, and what the leader said, if it was the leader."""

    status: int
    said: str = ""  # what became of a request, or the code of a refusal


class LeaderCalls:
    """The way to the service of a study.

    The transport is used without `httpx.Client`, which writes every address to the log. It is made for one contact and
    closed after it, so a connection says nothing of what happened since the last one.
    """

    def __init__(self, url: str, transport: "Callable[[], httpx.BaseTransport] | None") -> None:
        if not isinstance(url, str) or not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#@]*)?", url):
            raise InvalidValue("url", "not shown", "such as https://studies.example.org, without a password in it")
        self._url, self._make = url.rstrip("/"), transport

    def post(self, bodies: list[tuple[str, str]]) -> list[LeaderReply]:
        """What is answered to each of some bodies, with its path."""
        httpx = import_extra("httpx")
        # trust_env: a proxy of the environment would see when this device is in contact
        transport = self._make() if self._make else httpx.HTTPTransport(trust_env=False)
        extensions = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), CONTACT_PATIENCE)}
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "maskedbandit"}
        found = []
        try:
            for path, body in bodies:
                request = httpx.Request(
                    "POST", self._url + path, headers=headers, content=body.encode(), extensions=extensions
                )
                try:
                    response = transport.handle_request(request)
                    try:
                        received = bytearray()
                        for chunk in response.iter_bytes():
                            received += chunk
                            if len(received) > MOST_ANSWER:
                                raise httpx.ReadError("a longer answer than any of the service")
                    finally:
                        response.close()
                    word = read_word(response.status_code, bytes(received))
                    found.append(LeaderReply(response.status_code, word))
                except (httpx.HTTPError, httpx.StreamError, OSError):
                    found.append(LeaderReply(0))
        finally:
            transport.close()
        return found


def read_word(status: int, content: bytes) -> str:
    """What the leader said in a body, or nothing: a page of the network on the way has a status, too."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    word = body.get("status" if status == 200 else "code") if isinstance(body, dict) else None
    return word if isinstance(word, str) and re.fullmatch("[a-z_]{1,64}", word) else ""
