"""What all parties of a round agree on before it begins.

Everybody computes the plan alone and takes nothing of it from the server: its hash names the round, and whoever has
another plan cannot take part. Once the keys are known, the hash of the plan and of all keys names the session; it is in
every seal, signature and mask, so nothing of one session means anything in another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from maskedbandit.errors import InvalidValue
from maskedbandit.secagg.graph import window

VERSION = 1
MOST = 1 << 32  # users of a round


@dataclass(frozen=True)
class Plan:
    """The parameters of one round.

    `cohort` names the study, the cohort, the attempt and the noise that the devices add, `n` users are invited, each
    shares its secrets with `neighbours` others, of whom `threshold` can rebuild them; the sum is opened only if
    `least` values are in it. `signed` rounds have signed keys, and survivors that the devices compare. `ring` is
    the hash of the seed that puts the users in order.

    >>> Plan(b"arm 3, cohort 1", 64, 63, 40, 52, 2**10, True, sha256(b"seed").digest()).round.hex()[:8]
    '0613df1b'
    """

    cohort: bytes
    n: int
    neighbours: int
    threshold: int
    least: int
    modulus: int
    signed: bool
    ring: bytes

    def __post_init__(self) -> None:
        if not 3 <= self.n < MOST:
            raise InvalidValue("users of a round", self.n, "a whole number of at least 3, below 2^32")
        if self.neighbours != self.n - 1 and (self.neighbours % 2 or not 2 <= self.neighbours < self.n):
            raise InvalidValue("neighbours", self.neighbours, f"{self.n - 1}, or an even number below that")
        if not 2 <= self.threshold <= self.neighbours:
            raise InvalidValue("threshold", self.threshold, f"a whole number from 2 to {self.neighbours}")
        if not self.threshold <= self.least <= self.n:
            raise InvalidValue("least", self.least, f"a whole number from {self.threshold} to {self.n}")
        if not 2 <= self.modulus <= 1 << 64:
            raise InvalidValue("modulus", self.modulus, "a whole number from 2 to 2^64")

    @cached_property
    def round(self) -> bytes:
        """The name of the round: a hash of the plan."""
        numbers = (VERSION, self.n, self.neighbours, self.threshold, self.least, self.modulus, int(self.signed))
        text = b"".join(number.to_bytes(9) for number in numbers)
        return sha256(b"maskedbandit round" + text + self.ring + self.cohort).digest()

    def session(self, root: bytes, count: int) -> bytes:
        """The name of the session: a hash of the plan and of all keys, of which `root` is the commitment."""
        return sha256(b"maskedbandit session" + self.round + root + count.to_bytes(4)).digest()

    def around(self, position: int, count: int) -> list[int]:
        """Positions of the neighbours, if `count` users are in the ring."""
        return window(position, count, min(self.neighbours, count - 1))
