"""What one operator signs for the other: Ed25519 over bytes that begin with their use; the signature is a text."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from maskedbandit.errors import Forged


def sign_bytes(key: Ed25519PrivateKey, said: bytes) -> str:
    """The signature, which is the same each time."""
    return key.sign(said).hex()


def check_signature(signs: bytes, said: bytes, signature: str, why: str) -> None:
    """Raise `Forged`, and say why, unless whoever has this public key signed these bytes.

    A signature has one text: one with spaces or capitals is another, which nobody wrote.

    >>> key = Ed25519PrivateKey.generate()
    >>> check_signature(key.public_key().public_bytes_raw(), b"use 1", sign_bytes(key, b"use 1"), "not signed")
    """
    try:
        if (found := bytes.fromhex(signature)).hex() != signature:
            raise ValueError("of the texts of a signature one is written")
        Ed25519PublicKey.from_public_bytes(signs).verify(found, said)
    except (InvalidSignature, ValueError, TypeError):
        raise Forged(why) from None
