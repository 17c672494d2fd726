"""Discrete Gaussian noise, with noise shares that nearly sum to it: concentrated differential privacy [CKS20].

P(z) is proportional to exp(−z² / (2 variance)) on the integers. It is not divisible: n noise shares of variance / n sum
to a discrete Gaussian only nearly, and the loss includes the difference [KLS21, Prop. 13; CZ23, Lem. 4].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from maskedbandit.core import Integers, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import GAUSSIAN
from maskedbandit.noises.noise import Noise, Probabilities
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.privacy.sampling import Bits, discrete_gaussian
from maskedbandit.privacy.statistics import SINGLE_REWARD, Statistics, root_above

SHARE_VARIANCE = 2  # variance of a noise share from which the sum of all has the distribution of a draw to within 1e-7


FARTHEST_DRAW = 12  # a draw of variance below 2 is larger with probability 1e-16


@kernel
def separate(scale: float, count: float) -> int:
    """The number of parts to draw `count` draws in: one draw of their joint variance, or all draws if narrow."""
    return max(1, int(count)) if scale * scale < SHARE_VARIANCE else 1


@kernel
def sum_of_narrow(variance: float, parts: int, rng: np.random.Generator) -> int:
    """The sum of many independent draws of a variance below 2: how many of them are 0, 1, -1, 2, ... in turn."""
    chance = np.zeros(2 * FARTHEST_DRAW + 1)
    for i in range(2 * FARTHEST_DRAW + 1):
        z = (i + 1) // 2
        chance[i] = math.exp(-z * z / (2 * variance))
    rest = np.cumsum(chance[::-1])[::-1]  # of this value and all after it
    total, left = 0, parts
    for i in range(2 * FARTHEST_DRAW + 1):
        here = rng.binomial(left, min(1.0, chance[i] / rest[i]))
        total += here * ((i + 1) // 2) * (1 if i % 2 == 1 else -1)
        left -= here
        if left == 0:
            break
    return total


@dataclass(frozen=True)
class DiscreteGaussian(Noise):
    """Integer noise with zero-concentrated differential privacy; `scale` is the standard deviation.

    **Guarantee**: an integer of sensitivity D plus one draw has zCDP loss D² / (2 scale²) [CKS20, Thm. 4]; with n noise
    shares it is e² / 2 with e = min{√(d² + ξ/2), d + ξ}, d = D / scale and ξ = 10 Σ_{k<n} exp(−2 π² (scale² / n) k / (k
    + 1)) [KLS21, Prop. 13].

    A vector of s integers with a draw for each has the sum of their losses. So d² is its largest change in squares over
    scale², and each integer adds a ξ of its own, as if all of them changed: e² = min{d² + s ξ/2, d² + 2 ξ l + s ξ²}, l
    its largest change in sum, over scale. For s = 1 it is the above.

    >>> DiscreteGaussian().stretch(Fraction(10)).loss(sensitivity=1).without_single() == Loss.zcdp("1/200")
    True
    """

    scale: Fraction = Fraction(1)
    kind = GAUSSIAN

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", to_fraction("scale", self.scale))

    def stretch(self, factor: Fraction) -> DiscreteGaussian:
        return DiscreteGaussian(self.scale * factor)

    def noise_share(self, n: int, bits: Bits) -> int:
        self.check(n)
        return discrete_gaussian(self.scale**2 / n, bits)

    def check(self, n: int) -> None:
        if n > 1 and self.scale**2 < SHARE_VARIANCE * n:
            raise InvalidValue(
                f"the variance of a discrete Gaussian for {n} noise shares",
                float(self.scale**2),
                f"at least {SHARE_VARIANCE * n}, as narrower noise shares do not sum to it (a finer grid widens them)",
            )

    def pmf(self, z: Integers, count: float = 1.0) -> Probabilities:
        parts = separate(float(self.scale), count)
        variance = count * float(self.scale) ** 2 / parts
        far = math.ceil(40 * math.sqrt(variance)) + 1
        mass: Probabilities = np.exp(-(np.arange(-far, far + 1) ** 2.0) / (2 * variance))
        if parts == 1:
            answer: Probabilities = np.exp(-(z.astype(float) ** 2) / (2 * variance)) / mass.sum()
            return answer
        one = mass = mass / mass.sum()
        for bit in bin(parts)[3:]:
            mass = np.convolve(mass, mass)
            mass = np.convolve(mass, one) if bit == "1" else mass
        far = mass.size // 2
        return np.where(abs(z) <= far, mass[np.clip(z + far, 0, 2 * far)], 0.0)

    def loss(self, sensitivity: int, noise_shares: int = 1, statistics: Statistics = SINGLE_REWARD) -> Loss:
        return self.loss_of_shares(sensitivity, noise_shares, noise_shares, statistics)

    def loss_of_shares(self, sensitivity: int, shares: int, of: int, statistics: Statistics = SINGLE_REWARD) -> Loss:
        if shares == of == 1 and statistics.is_single:
            return Loss.discrete_gaussian(self.scale**2, sensitivity)
        self.check(of)
        rho = self.rho(sensitivity, shares, of, statistics)
        if shares > of:  # more noise costs no more
            rho = min(rho, self.rho(sensitivity, of, of, statistics))
        return Loss.zcdp(rho)

    def rho(self, sensitivity: int, shares: int, of: int, statistics: Statistics) -> Fraction:
        """The bound above on the zCDP loss, for so many noise shares `of` each of which many make a draw."""
        unit = sensitivity / self.scale * root_above(Fraction(of, shares))
        square, l1, s = statistics.square * unit**2, statistics.l1 * unit, statistics.moved
        if shares == 1:
            return square / 2
        # the terms fall with k, so that of k = 10^4 bounds all later ones
        rate = 2 * math.pi**2 * float(self.scale**2) / of
        first = sum(math.exp(-rate * k / (k + 1)) for k in range(1, min(shares, 10_000)))
        rest = max(0, shares - 10_000) * math.exp(-rate * 10_000 / 10_001)
        xi = Fraction(10 * (first + rest) * (1 + 1e-9))
        return min(square + s * xi / 2, square + 2 * xi * l1 + s * xi**2) / 2

    def joint_loss(self, l1: Fraction, square: Fraction, early: bool) -> Loss:
        """rho = square / (2 scale^2) [CKS20, Thm. 4].

        Given the outputs before, draws that showed early lie on a coset of a lattice that holds the move v. To move a
        discrete Gaussian there by v costs R(a) = a |v|^2 / (2 scale^2) exactly, at whole orders a; between them
        (a - 1) R(a) is convex, so it is below its chord.
        """
        rho = square / (2 * self.scale**2)
        if not early:
            return Loss.zcdp(rho)
        chords = (rho * (order + (order % 1) * (1 - order % 1) / (order - 1)) for order in ORDERS)
        return replace(Loss.zcdp(rho), curve=tuple(chords))

    @staticmethod
    @kernel
    def draws(scale: float, count: float, rng: np.random.Generator) -> int:
        parts = separate(scale, count)
        if parts > 1:
            return sum_of_narrow(scale * scale, parts, rng)
        variance = count * scale * scale
        width = math.floor(math.sqrt(variance)) + 1.0  # rejection from discrete Laplace noise [CKS20, Alg. 3]
        success = -math.expm1(-1.0 / width)
        while True:
            z = rng.geometric(success) - rng.geometric(success)
            off = abs(z) - variance / width
            if rng.random() < math.exp(-(off * off) / (2 * variance)):
                return z
