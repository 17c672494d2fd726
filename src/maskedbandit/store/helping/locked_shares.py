"""The helper's shares of values, from when they were read to their total: locked, with a key that is at the witness.

A share is locked together with the row in which it stands, so none is unlocked in a row that was changed, or in
another one.
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from maskedbandit.errors import Forged


class ShareLock:
    """What locks and unlocks the shares of one helper.

    >>> lock = ShareLock(bytes(32))
    >>> lock.unlock(lock.lock(7, b"a row"), b"a row")
    7
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)  # it needs no nonce, so nothing of it is used twice after a copy was restored

    def lock(self, value: int, row: bytes) -> str:
        """A share of a value, in a form that tells nothing of it without the key."""
        return self._cipher.encrypt(value.to_bytes(8), [row]).hex()

    def unlock(self, locked: str, row: bytes) -> int:
        """The share, or raise `Forged`."""
        try:
            return int.from_bytes(self._cipher.decrypt(bytes.fromhex(locked), [row]))
        except (InvalidTag, ValueError):
            raise Forged("a share was not locked by this helper, or not with this row") from None
