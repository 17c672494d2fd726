"""Units that an application has signed: nobody else can then invent people, or take part in another's name.

The protocol of a study names the public key; the application keeps the private one. A token is the signature of

    maskedbandit-unit-1 STUDY UNIT
"""

from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from maskedbandit.errors import InvalidValue


def write_unit_text(study: str, unit: str) -> bytes:
    """What is signed."""
    return f"maskedbandit-unit-1 {study} {unit}".encode()


def sign_unit(private: str, study: str, unit: str) -> str:
    """The token of a unit.

    >>> private = "11" * 32
    >>> public = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(private)).public_key().public_bytes_raw().hex()
    >>> token = sign_unit(private, "newsletter", "ann")
    >>> is_signed(public, "newsletter", "ann", token), is_signed(public, "newsletter", "bob", token)
    (True, False)
    """
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(private)).sign(write_unit_text(study, unit)).hex()


def is_signed(public: str, study: str, unit: str, token: Any) -> bool:
    """Whether a token is the signature of this unit."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(
            bytes.fromhex(token), write_unit_text(study, unit)
        )
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def check_public_key(value: Any) -> str | None:
    """The `signed_by` of a protocol: a public key of Ed25519 in hexadecimal, or nothing."""
    if value is None:
        return None
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(value))
    except (ValueError, TypeError):
        raise InvalidValue("signed_by", value, "the public key of Ed25519 in hexadecimal, 64 digits") from None
    return str(value)
