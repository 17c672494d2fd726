"""Sessions of the page: a cookie that says whose key it is and until when, signed; and the tokens of its forms.

The cookie is HttpOnly and SameSite=Strict, and is of no use once its key is revoked. Every form carries a token that
only a page of the same session knows, so that no other site can send it.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

from maskedbandit.service.host import Host
from maskedbandit.service.keys import STAFF, Key

NAME, LENGTH = "maskedbandit", 12 * 3_600_000  # milliseconds


def mac(secret: bytes, *words: str) -> str:
    """A keyed hash of these words."""
    return hmac.digest(secret, "\n".join(words).encode(), sha256).hex()


def new_session(host: Host, key: Key) -> str:
    """The text of the cookie for a key."""
    said = f"{key.key}.{host.clock() + LENGTH}"
    return f"{said}.{mac(host.cookies, 'session', said)}"


def key_of_session(host: Host, cookie: str | None, now: int) -> Key | None:
    """The key whose session a Cookie header names, if it holds."""
    text = session_of(cookie)
    said, _, seal = text.rpartition(".")
    public, _, until = said.partition(".")
    right = hmac.compare_digest(seal.encode(), mac(host.cookies, "session", said).encode())
    if not right or now >= int(until):
        return None
    key = host.keys.public(public, now)
    return key if key and key.role in STAFF else None


def session_of(cookie: str | None) -> str:
    """What a Cookie header says of the session."""
    try:
        found = SimpleCookie(cookie or "").get(NAME)
    except CookieError:
        return ""
    return found.value if found else ""


def form_token(host: Host, cookie: str | None) -> str:
    """The token that the forms of a session carry."""
    return mac(host.cookies, "form", session_of(cookie))


def is_form_token(host: Host, cookie: str | None, token: str) -> bool:
    """Whether a form comes from a page of this session."""
    return hmac.compare_digest(token.encode(), form_token(host, cookie).encode())
