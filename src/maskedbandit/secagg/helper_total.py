"""What the helper of two servers states of a cohort: its share of the sum, with its own noise, and of which reports.

The total alone is a uniform number of the field. The helper signs it together with the list of reports that are in it,
so that it cannot state another one later, and the leader, whose ledger keeps the statement, cannot put another in its
place.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import Disagreement, Malformed
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.secagg.signing import check_signature, sign_bytes

TOTAL_USE = b"maskedbandit helper total 1 "


@dataclass(frozen=True, kw_only=True)
class HelperTotal:
    """The statement of a total; it is `sign`ed by the helper, and the leader does `verify` and `match` it.

    >>> key = Ed25519PrivateKey.generate()
    >>> said = HelperTotal(study="example", protocol="00" * 32, cohort=0, n=2, reports=2, digest="11" * 32,
    ...                    offer="22" * 32, total=7, entry=1).sign(key)
    >>> said.verify(key.public_key().public_bytes_raw())
    >>> HelperTotal.from_text(said.to_text()) == said
    True
    """

    study: str
    protocol: str  # its digest
    cohort: int
    n: int  # places of the cohort
    reports: int  # in the total
    digest: str  # of the list of these reports: `digest_reports`
    offer: str  # the digest of what was offered to the cohort
    total: int  # of the field
    entry: int  # its number in the ledger of the helper
    signature: str = ""  # in hexadecimal

    def __post_init__(self) -> None:
        texts = self.study, self.protocol, self.digest, self.offer, self.signature
        numbers = self.cohort, self.n, self.reports, self.total, self.entry
        if {*map(type, texts)} != {str} or {*map(type, numbers)} != {int}:
            raise Malformed("a helper's total has texts and whole numbers, and one of these is of another type")
        if min(numbers) < 0 or self.reports > self.n or self.total >= FIELD:
            raise Malformed("a number of a helper's total is not one that it can have")

    @property
    def signed_bytes(self) -> bytes:
        """What is signed."""
        return TOTAL_USE + replace(self, signature="").to_text().encode()

    def sign(self, key: Ed25519PrivateKey) -> Self:
        """The same with a signature, which is the same each time."""
        return replace(self, signature=sign_bytes(key, self.signed_bytes))

    def verify(self, signs: bytes) -> None:
        """Raise `Forged` unless the helper with this public key signed it."""
        why = f"the helper's total of cohort {self.cohort} of {self.study} is not signed by it"
        check_signature(signs, self.signed_bytes, self.signature, why)

    def match(self, **expected: Any) -> None:
        """Raise `Disagreement` unless it states these values: those that the leader knows too."""
        for name, value in expected.items():
            if (stated := getattr(self, name)) != value:
                raise Disagreement(
                    f"the helper's total of cohort {self.cohort} of {self.study} states {name} {stated!r}: "
                    f"it must be {value!r}"
                )

    def to_table(self) -> dict[str, Any]:
        """What JSON can hold everywhere: the total is a text, as many readers have no whole numbers of that size."""
        return asdict(self) | {"total": str(self.total)}

    @classmethod
    def from_table(cls, given: Any) -> Self:
        """The statement that `to_table` wrote, or raise `Malformed`. Whoever sent it may have sent anything."""
        if not isinstance(given, dict) or given.keys() != {field.name for field in fields(cls)}:
            raise Malformed(f"a helper's total has {', '.join(field.name for field in fields(cls))}, and nothing else")
        total = given["total"]
        if type(total) is not str or not total.isascii() or not total.isdigit() or len(total) > len(str(FIELD)):
            raise Malformed("the total of a helper's total is not a decimal number as a text")
        made = cls(**{**given, "total": int(total)})
        if str(made.total) != total:
            raise Malformed("the total of a helper's total begins with a zero")
        return made

    def to_text(self) -> str:
        """The same as JSON in one form."""
        return json.dumps(self.to_table(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The statement that `to_text` wrote, or raise `Malformed`."""
        try:
            return cls.from_table(json.loads(text))
        except (ValueError, RecursionError):
            raise Malformed("a helper's total is not JSON") from None
