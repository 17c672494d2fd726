"""The released sum of a further outcome, as an entry of the ledger says it."""

from typing import NamedTuple, Self


class FurtherSum(NamedTuple):
    """The released sum of a further outcome, with noise of its own."""

    total: float
    offer: str  # the digest of what was offered to the cohort: which noise, and of which outcome

    def to_text(self) -> list[str]:
        """As an entry says it."""
        return [self.total.hex(), self.offer]

    @classmethod
    def from_text(cls, total: str, offer: str) -> Self:
        """What `to_text` wrote."""
        if not isinstance(offer, str):
            raise TypeError(f"its offer is {offer!r}")
        return cls(float.fromhex(total), offer)
