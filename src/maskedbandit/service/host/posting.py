"""One request to a receiver, signed as the Standard Webhooks convention has it (standardwebhooks.com).

    webhook-id         the same for the same announcement, for ever
    webhook-timestamp  seconds, when it is sent
    webhook-signature  v1,base64(HMAC-SHA-256(secret, id.timestamp.body))

Of the answer the status is read, and nothing else: no body, and no other address to go to.
"""

import asyncio
import hmac
from base64 import b64encode

import httpx

PATIENCE = 10  # seconds for all of a request
AGENT = "maskedbandit"


def sign_announcement(key: bytes, name: str, seconds: int, body: bytes) -> str:
    """The signature of an announcement."""
    signed = f"{name}.{seconds}.".encode() + body
    return f"v1,{b64encode(hmac.digest(key, signed, 'sha256')).decode()}"


async def post_announcement(
    client: httpx.AsyncClient, url: str, key: bytes, name: str, seconds: int, body: bytes
) -> str:
    """Send an announcement; why it was not taken, or nothing."""
    headers = {
        "content-type": "application/json",
        "user-agent": AGENT,
        "webhook-id": name,
        "webhook-timestamp": str(seconds),
        "webhook-signature": sign_announcement(key, name, seconds, body),
    }
    try:
        async with (
            asyncio.timeout(PATIENCE),
            client.stream("POST", url, headers=headers, content=body, follow_redirects=False) as answer,
        ):
            return "" if answer.is_success else f"it answers {answer.status_code}"
    except TimeoutError:
        return f"it does not answer within {PATIENCE} seconds"
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, ValueError) as why:
        return f"it cannot be reached ({type(why).__name__})"
