"""Requests to the service: the answer, or that there is none, by a deadline."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import httpx

from maskedbandit.client.answers import NO_REPLY, Reply, parse_json, read_retry_after
from maskedbandit.errors import InvalidValue

LONGEST_ANSWER = 2**23  # bytes
Transport = Callable[[], httpx.AsyncBaseTransport]  # makes one, in each process
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30.0)


def check_url(url: str) -> str:
    """The address of a service, without a slash at its end."""
    try:
        parts = httpx.URL(url)
        right = parts.scheme in ("http", "https") and parts.host != "" and not parts.userinfo
        right = right and not parts.query and not parts.fragment
    except (httpx.InvalidURL, TypeError):
        right = False
    if not right:
        raise InvalidValue("url", "not shown", "such as https://studies.example.org, without a password in it")
    return url.rstrip("/")


def check_key(key: str) -> None:
    """Raise `InvalidValue` unless this can be a key."""
    if not isinstance(key, str) or not re.fullmatch("[!-~]{1,512}", key):
        raise InvalidValue("key", "not shown", "a key of the service, of ASCII characters and without spaces")


class Calls:
    """The connections to a service. What they need they have from their caller, and nothing from the environment.

    The transport is used without `httpx.Client`: that one writes every address to the log, and so when a report came.
    """

    def __init__(self, url: str, key: str, transport: Transport | None) -> None:
        self._url = url
        # trust_env: a proxy or a .netrc of the environment would see the key and the outcomes
        self._transport = transport() if transport else httpx.AsyncHTTPTransport(limits=_LIMITS, trust_env=False)
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "maskedbandit",
        }

    async def post(self, path: str, body: Any, timeout: float) -> Reply:
        """One request: the reply, or `NOTHING`. The time is for the whole of it."""
        extensions = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)}
        content = json.dumps(body, allow_nan=False).encode()
        request = httpx.Request("POST", self._url + path, headers=self._headers, content=content, extensions=extensions)
        try:
            async with asyncio.timeout(timeout):
                response = await self._transport.handle_async_request(request)
                try:
                    received = bytearray()
                    async for chunk in response.aiter_bytes():
                        received += chunk
                        if len(received) > LONGEST_ANSWER:
                            return NO_REPLY
                finally:
                    await response.aclose()
        except (httpx.HTTPError, httpx.StreamError, TimeoutError, OSError):
            return NO_REPLY
        return Reply(
            response.status_code, parse_json(bytes(received)), read_retry_after(response.headers.get("Retry-After"))
        )

    async def ask(self, path: str, body: Any, deadline: float, answers: Callable[[Reply], bool]) -> Reply:
        """A request and, if it fails or takes half of the time, one more that says the same; the first answer.

        The first one is not given up when the second one starts: a service that is only slow still answers in time.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + deadline

        def settled(reply: Reply) -> bool:
            return answers(reply) or 400 <= reply.status < 500

        first = asyncio.create_task(self.post(path, body, deadline))
        pending, best = {first}, NO_REPLY
        try:
            await asyncio.wait(pending, timeout=deadline / 2)
            if first.done() and (settled(first.result()) or first.result().retry_after):
                return first.result()
            second = asyncio.create_task(self.post(path, body, end - clock()))
            pending.add(second)
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for reply in (task.result() for task in (first, second) if task in done):
                    if settled(reply):
                        return reply
                    best = max(best, reply, key=lambda each: each.status)
            return best
        finally:
            for task in pending:
                task.cancel()

    async def close(self) -> None:
        """Give the connections back."""
        await self._transport.aclose()
