"""Tokens of people: an application's backend signs who comes, and nobody else can invent people, or come in their name.

The protocol of a study names the public keys; the backend keeps a private one. A token is KEY.EXPIRES.SIGNATURE: the
first 16 digits of the SHA-256 of the public key, in hexadecimal; whole seconds since 1970; and the signature, of

    maskedbandit-person-1 STUDY EXPIRES UNIT
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from maskedbandit.device_refusals import (
    TokenExpired,
    TokenExpiresTooLate,
    TokenForged,
    TokenMalformed,
    TokenMissing,
    TokenUnknownKey,
)
from maskedbandit.errors import InvalidValue

LONGEST_LIFE = 30 * 86_400  # seconds for which a token holds at most
MOST_SIGNERS = 8  # keys of one application: more than one while it changes them
_PUBLIC = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_FIELD = 2**255 - 19
_EIGHTH = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
_SMALL_ORDER = {0, 1, _FIELD - 1, _EIGHTH, _FIELD - _EIGHTH}  # what the eight points of small order have as y
_TOKEN = re.compile(r"([0-9a-f]{16})\.(0|[1-9][0-9]{0,11})\.([0-9a-f]{128})", re.ASCII)


def write_person_text(study: str, unit: str, expires: int) -> bytes:
    """What is signed."""
    return f"maskedbandit-person-1 {study} {expires} {unit}".encode()


def sign_person(private: str, study: str, unit: str, expires: int) -> str:
    """The token with which a person comes to a study, until a time in whole seconds since 1970.

    >>> public = Ed25519PrivateKey.from_private_bytes(bytes.fromhex("11" * 32)).public_key().public_bytes_raw().hex()
    >>> token = sign_person("11" * 32, "newsletter", "ann", expires=1_000_600)
    >>> check_token([public], "newsletter", "ann", token, now=1_000_000_000)
    >>> check_token([public], "newsletter", "bob", token, now=1_000_000_000)
    Traceback (most recent call last):
    maskedbandit.device_refusals.TokenForged: the signature of the token is not one of this person in this study
    """
    if type(expires) is not int or not 0 <= expires < 10**12:
        raise InvalidValue("expires", expires, "whole seconds since 1970")
    if not study or " " in study:
        raise InvalidValue("study", study, "the name of a study")
    try:
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(private))
    except (ValueError, TypeError):
        raise InvalidValue("private", "not shown", "the private key of Ed25519 in hexadecimal, 64 digits") from None
    signature = key.sign(write_person_text(study, unit, expires)).hex()
    return f"{name_signer(key.public_key().public_bytes_raw())}.{expires}.{signature}"


def name_signer(public: bytes) -> str:
    """By what tokens name a public key."""
    return sha256(public).hexdigest()[:16]


@lru_cache(maxsize=1024)
def read_signer(public: str) -> tuple[str, Ed25519PublicKey]:
    """The name of a public key in hexadecimal, and the key."""
    raw = bytes.fromhex(public)
    return name_signer(raw), Ed25519PublicKey.from_public_bytes(raw)


def check_token(signed_by: Sequence[str], study: str, unit: str, token: str | None, now: int) -> None:
    """Raise unless one of these keys has signed the token for this person in this study, and it is valid now.

    The time is in milliseconds since 1970. What is raised says nothing of the person.
    """
    if not token:
        raise TokenMissing("the study asks for people whom the application has signed: send the person's token")
    if (found := _TOKEN.fullmatch(token)) is None:
        raise TokenMalformed("the token is not one of a person, KEY.EXPIRES.SIGNATURE: `sign_person` makes one")
    name, expires, signature = found[1], int(found[2]), bytes.fromhex(found[3])
    key = dict(map(read_signer, signed_by)).get(name)
    if key is None:
        raise TokenUnknownKey("the token is signed by a key that is not in `signed_by` of the study's protocol")
    try:
        key.verify(signature, write_person_text(study, unit, expires))
    except InvalidSignature:
        raise TokenForged("the signature of the token is not one of this person in this study") from None
    if now >= 1000 * expires:
        raise TokenExpired("the token has expired: ask the application's backend for a new one")
    if 1000 * expires - now > 1000 * LONGEST_LIFE:
        raise TokenExpiresTooLate(f"the token must expire within {LONGEST_LIFE // 86_400} days")


def read_signers(value: Any) -> tuple[str, ...]:
    """The `signed_by` of a protocol: public keys of Ed25519 in hexadecimal, one or a list; if none, nobody signs.

    >>> read_signers(None), read_signers("ab" * 32) == read_signers(["ab" * 32])
    ((), True)
    """
    if value is None:
        return ()
    keys = value if isinstance(value, list) else [value]
    allowed = f"the public key of Ed25519 in hexadecimal, 64 digits, or a list of up to {MOST_SIGNERS} of them"
    if not 1 <= len(keys) <= MOST_SIGNERS:
        raise InvalidValue("signed_by", value, allowed)
    if not all(isinstance(key, str) and _PUBLIC.fullmatch(key) for key in keys):
        raise InvalidValue("signed_by", value, allowed)
    if any(map(is_forgeable, keys)):
        raise InvalidValue("signed_by", value, "a generated key: with this one anybody can sign")
    if len({key.lower() for key in keys}) < len(keys):
        raise InvalidValue("signed_by", value, "without repeats")
    return tuple(keys)


def is_forgeable(public: str) -> bool:
    """Whether anybody can sign for a public key: what is signed of a point of small order holds by chance.

    >>> is_forgeable("00" * 32), is_forgeable("ab" * 32)
    (True, False)
    """
    return int.from_bytes(bytes.fromhex(public), "little") % 2**255 % _FIELD in _SMALL_ORDER
