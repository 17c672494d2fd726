"""A signature of a statement that is kept beside it, for whoever does not sign on paper. What is signed is

    maskedbandit-statement-1 DIGEST

with the digest that the printed page names; the pair of keys is one that `maskedbandit key signer` makes.
"""

from hashlib import sha256

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from maskedbandit.errors import Contradicted, InvalidValue


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """A signature, and the public key of whoever signed."""

    signed_by: str
    signature: str


def said(statement: bytes) -> bytes:
    """What is signed."""
    return f"maskedbandit-statement-1 {sha256(statement).hexdigest()}".encode()


def signed(statement: bytes, private: str) -> bytes:
    """The file of the signature.

    >>> file = signed(b"a statement", "11" * 32)
    >>> check_signature(b"a statement", file, "d04ab232742bb4ab3a1368bd4615e4e6d0224ab71a016baf8520a332c9778737")
    """
    try:
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(private))
    except ValueError:
        raise InvalidValue("private key", "what was given", "one that `maskedbandit key signer` made") from None
    public = key.public_key().public_bytes_raw().hex()
    return msgspec.json.encode(Signature(public, key.sign(said(statement)).hex())) + b"\n"


def check_signature(statement: bytes, file: bytes, public: str) -> None:
    """Raise `Contradicted` unless the file is the signature of the statement with this key."""
    try:
        found = msgspec.json.decode(file, type=Signature)
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(found.signature), said(statement))
    except (InvalidSignature, ValueError):
        raise Contradicted(f"the signature is not one of this statement with the key {public}") from None
