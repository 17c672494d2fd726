"""Requests to another operator, such as the helper of two: what it answers, or that it is away, or that it refuses.

Whoever answers there may say anything, so nothing of it but the code of a refusal is shown anywhere.
"""

import asyncio
import re
from typing import Any

import httpx
import msgspec

from maskedbandit.errors import MaskedBanditError

PARTNER_PATIENCE = 30.0  # seconds for each step of a request: a helper opens some hundred seals for one
LONGEST_WAIT = 120.0  # seconds for all of it
LONGEST_ANSWER = 2**20  # bytes of an answer
PASSING = (408, 425, 429)  # statuses of refusals that pass, besides those of servers


class PartnerAway(MaskedBanditError):
    """The other operator does not answer, or cannot now: the same request may be made again."""


class PartnerRefuses(MaskedBanditError):
    """The other operator refuses a request, with a code."""

    def __init__(self, said: str, who: str = "helper", status: int = 409) -> None:
        super().__init__(f"the {who} refuses: {said}")
        self.said, self.status = said, status


class PartnerCalls:
    """The way to another operator, a helper or a coordinator, with the credential of a pairing."""

    def __init__(
        self,
        url: str,
        credential: str,
        transport: httpx.AsyncBaseTransport | None = None,
        who: str = "helper",
        longest: int = LONGEST_ANSWER,
    ) -> None:
        self._who, self._longest = who, longest
        headers = {"Authorization": f"Bearer {credential}"} if credential else {}
        # trust_env: a proxy or a .netrc of the environment would see the credential
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"), headers=headers, transport=transport, trust_env=False, timeout=PARTNER_PATIENCE
        )

    async def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """What the other operator answers, an object of JSON; or raise `PartnerAway` or `PartnerRefuses`."""
        try:
            async with asyncio.timeout(LONGEST_WAIT), self._client.stream(method, path, json=body) as response:
                received = bytearray()
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > self._longest:
                        raise PartnerAway(f"the answer for the {self._who} is longer than any of one")
        except (httpx.HTTPError, httpx.StreamError, TimeoutError, OSError) as why:
            raise PartnerAway(f"the {self._who} does not answer ({type(why).__name__})") from None
        try:
            said = msgspec.json.decode(received)  # whose texts can all be written: half a character is none
        except (ValueError, RecursionError):
            said = None
        code = said.get("code") if isinstance(said, dict) else None
        code = code if isinstance(code, str) and re.fullmatch("[a-z_]{1,64}", code) else ""
        status = response.status_code
        if status < 300 and isinstance(said, dict):
            return said
        if status >= 500 or status in PASSING or not code:
            raise PartnerAway(f"what answers for the {self._who} has no answer, but status {status} {code}".rstrip())
        raise PartnerRefuses(code, self._who, status)

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()
