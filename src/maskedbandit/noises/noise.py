"""What a noise is: a family of symmetric integer laws whose shares, drawn by many users, sum to one draw.

The scale of a noise is that of a release with epsilon = 1 and sensitivity 1; a channel with privacy `epsilon` that
keeps sums in steps of 1/g stretches it by g / epsilon. The same object draws the noise and states what it costs. A
vector has one draw for each of its numbers, all of them stretched by its norm.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from maskedbandit.core import kernel
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import REWARD, Statistics, root_above

Integers = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float64]


@kernel
def poisson(mean: float, rng: np.random.Generator) -> int:
    """A Poisson variable, for the lab; from a mean of 2^40 on a rounded Gaussian, the same to within a millionth.

    The generator's own method loses its variance for means above 10^14.
    """
    if mean < 2.0**40:
        return rng.poisson(mean)
    return math.floor(rng.normal(mean, math.sqrt(mean)) + 0.5)


class Noise(ABC):
    """A noise. Subclasses are frozen dataclasses; `draws` is a kernel, everything else exact or a reference."""

    kind: ClassVar[int]  # which law kernels of core.py it has
    draws: ClassVar[Any]  # kernel (scale, count, rng) -> int: the sum of `count` draws, fast, for the lab
    scale: Fraction

    @abstractmethod
    def stretch(self, factor: Fraction) -> Self:
        """The same noise, `factor` times as wide."""

    def norm(self, statistics: Statistics) -> Fraction:
        """How much wider the noise of each number must be than that of a reward, to hide the whole vector as well."""
        return root_above(statistics.square)

    @abstractmethod
    def share(self, n: int, bits: Bits) -> int:
        """One of the n independent shares of a draw; exact, from random bits alone. n = 1: a whole draw."""

    @abstractmethod
    def pmf(self, z: Integers, count: float = 1.0) -> Probabilities:
        """P(Z = z), Z the sum of `count` independent draws: the reference for both samplers."""

    @abstractmethod
    def loss(self, sensitivity: int, shares: int = 1, statistics: Statistics = REWARD) -> Loss:
        """Loss of releasing an integer of this sensitivity under the sum of `shares` shares of one draw.

        For other statistics `sensitivity` is the number of steps in one unit, and the loss that of the whole vector.
        """
