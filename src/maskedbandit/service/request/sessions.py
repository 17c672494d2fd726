"""Sessions of the page: a cookie that says whose key it is and until when, signed; and the tokens of its forms.

The cookies are HttpOnly and SameSite=Strict. A session is over once its key is revoked, and once somebody signs out,
in every process. Every form carries a token that only a page of the same session knows, so that no other site can send
it; before there is a session, a random cookie stands for the browser.
"""

import hmac
import secrets
from functools import partial
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple

from maskedbandit.service.host.host_with_pages import HostWithPages
from maskedbandit.service.keys import STAFF, Key

COOKIE_NAME, SESSION_LENGTH = "maskedbandit", 12 * 3_600_000  # milliseconds
BEFORE = "maskedbandit-before"  # the cookie of whoever is about to sign in


class BrowserSession(NamedTuple):
    """A session that was begun, as its cookie says it."""

    text: str
    key: str
    ends: int


def sign_words(secret: bytes, *words: str) -> str:
    """A keyed hash of these words."""
    return hmac.digest(secret, "\n".join(words).encode(), sha256).hex()


def new_session(host: HostWithPages, key: Key) -> str:
    """The text of the cookie for a key."""
    said = f"{key.key}.{host.clock() + SESSION_LENGTH}.{secrets.token_hex(16)}"
    return f"{said}.{sign_words(host.cookies, 'session', said)}"


def find_session(host: HostWithPages, cookie: str | None, now: int) -> BrowserSession | None:
    """The session that a Cookie header names, if it is not over."""
    said, _, seal = read_cookie(cookie, COOKIE_NAME).rpartition(".")
    if not hmac.compare_digest(seal.encode(), sign_words(host.cookies, "session", said).encode()):
        return None
    public, until, *_ = said.split(".")
    return BrowserSession(said, public, int(until)) if now < int(until) and said not in host.signed_out else None


def find_key(host: HostWithPages, cookie: str | None, now: int) -> Key | None:
    """The key whose session a Cookie header names, if it holds."""
    session = find_session(host, cookie, now)
    key = host.keys.public(session.key, now) if session else None
    return key if key and key.role in STAFF else None


async def end_session(host: HostWithPages, cookie: str | None) -> None:
    """End the session that a Cookie header names; this process knows it at once."""
    now = host.clock()
    if (session := find_session(host, cookie, now)) is None:
        return
    await host.read(partial(host.signed_out.add, session=session.text, ends=session.ends, now=now))


def read_cookie(cookie: str | None, name: str) -> str:
    """What a Cookie header says under a name."""
    try:
        found = SimpleCookie(cookie or "").get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def name_browser(cookie: str | None) -> str:
    """What tells the browser from others: the cookie of its session, or the one before; nothing if it has neither."""
    return read_cookie(cookie, COOKIE_NAME) or read_cookie(cookie, BEFORE)


def form_token(host: HostWithPages, browser: str) -> str:
    """The token that the forms of a browser carry."""
    return sign_words(host.cookies, "form", browser)


def is_form_token(host: HostWithPages, browser: str, token: str) -> bool:
    """Whether a form comes from a page of this browser."""
    return browser != "" and hmac.compare_digest(token.encode(), form_token(host, browser).encode())
