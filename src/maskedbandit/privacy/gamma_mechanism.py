"""The Gamma mechanism: pure privacy for a vector whose change is bounded in length [CM08; MT15, Sec. 2.1].

    P(z) ∝ exp(−|z| / b)  on vectors of p integers,        b = sensitivity / ε, |z| the Euclidean length

Two people move the vector by at most `sensitivity` in length, so |z| by no more: P changes by e^ε at most, for every
release. The name is that of the continuous version, in which |z| has a Gamma distribution of shape p and scale b, and
the direction is uniform. Its mean square is p (p + 1) b². Laplace noise on each number must allow for a change of √p
times the sensitivity in sum, and has 2 p² b²: so this mechanism has a little more than half of the squared error, if
the numbers are many.

**Exactness**: with t ≥ √p b, discrete Laplace draws of scale t on each number are kept with probability exp(|z|_1 / t −
|z| / b), which is at most 1 since |z|_1 ≤ √p |z|. That probability is irrational; a coin of it is tossed with whole
numbers alone, by bounds on the root that are refined until they decide. One in 1.3 draws is kept for p = 2, one in 4
for p = 6, one in 170 for p = 20.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

import numpy as np

from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue, PersonalValue
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.sampling import Bits, bernoulli_exp, discrete_laplace
from maskedbandit.privacy.statistics import root_above

FIRST_PRECISION = 64  # bits of the first bounds
MOST_NUMBERS = 30  # of a vector: beyond, thousands of draws are rejected for each that is kept

Bounds = Callable[[int], tuple[Fraction, Fraction]]


@dataclass(frozen=True, init=False)
class GammaMechanism:
    """Adds noise to a vector of integers, of which one person moves the length by at most `sensitivity`.

    >>> from random import Random
    >>> mechanism = GammaMechanism(epsilon="1/2", sensitivity=10)
    >>> mechanism.release([100, 200, 300], Bits(Random(7).randbytes)), float(mechanism.mean_square(3))
    ([82, 237, 315], 4800.0)
    """

    epsilon: Fraction
    sensitivity: Fraction

    def __init__(self, epsilon: Number, sensitivity: Number) -> None:
        object.__setattr__(self, "epsilon", to_fraction("epsilon", epsilon))
        object.__setattr__(self, "sensitivity", to_fraction("sensitivity", sensitivity))

    @property
    def scale(self) -> Fraction:
        """b."""
        return self.sensitivity / self.epsilon

    def release(self, vector: Sequence[int], bits: Bits) -> list[int]:
        """The vector plus exact noise.

        **Guarantee**: pure loss `epsilon` of whoever moves the vector by at most `sensitivity` in length.

        Numbers that are not whole are refused: two that are close could be rounded apart by more than `sensitivity`.
        """
        noise = self.draw_noise(len(vector), bits)  # before the vector is looked at: its time depends on the draw
        if not all(isinstance(number, Integral) for number in vector):
            raise PersonalValue("vector", "whole numbers")
        return [int(number) + z for number, z in zip(vector, noise, strict=True)]

    def draw_noise(self, size: int, bits: Bits) -> list[int]:
        """A vector of noise.

        **Guarantee**: P(z) ∝ exp(−|z| / b).
        """
        if type(size) is not int or not 1 <= size <= MOST_NUMBERS:
            raise InvalidValue("the number of numbers of the vector", size, f"a whole number from 1 to {MOST_NUMBERS}")
        wide = root_above(size) * self.scale
        while True:
            z = [discrete_laplace(wide, bits) for _ in range(size)]
            total, square = sum(map(abs, z)), sum(each * each for each in z)
            if toss_irrational(self.excess_over(wide, total, square), bits):
                return z

    def excess_over(self, wide: Fraction, total: int, square: int) -> Bounds:
        """Bounds on |z| / b − |z|_1 / t, as close as is asked for."""

        def bounds(precision: int) -> tuple[Fraction, Fraction]:
            root = Fraction(math.isqrt(square << 2 * precision), 1 << precision)
            low = root / self.scale - total / wide
            return max(low, Fraction(0)), low + Fraction(1, 1 << precision) / self.scale

        return bounds

    def mean_square(self, size: int) -> Fraction:
        """Mean square of the noise's length, p (p + 1) b²: of the continuous version, which wide noise is close to."""
        return size * (size + 1) * self.scale**2

    def draw_fast(self, size: int, rng: np.random.Generator) -> Floats:
        """The continuous version, for the lab alone: a length of Gamma distribution, and a direction."""
        direction = rng.normal(size=size)
        return np.asarray(direction * (rng.gamma(size, float(self.scale)) / np.linalg.norm(direction)))


def toss_irrational(bounds: Bounds, bits: Bits) -> bool:
    """A coin of probability e^−γ, for a γ that is known by ever closer bounds [CKS20, Alg. 1].

    **Guarantee**: P(True) = e^-gamma.
    """
    precision = FIRST_PRECISION
    while math.floor(bounds(precision)[0]) != math.floor(bounds(precision)[1]):
        precision *= 2
    whole, k = math.floor(bounds(precision)[0]), 1
    if not bernoulli_exp(whole, bits):
        return False
    while is_below(bounds, whole, k, bits):
        k += 1
    return k % 2 == 1


def is_below(bounds: Bounds, whole: int, k: int, bits: Bits) -> bool:
    """A coin of probability (γ − whole) / k: a uniform number, drawn further until it is on one side."""
    precision, drawn = FIRST_PRECISION, bits.below(1 << FIRST_PRECISION)
    while True:
        low, high = ((bound - whole) * (1 << precision) for bound in bounds(precision))
        if (drawn + 1) * k <= low:
            return True
        if drawn * k >= high:
            return False
        drawn = (drawn << FIRST_PRECISION) + bits.below(1 << FIRST_PRECISION)
        precision += FIRST_PRECISION
