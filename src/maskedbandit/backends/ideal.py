"""The ideal sum: an ideal trusted party sums the devices' values and reveals the sum alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maskedbandit.backends.backend import Adder, Aggregate, Mixer, NoisyAdder
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class Ideal(Adder, NoisyAdder, Mixer):
    """No device drops out, and no value is seen. The lab draws the noise of such a sum at once, not device by device.

    >>> Ideal().sum([3, 4, 6], modulus=8, least=3, cohort=b"", bits=Bits()).total
    5
    """

    attempts = 1

    def sum(self, values: Sequence[int], modulus: int, least: int, cohort: bytes, bits: Bits) -> Aggregate:
        return Aggregate(sum(values) % modulus, range(len(values)))

    def noisy_sum(
        self, values: Sequence[int], modulus: int, largest: int, noise: Callable[[], int], cohort: bytes, bits: Bits
    ) -> Aggregate:
        return Aggregate((sum(values) + noise() + noise()) % modulus, range(len(values)))

    def mix(
        self,
        bundles: Sequence[Sequence[int]],
        below: int,
        least: int,
        cohort: bytes,
        bits: Bits,
        weights: Sequence[int] | None = None,
    ) -> tuple[list[int], Aggregate]:
        mixed = sorted(message for bundle in bundles for message in bundle)
        return mixed, Aggregate(sum(mixed), range(len(bundles)))
