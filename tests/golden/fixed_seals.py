"""HPKE of reports with ephemeral keys that are given: known answers need them, and `cryptography` draws its own.

What is sealed here is opened by the suite that operators use: tests/device/test_known_answers.py.
"""

import hmac
from collections.abc import Iterator

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEM = b"KEM" + (0x20).to_bytes(2)  # DHKEM(X25519, HKDF-SHA256)
HPKE = b"HPKE" + (0x20).to_bytes(2) + (1).to_bytes(2) + (1).to_bytes(2)  # with HKDF-SHA256 and AES-128-GCM


def extract(salt: bytes, suite: bytes, label: bytes, key: bytes) -> bytes:
    """LabeledExtract of RFC 9180."""
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + key, "sha256")


def expand(key: bytes, suite: bytes, label: bytes, info: bytes, size: int) -> bytes:
    """LabeledExpand of RFC 9180, for at most 32 bytes."""
    text = size.to_bytes(2) + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, text + b"\x01", "sha256")[:size]


def seal(plaintext: bytes, public: bytes, info: bytes, ephemeral: bytes) -> bytes:
    """The ephemeral public key, and what it seals."""
    private = X25519PrivateKey.from_private_bytes(ephemeral)
    own = private.public_key().public_bytes_raw()
    shared = private.exchange(X25519PublicKey.from_public_bytes(public))
    secret = expand(extract(b"", KEM, b"eae_prk", shared), KEM, b"shared_secret", own + public, 32)
    context = b"\x00" + extract(b"", HPKE, b"psk_id_hash", b"") + extract(b"", HPKE, b"info_hash", info)
    key = extract(secret, HPKE, b"secret", b"")
    aead = AESGCM(expand(key, HPKE, b"key", context, 16))
    return own + aead.encrypt(expand(key, HPKE, b"base_nonce", context, 12), plaintext, None)


class FixedSuite:
    """A suite that seals with these ephemeral keys, one after the other."""

    def __init__(self, ephemeral: Iterator[bytes]) -> None:
        self._ephemeral = ephemeral

    def encrypt(self, plaintext: bytes, key: X25519PublicKey, info: bytes) -> bytes:
        return seal(plaintext, key.public_bytes_raw(), info, next(self._ephemeral))
