"""A noise is a family of symmetric integer distributions whose noise shares, drawn by many users, sum to one draw.

The scale of a noise is that of a release with ε = 1 and sensitivity 1; a channel with privacy `epsilon` that keeps sums
in steps of 1/g stretches it by g / ε. The same object draws the noise and states its privacy loss. A vector has one
draw for each of its numbers, all of them stretched by its norm.

Policies know a noise by the kind of its distribution, see `Law`. A noise of another kind leaves `kind` as it is and
states two numbers instead, for which a draw Z of scale 1 has

    log E exp(λ Z) ≤ variance λ² / (2 (1 − tail |λ|)),        |λ| < 1 / tail.

Policies that need only a bound on the noise accept it; policies that need more refuse it.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from maskedbandit.core import Floats, Integers, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import SUB_GAMMA
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import SINGLE_REWARD, Statistics, root_above

Probabilities = Floats


@kernel
def draw_poisson(mean: float, rng: np.random.Generator) -> int:
    """A Poisson variable, for the lab; from a mean of 2^40 on a rounded Gaussian, equal to within a millionth.

    The generator's own method loses its variance for means above 10^14. As the compiler has it, it gives 0 too often
    from a mean of 10 on, by a part that falls as exp(-mean).
    """
    if 10.0 <= mean < 40.0:
        return draw_medium_poisson(mean, rng)
    if mean < 2.0**40:
        return rng.poisson(mean)
    return math.floor(rng.normal(mean, math.sqrt(mean)) + 0.5)


@kernel
def draw_medium_poisson(mean: float, rng: np.random.Generator) -> int:
    """The same by transformed rejection, with the constants and the draws of NumPy, whose result this is.

    As compiled, NumPy's method rounds towards 0, and not down: what is between -1 and 0 is refused here, as in NumPy.
    """
    root, log_mean = math.sqrt(mean), math.log(mean)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse = math.log(1.1239 + 1.1328 / (b - 3.4))
    quick = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = rng.random() - 0.5, rng.random()
        near = 0.5 - abs(u)
        if near < 0.013 and v > near:
            continue
        k = math.floor((2 * a / near + b) * u + mean + 0.43)
        if near >= 0.07 and v <= quick:
            return k
        if k < 0:
            continue
        log_factorial = 0.0
        for i in range(2, k + 1):
            log_factorial += math.log(i)
        if math.log(v) + log_inverse - math.log(a / (near * near) + b) <= k * log_mean - mean - log_factorial:
            return k


class Noise(ABC):
    """A noise. Subclasses are frozen dataclasses; `draws` is a kernel, everything else exact or a reference."""

    kind: ClassVar[int] = SUB_GAMMA  # of its distribution
    variance: ClassVar[float] = 0.0  # bounds the cumulant, with `tail`; a noise of kind SUB_GAMMA must state both
    tail: ClassVar[float] = 0.0
    draws: ClassVar[Any]  # kernel (scale, count, rng) -> int: the sum of `count` draws, fast, for the lab
    scale: Fraction

    @abstractmethod
    def stretch(self, factor: Fraction) -> Self:
        """The same noise, `factor` times as wide."""

    def norm(self, statistics: Statistics) -> Fraction:
        """The factor by which noise must be wider on each number of a vector than on one reward."""
        return root_above(statistics.square)

    def norm_of_levels(self, levels: int) -> Fraction:
        """The factor by which the noise of a node must be wider than that of a sum, if a reward is in so many nodes."""
        return root_above(levels)

    @abstractmethod
    def noise_share(self, n: int, bits: Bits) -> int:
        """One of the n independent noise shares of a draw; exact, from random bits alone. n = 1: a complete draw.

        A noise that cannot be split raises `InvalidValue` for n > 1.
        """

    def noise_shares(self, size: int, n: int, bits: Bits) -> list[int]:
        """The independent noise shares of one user for a vector of so many numbers."""
        return [self.noise_share(n, bits) for _ in range(size)]

    def sum_of_shares(self, people: int, n: int, bits: Bits) -> int:
        """The noise of a site of so many people: the sum of `people` of the n noise shares of a draw."""
        return sum(self.noise_share(n, bits) for _ in range(people))

    @abstractmethod
    def pmf(self, z: Integers, count: float = 1.0) -> Probabilities:
        """P(Z = z), Z the sum of `count` independent draws: the reference that both samplers are tested against."""

    @abstractmethod
    def loss(self, sensitivity: int, noise_shares: int = 1, statistics: Statistics = SINGLE_REWARD) -> Loss:
        """Loss of releasing an integer of this sensitivity under the sum of so many noise shares of one draw.

        For other statistics `sensitivity` is the number of steps in one unit, and the loss is that of the whole vector.
        """

    def loss_of_shares(self, sensitivity: int, shares: int, of: int, statistics: Statistics = SINGLE_REWARD) -> Loss:
        """The same under so many noise shares `of` each of which many make a draw: fewer than that, or more.

        With `of` 1 each is a whole draw. A noise that cannot say what fewer cost refuses.
        """
        if shares < of:
            raise InvalidValue("noise", self, "one whose loss with fewer shares is known, such as DiscreteLaplace()")
        return self.loss(sensitivity, of, statistics)  # more noise costs no more

    def joint_loss(self, l1: Fraction, square: Fraction, early: bool) -> Loss:
        """Loss of all outputs computed from many draws, if another user moves these by l1 in sum, `square` in squares.

        Each draw is moved by an integer. `early`: a draw may be part of an output before the number that it hides is
        complete, so that losses of single draws do not simply add up. A noise without a proved bound leaves this out.
        """
        raise InvalidValue(
            "noise", self, "one whose joint loss is proved, such as DiscreteLaplace() or DiscreteGaussian()"
        )
