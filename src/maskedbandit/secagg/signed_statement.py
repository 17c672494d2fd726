"""What one operator states of a cohort, and signs, so that it cannot state anything else later.

The other operator, whose ledger keeps the statement, cannot put another in its place.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import Disagreement, Malformed
from maskedbandit.secagg.signing import check_signature, sign_bytes


@dataclass(frozen=True, kw_only=True)
class SignedStatement:
    """It is `sign`ed by the helper, and the leader does `verify` and `match` it."""

    use: ClassVar[bytes]  # of the signature
    called: ClassVar[str]

    study: str
    protocol: str  # its digest
    cohort: int
    n: int  # places of the cohort
    reports: int  # in what is stated
    digest: str
    offer: str  # the digest of what was offered to the cohort
    entry: int  # its number in the ledger of the helper
    signature: str = ""  # in hexadecimal

    def __post_init__(self) -> None:
        for field in fields(self):
            if type(getattr(self, field.name)) is not field.type:
                raise Malformed(f"a {self.called} has texts and whole numbers, and one of these is of another type")
        numbers = [getattr(self, field.name) for field in fields(self) if field.type is int]
        if min(numbers) < 0 or self.reports > self.n:
            raise Malformed(f"a number of a {self.called} is not one that it can have")

    @property
    def signed_bytes(self) -> bytes:
        """What is signed."""
        return self.use + replace(self, signature="").to_text().encode()

    @property
    def which(self) -> str:
        """What errors call it."""
        return f"the {self.called} of cohort {self.cohort} of {self.study}"

    def sign(self, key: Ed25519PrivateKey) -> Self:
        """The same with a signature, which is the same each time."""
        return replace(self, signature=sign_bytes(key, self.signed_bytes))

    def verify(self, signs: bytes) -> None:
        """Raise `Forged` unless the helper with this public key signed it."""
        check_signature(signs, self.signed_bytes, self.signature, f"{self.which} is not signed by it")

    def match(self, **expected: Any) -> None:
        """Raise `Disagreement` unless it states these values: those that the leader knows too."""
        for name, value in expected.items():
            if (stated := getattr(self, name)) != value:
                raise Disagreement(f"{self.which} states {name} {stated!r}: it must be {value!r}")

    def to_table(self) -> dict[str, Any]:
        """What JSON can hold everywhere."""
        return asdict(self)

    @classmethod
    def from_table(cls, given: Any) -> Self:
        """The statement that `to_table` wrote, or raise `Malformed`. Whoever sent it may have sent anything."""
        if not isinstance(given, dict) or given.keys() != {field.name for field in fields(cls)}:
            raise Malformed(f"a {cls.called} has {', '.join(field.name for field in fields(cls))}, and nothing else")
        return cls(**given)

    def to_text(self) -> str:
        """The same as JSON in one form."""
        return json.dumps(self.to_table(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The statement that `to_text` wrote, or raise `Malformed`."""
        try:
            return cls.from_table(json.loads(text))
        except (ValueError, RecursionError):
            raise Malformed(f"a {cls.called} is not JSON") from None
