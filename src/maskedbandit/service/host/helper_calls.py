"""Requests to the helper of two operators: what it answers, or that it is away, or that it refuses.

Whoever answers there may say anything, so nothing of it but the code of a refusal is shown anywhere.
"""

import asyncio
import json
import re
from typing import Any

import httpx

from maskedbandit.errors import MaskedBanditError

HELPER_PATIENCE = 30.0  # seconds for each step of a request: the helper opens some hundred seals for one
LONGEST_WAIT = 120.0  # seconds for all of it
LONGEST_HELP = 2**20  # bytes of an answer
PASSING = (408, 425, 429)  # statuses of refusals that pass, besides those of servers


class HelperAway(MaskedBanditError):
    """The helper does not answer, or cannot now: the same request may be made again."""


class HelperRefuses(MaskedBanditError):
    """The helper refuses a request, with a code."""

    def __init__(self, said: str) -> None:
        super().__init__(f"the helper refuses: {said}")
        self.said = said


class HelperCalls:
    """The way to a helper, with the credential of a pairing."""

    def __init__(self, url: str, credential: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        headers = {"Authorization": f"Bearer {credential}"} if credential else {}
        # trust_env: a proxy or a .netrc of the environment would see the credential
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"), headers=headers, transport=transport, trust_env=False, timeout=HELPER_PATIENCE
        )

    async def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """What the helper answers, an object of JSON; or raise `HelperAway` or `HelperRefuses`."""
        try:
            async with asyncio.timeout(LONGEST_WAIT), self._client.stream(method, path, json=body) as response:
                received = bytearray()
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > LONGEST_HELP:
                        raise HelperAway("the answer for the helper is longer than any helper's")
        except (httpx.HTTPError, httpx.StreamError, TimeoutError, OSError) as why:
            raise HelperAway(f"the helper does not answer ({type(why).__name__})") from None
        try:
            said = json.loads(received)
        except (ValueError, RecursionError):
            said = None
        code = said.get("code") if isinstance(said, dict) else None
        code = code if isinstance(code, str) and re.fullmatch("[a-z_]{1,64}", code) else ""
        status = response.status_code
        if status < 300 and isinstance(said, dict):
            return said
        if status >= 500 or status in PASSING or not code:
            raise HelperAway(f"what answers for the helper has no answer, but status {status} {code}".rstrip())
        raise HelperRefuses(code)

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()
