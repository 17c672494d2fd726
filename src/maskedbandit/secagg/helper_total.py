"""What the helper of two servers states of a cohort: its share of the sum, with its own noise, and of which reports.

The total alone is a uniform number of the field. The helper signs it together with the list of reports that are in it.
"""

from dataclasses import asdict, dataclass
from typing import Any, Self

from maskedbandit.errors import Malformed
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.secagg.signed_statement import SignedStatement


@dataclass(frozen=True, kw_only=True)
class HelperTotal(SignedStatement):
    """The statement of a total; its digest is that of the list of reports: `digest_reports`.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> key = Ed25519PrivateKey.generate()
    >>> said = HelperTotal(study="example", protocol="00" * 32, cohort=0, n=2, reports=2, digest="11" * 32,
    ...                    offer="22" * 32, total=7, entry=1).sign(key)
    >>> said.verify(key.public_key().public_bytes_raw())
    >>> HelperTotal.from_text(said.to_text()) == said
    True
    """

    use = b"maskedbandit helper total 1 "
    called = "helper's total"

    total: int  # of the field

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.total >= FIELD:
            raise Malformed("a number of a helper's total is not one that it can have")

    def to_table(self) -> dict[str, Any]:
        """What JSON can hold everywhere: the total is a text, as many readers have no whole numbers of that size."""
        return asdict(self) | {"total": str(self.total)}

    @classmethod
    def from_table(cls, given: Any) -> Self:
        """The statement that `to_table` wrote, or raise `Malformed`."""
        if not isinstance(given, dict) or "total" not in given:
            return super().from_table(given)
        total = given["total"]
        if type(total) is not str or not total.isascii() or not total.isdigit() or len(total) > len(str(FIELD)):
            raise Malformed("the total of a helper's total is not a decimal number as a text")
        made = super().from_table({**given, "total": int(total)})
        if str(made.total) != total:
            raise Malformed("the total of a helper's total begins with a zero")
        return made
