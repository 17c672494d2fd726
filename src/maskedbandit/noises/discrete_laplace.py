"""Discrete Laplace noise with Pólya noise shares: pure differential privacy [CZ23, Thm. 1].

    P(z) = (1 − b) / (1 + b) b^|z|,    b = exp(−1 / scale)

A draw is the difference of two geometric variables; a geometric variable is the sum of n independent Pólya(1/n, b)
variables, P(x) = C(r + x − 1, x) b^x (1 − b)^r with r = 1/n [GX15]. So if n users each add the difference of two Pólya
variables, the sum is exactly one draw [CZ23, Fact 1]. (NumPy's and SciPy's negative binomial take 1 − b.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from maskedbandit.core import Integers, kernel
from maskedbandit.law import LAPLACE
from maskedbandit.noises.noise import Noise, Probabilities, draw_poisson
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.privacy.laplace_sums import laplace_sum_curve, shortfall_loss
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits, discrete_laplace, draw_laplace_shares
from maskedbandit.privacy.statistics import SINGLE_REWARD, Statistics


@dataclass(frozen=True)
class DiscreteLaplace(Noise):
    """Integer noise with pure differential privacy [CZ23, Thm. 1].

    **Guarantee**: an integer of sensitivity D plus one draw has pure loss D / scale; a vector with a draw
    for each of its integers has the pure loss D / scale, D its largest change in sum.

    >>> DiscreteLaplace().stretch(Fraction(10)).loss(sensitivity=1).epsilon()
    0.1
    """

    scale: Fraction = Fraction(1)
    kind = LAPLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", to_fraction("scale", self.scale))

    def stretch(self, factor: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale * factor)

    def norm(self, statistics: Statistics) -> Fraction:
        return statistics.l1

    def norm_of_levels(self, levels: int) -> Fraction:
        return Fraction(levels)

    def noise_share(self, n: int, bits: Bits) -> int:
        return self.noise_shares(1, n, bits)[0]

    def noise_shares(self, size: int, n: int, bits: Bits) -> list[int]:
        if n == 1:
            return [discrete_laplace(self.scale, bits) for _ in range(size)]
        return draw_laplace_shares(size, Fraction(1, n), self.scale, bits)

    def sum_of_shares(self, people: int, n: int, bits: Bits) -> int:
        return draw_laplace_shares(1, Fraction(people, n), self.scale, bits)[0]

    def pmf(self, z: Integers, count: float = 1.0) -> Probabilities:
        x, rate = np.abs(z), 1 / float(self.scale)
        if count == 1.0:
            return math.tanh(rate / 2) * np.exp(-rate * x)
        # sum of p(k) p(k + x) over k, p the distribution Pólya(count, b): all terms are positive, so nothing cancels
        terms = math.ceil((2 * count + 10 * math.sqrt(count) + 40) / rate) + 20
        k = np.arange(1, terms + int(x.max()))
        log = np.concatenate(([0.0], np.cumsum(np.log1p((count - 1) / k)) - rate * k))
        p = np.exp(log + count * math.log(-math.expm1(-rate)))
        far, where = np.unique(x, return_inverse=True)
        answer: Probabilities = np.array([p[:terms] @ p[each : each + terms] for each in far])[where]
        return answer

    def loss(self, sensitivity: int, noise_shares: int = 1, statistics: Statistics = SINGLE_REWARD) -> Loss:
        if not statistics.is_single:
            return Loss.pure(statistics.l1 * sensitivity / self.scale)
        return Loss.discrete_laplace(self.scale, sensitivity)

    def loss_of_shares(self, sensitivity: int, shares: int, of: int, statistics: Statistics = SINGLE_REWARD) -> Loss:
        """Of a vector whose `moved` numbers share l1 the loss is at most that of equal moves: see `shortfall_loss`."""
        if shares >= of and not statistics.is_single:
            return self.loss(sensitivity, of, statistics)
        if shares >= of:
            curve = laplace_sum_curve(self.scale, Fraction(shares, of), sensitivity)
            return replace(self.loss(sensitivity), curve=curve)
        each = math.ceil(statistics.l1 * sensitivity / statistics.moved)
        return Loss.pure(statistics.moved * shortfall_loss(self.scale, Fraction(shares, of), each))

    def joint_loss(self, l1: Fraction, square: Fraction, early: bool) -> Loss:
        return Loss.pure(
            l1 / self.scale
        )  # P(z) <= exp(|v|_1 / scale) P(z + v) for vectors of draws, hence for all functions of them

    @staticmethod
    @kernel
    def draws(scale: float, count: float, rng: np.random.Generator) -> int:
        success = -math.expm1(-1.0 / scale)
        if count == 1.0:
            return rng.geometric(success) - rng.geometric(success)
        odds = math.exp(-1.0 / scale) / success  # b / (1 - b): the mean of a Pólya variable of shape 1
        return draw_poisson(odds * rng.standard_gamma(count), rng) - draw_poisson(odds * rng.standard_gamma(count), rng)
