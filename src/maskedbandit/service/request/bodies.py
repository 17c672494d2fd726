"""Bodies of requests: their bytes, up to a limit, and what is wrong with them, in words that name nothing personal."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from maskedbandit.errors import InvalidValue, TooLarge


async def read_body(receive: Any, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """All bytes of a body, or raise `TooLarge`."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > limit:
        raise TooLarge(f"the body has {int(length)} bytes, and at most {limit} are allowed")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise TooLarge("the body ended before its length")
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge(f"the body has more than {limit} bytes")
        if not message.get("more_body"):
            return part if not parts else b"".join((*parts, part))
        parts.append(part)


def may_name_twice(raw: bytes, names: Sequence[bytes]) -> bool:
    """Whether an object in JSON may have a name twice. It is seldom said of one that has no name twice."""
    if raw.count(b":") < 2:  # one name
        return False
    return b"\\" in raw or raw.count(b"{") > 1 or any(raw.count(name) > 1 for name in names)


def check_names(raw: bytes) -> None:
    """Raise `ValueError` if an object in JSON has a name twice: two readers of it could take it for different ones."""

    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("an object has a name twice")
        return found

    json.loads(raw, object_pairs_hook=checked)


def decode_base64(name: str, text: str) -> bytes:
    """The bytes of a text in base64 for URLs, in its one form, or raise `InvalidValue`.

    >>> decode_base64("share", "-_8=")
    b'\\xfb\\xff'
    """
    try:
        found = urlsafe_b64decode(text)
    except ValueError:
        found = b""
    if urlsafe_b64encode(found).decode() != text:
        raise InvalidValue(name, "not shown", "base64 for URLs, with its padding")
    return found


class BadBody(InvalidValue):
    """The body is not of the type that the route has; it may be personal, so only the place of the fault is named."""

    def __init__(self, why: BaseException) -> None:
        text = str(why) or "not JSON"
        if "unknown field" in text:  # its name may be that of a person
            text = "an object has a field that is not known here"
        Exception.__init__(self, f"the body is not what it must be: {text}")

    @property
    def code(self) -> str:
        """The code of the parent class."""
        return "invalid_value"
