"""Skellam noise with Skellam noise shares: Rényi differential privacy [AKL21; CZ23, Thm. 2].

A draw is the difference of two Poisson(variance / 2) variables; noise shares have variance / n. It is closed under
sums, and its Rényi loss is close to that of a Gaussian of the same variance [AKL21, Thm. 3.5].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maskedbandit.core import Integers, kernel
from maskedbandit.law import SKELLAM
from maskedbandit.noises.noise import Noise, Probabilities, draw_poisson
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits, skellam
from maskedbandit.privacy.statistics import SINGLE_REWARD, Statistics


@dataclass(frozen=True)
class Skellam(Noise):
    """Integer noise with Rényi differential privacy [CZ23, Thm. 2]; `scale` is the standard deviation.

    **Guarantee**: an integer of sensitivity D plus one draw has the Rényi loss `Loss.skellam(scale^2, D)`;
    a vector has that of `Loss.skellam_of_vector`.

    >>> Skellam().stretch(Fraction(10)).loss(sensitivity=1).epsilon(1e-6) < 0.46
    True
    """

    scale: Fraction = Fraction(1)
    kind = SKELLAM

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", to_fraction("scale", self.scale))

    def stretch(self, factor: Fraction) -> Skellam:
        return Skellam(self.scale * factor)

    def noise_share(self, n: int, bits: Bits) -> int:
        return skellam(self.scale**2 / n, bits)

    def sum_of_shares(self, people: int, n: int, bits: Bits) -> int:
        return skellam(self.scale**2 / n * people, bits)

    def pmf(self, z: Integers, count: float = 1.0) -> Probabilities:
        from scipy.special import ive

        answer: Probabilities = ive(abs(z), count * float(self.scale) ** 2)
        return answer

    def loss(self, sensitivity: int, noise_shares: int = 1, statistics: Statistics = SINGLE_REWARD) -> Loss:
        return self.loss_of_shares(sensitivity, 1, 1, statistics)

    def loss_of_shares(self, sensitivity: int, shares: int, of: int, statistics: Statistics = SINGLE_REWARD) -> Loss:
        variance = self.scale**2 * Fraction(shares, of)
        if not statistics.is_single:
            return Loss.skellam_of_vector(variance, statistics.l1 * sensitivity, statistics.square * sensitivity**2)
        return Loss.skellam(variance, sensitivity)

    @staticmethod
    @kernel
    def draws(scale: float, count: float, rng: np.random.Generator) -> int:
        mean = count * scale * scale / 2
        return draw_poisson(mean, rng) - draw_poisson(mean, rng)
