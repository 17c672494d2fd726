"""Pages of other sites (CORS): the few paths that devices ask may be asked from the origins of a study's device keys.

Whether an answer may be read there follows from the keys, and from nothing that is known of people. Cookies are never
allowed: who asks is said by a key, a token or a ticket. A shuffler has no device keys, and answers pages of all sites:
there the pass says who asks.
"""

from collections.abc import Mapping
from typing import Any

from maskedbandit.device_refusals import WrongOrigin
from maskedbandit.service.host.hosting import Hosting
from maskedbandit.service.keys import Key

REMEMBERED = b"600"  # seconds for which a browser need not ask again
Allowed = tuple[tuple[bytes, bytes], ...]


def allow_origin(host: Hosting, study: str, headers: Mapping[bytes, bytes]) -> Allowed:
    """The headers by which a browser lets the page read an answer about a study; none if the page is of elsewhere."""
    origin = headers.get(b"origin")
    if origin is None or not host.answers_page(study, origin.decode("latin-1")):
        return ()
    return (b"access-control-allow-origin", origin), (b"vary", b"Origin")


def check_origin(key: Key, headers: Mapping[bytes, bytes], from_pages: bool) -> None:
    """Raise unless a page may use a device key: one of its origins, or of this site itself for what is asked here."""
    if (origin := headers.get(b"origin")) is not None:
        host = headers.get(b"host", b"").decode("latin-1")
        own = {f"{scheme}://{host}" for scheme in ("http", "https")}  # a proxy that is not believed may speak TLS
        if origin.decode("latin-1") not in (key.origins if from_pages else own):
            raise WrongOrigin("this page may not use the key: its site is not among the origins of the key")


async def answer_preflight(allowed: Allowed, send: Any) -> None:
    """Tell a browser that the page may ask."""
    said = (
        (b"access-control-allow-methods", b"POST"),
        (b"access-control-allow-headers", b"authorization, content-type"),
        (b"access-control-max-age", REMEMBERED),
    )
    await send({"type": "http.response.start", "status": 204, "headers": [*allowed, *said]})
    await send({"type": "http.response.body", "body": b""})
