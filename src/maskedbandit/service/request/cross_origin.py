"""Pages of other sites (CORS): the few paths that devices ask may be asked from the origins of a study's device keys.

Whether an answer may be read there follows from the keys, and from nothing that is known of people. Cookies are never
allowed: who asks is said by a key, a token or a ticket.
"""

from collections.abc import Iterable
from typing import Any

from maskedbandit.service.host.hosting import Hosting

REMEMBERED = b"600"  # seconds for which a browser need not ask again
Allowed = tuple[tuple[bytes, bytes], ...]


def allow_origin(host: Hosting, study: str, headers: Iterable[tuple[bytes, bytes]]) -> Allowed:
    """The headers by which a browser lets the page read an answer about a study; none if the page is of elsewhere."""
    origin = next((value for name, value in headers if name == b"origin"), None)
    if origin is None or not host.keys.names_origin(study, origin.decode("latin-1"), host.clock()):
        return ()
    return (b"access-control-allow-origin", origin), (b"vary", b"Origin")


async def answer_preflight(allowed: Allowed, send: Any) -> None:
    """Tell a browser that the page may ask."""
    said = (
        (b"access-control-allow-methods", b"POST"),
        (b"access-control-allow-headers", b"authorization, content-type"),
        (b"access-control-max-age", REMEMBERED),
    )
    await send({"type": "http.response.start", "status": 204, "headers": [*allowed, *said]})
    await send({"type": "http.response.body", "body": b""})
