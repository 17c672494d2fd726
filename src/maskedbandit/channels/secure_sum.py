"""The common part of distributed trust, of central sums and of local sums: a protocol adds up, and hides the terms.

Devices send whole numbers modulo m, so that masks can be uniform. The three compositions differ in who adds the noise:
all devices together [CZ23, Alg. 2-3], the server to the sum [CZ23, Alg. 4-5], or each device a whole draw
[CZ23, Alg. 6-7]. The protocol is an ideal sum, or the real one that `backend` names.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from maskedbandit.backends.backend import Adder, Aggregate
from maskedbandit.backends.ideal import Ideal
from maskedbandit.channels.codec import check_modulus, encode_reward
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.offers import Offer
from maskedbandit.channels.packing import pack_vector, unpack_sum
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class SummedChannel(NoisyChannel, ABC):
    """A channel whose sum is opened only if at least ceil(honest * n) honest users of n are in it."""

    honest: Number = 1
    backend: Adder = field(default_factory=Ideal)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "honest", to_fraction("honest", self.honest))
        if Fraction(self.honest) > 1:
            raise InvalidValue("honest", float(self.honest), "a fraction of the users, above 0 and at most 1")
        if not isinstance(self.backend, Adder):
            raise InvalidValue("backend", self.backend, "a backend that adds up, such as Ideal()")

    def counted_on(self, n: int) -> int:
        """Least number of honest survivors of a cohort of n; fewer must not be released."""
        top, bottom = Fraction(self.honest).as_integer_ratio()
        return -(-top * int(n) // bottom)  # of NumPy's too, which has no numbers this large

    @abstractmethod
    def residues(self, n: int) -> tuple[int, int]:
        """The modulus m of a cohort of n, and the margin τ that it leaves for noise."""

    @abstractmethod
    def draw_own_noise(self, size: int, n: int, bits: Bits) -> list[int]:
        """What a device of a cohort of n adds to each number of a vector of so many."""

    def encode(self, vector: Sequence[float], offer: Offer, bits: Bits) -> list[int]:
        """What a device adds to each sum: its numbers in steps, with its noise, drawn before it looks at them."""
        noise = self.draw_own_noise(len(vector), offer.n, bits)
        steps = self.steps(offer.n)
        return [encode_reward(x, steps, bits, self.statistics) + z for x, z in zip(vector, noise, strict=True)]

    def offer(self, n: int, modulus: int = 0) -> Offer:
        offer, m = super().offer(n), modulus or self.residues(n)[0]
        check_modulus(m, n, offer.steps, self.statistics.low)
        return replace(offer, modulus=m)

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        return self.encode([reward], offer, bits)[0] % offer.modulus

    def randomize_vector(self, vector: Sequence[float], offer: Offer, bits: Bits) -> int:
        return pack_vector(self.encode(vector, offer, bits), offer.modulus)

    def aggregate(self, sent: Sequence[int], offer: Offer, bits: Bits, cohort: bytes = b"") -> Aggregate:
        return self.backend.sum(sent, offer.modulus, self.counted_on(offer.n), offer.digest + cohort, bits)

    def aggregate_vectors(
        self, sent: Sequence[int], size: int, offer: Offer, bits: Bits, cohort: bytes = b""
    ) -> Aggregate:
        n, m = offer.n, offer.modulus
        found = self.backend.sum(sent, m**size, self.counted_on(n), offer.digest + cohort, bits)
        return unpack_sum(found, size, m, n * offer.steps + self.residues(n)[1])

    def check_size(self, n: int, memory: Any = None, stream: int | None = None) -> None:
        self.residues(n)
        self.backend.check_size(n, self.counted_on(n))
