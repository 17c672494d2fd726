"""What the leader of two servers signs when it asks the helper for the total of a cohort: of which list of reports.

The helper's ledger keeps the signature, so a leader that was told a total cannot say later that it asked for another
one, nor a helper that it was asked. Places that are left out are not signed: the digest names the reports that are in.
"""

import json
from dataclasses import asdict, dataclass, replace
from typing import Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.secagg.signing import check_signature, sign_bytes

REQUEST_USE = b"maskedbandit leader total 1 "


@dataclass(frozen=True, kw_only=True)
class TotalRequest:
    """The request for a total; it is `sign`ed by the leader, and the helper does `verify` it.

    >>> key = Ed25519PrivateKey.generate()
    >>> asked = TotalRequest(study="example", protocol="00" * 32, cohort=0, n=2, digest="11" * 32).sign(key)
    >>> asked.verify(key.public_key().public_bytes_raw())
    """

    study: str
    protocol: str  # its digest
    cohort: int
    n: int  # places of the cohort
    digest: str  # of the list of reports that the leader has: `digest_reports`
    signature: str = ""  # in hexadecimal

    @property
    def signed_bytes(self) -> bytes:
        """What is signed."""
        table = asdict(self)
        del table["signature"]
        return REQUEST_USE + json.dumps(table, sort_keys=True, separators=(",", ":")).encode()

    def sign(self, key: Ed25519PrivateKey) -> Self:
        """The same with a signature, which is the same each time."""
        return replace(self, signature=sign_bytes(key, self.signed_bytes))

    def verify(self, signs: bytes) -> None:
        """Raise `Forged` unless the leader with this public key signed it."""
        why = f"the request for the total of cohort {self.cohort} of {self.study} is not signed by its leader"
        check_signature(signs, self.signed_bytes, self.signature, why)
