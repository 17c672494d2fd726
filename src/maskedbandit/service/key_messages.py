"""Messages about keys: making them, and listing them without their secrets."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from maskedbandit.service.messages import Body, ShortName
from maskedbandit.service.origins import LONGEST_ORIGIN, MOST_ORIGINS

Origin = Annotated[str, Meta(max_length=LONGEST_ORIGIN, description="scheme://host or scheme://host:port")]


class NewKey(Body):
    """A key to be made; one of a device is for a study, and for pages of these origins, as `https://shop.example`."""

    role: Literal["owner", "officer", "client", "device"]
    study: ShortName | None = None
    origins: Annotated[list[Origin], Meta(max_length=MOST_ORIGINS)] = field(default_factory=list)


class KeyMade(Struct):
    """A new key. It is shown only once."""

    key: str


class KeyListed(Struct):
    """A key without its secret."""

    key: str
    role: str
    study: str | None
    made: int
    ends: int | None
    origins: list[str]  # of a device key
    last_used: str | None  # the day in UTC, as 2026-11-26; reports do not count, as when somebody reports is private


class KeysListed(Struct):
    """All keys."""

    keys: list[KeyListed]
