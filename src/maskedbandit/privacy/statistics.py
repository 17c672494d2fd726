"""The values that one user adds to a sum: a reward, a capped sum of rewards, or a vector with stated sensitivities.

If a person has several rewards in [0, 1], their sum enters one release, cut at a cap c and in units of c:

    min(r₁ + ... + r_V, c) / c  in [0, 1].

All rewards of the person together move it by at most 1, as a single reward does. So noise that hides a reward hides all
rewards of the person, at the same ε and in one release, however large V is. The price is twofold: counted in rewards,
the noise is c times as wide, and the cap cuts off some rewards.

A user with context z and reward r adds (z zᵀ, r z) to the sums of a linear model, z in the unit ball, r a bit. The
noise of the whole vector is set by the largest distance between two users, in sum or in squares:

    |u − u'|₁ ≤ l1,     |u − u'|_2² ≤ square.

u and u' may belong to different models, whose sums are blocks of one vector. With Z the upper triangle of z zᵀ (each
product once), |Z|₁ = (|z|_1² + |z|_2²) / 2 ≤ (d + 1) / 2 and |r z|₁ ≤ √d. Two users are at most twice that apart, which
different blocks attain: l1 = (1 + √d)^2. In squares, |Z|_2² ≤ |z|_2⁴ ≤ 1, so different blocks are at most 4 apart. In
one block, with p = zᵀv, |Z − V|_2² ≤ |z zᵀ − v vᵀ|² = |z|⁴ + |v|⁴ − 2 p², and for r = r' = 1

    |Z − V|² + |z − v|² ≤ |z|⁴ + |v|⁴ + |z|² + |v|² − 2 p (p + 1) ≤ 4 + 1/2,

attained by two unit vectors at 120 degrees whose z zᵀ − v vᵀ is diagonal. Two different rewards are at most 3 apart.

If z zᵀ is multiplied by c ≤ 1, the same steps give l1 = c (d + 1) + 2 √d, and the largest value over p of c² (2 − 2 p²)
+ 2 − 2 p: that is 2 c² + 2 + 1 / (2 c²), at p = −1 / (2 c²), if 2 c² ≥ 1, and else 4, at p = −1. Contexts without
negative numbers have p ≥ 0, hence square = 2 c² + 2, which different blocks attain too.

A user of a model whose weights are public may add (c a z zᵀ, b z) instead, with factors 0 ≤ a ≤ 1 and |b| ≤ 1/2 that
depend on z, r and the weights in any way: those of a step of Newton's method are in newton_ucb.py. Different blocks are
at most c (d + 1) + √d apart, and so are two users of one block. In squares, with p = zᵀv in one block,

    |c a Z − c a' V|² + |b z − b' v|² ≤ c² (a² + a'² − 2 a a' p²) + (1 + |p|) / 2,

as |b z − b' v|² is convex in (b, b'), so largest where both are ±1/2. The right side is convex in a and in a', so
largest where both are 0 or 1: it is at most 1, c² + 1, or c² (2 − 2 p²) + (1 + |p|) / 2, of which the largest value
over p is 2 c² + 1/2 + 1 / (32 c²) if 8 c² ≥ 1, and else 1. Different blocks are at most 2 c² + 1/2 apart, the value at
p = 0.

All numbers are multiples of a step, so that integer noise hides them: contexts are cut to multiples of 1/256, towards
zero, and a product of two has 2¹⁶ steps. a is a multiple of 1/64, and b of 2⁻¹⁴.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.core import Floats, kernel
from maskedbandit.errors import InvalidValue, PersonalValue
from maskedbandit.privacy.exact import to_whole

CONTEXT_STEPS = 2**8
FACTOR_STEPS = 2**6  # of what z z' is multiplied with; what z is multiplied with has CONTEXT_STEPS times as many
MOST_REWARDS = 10**4


def root_above(value: Fraction | int) -> Fraction:
    """A fraction that is at least the square root, by less than a millionth.

    >>> root_above(4), float(root_above(2))
    (Fraction(2, 1), 1.4142141342163086)
    """
    p, q = (Fraction(value) * 2**40).as_integer_ratio()
    found = math.isqrt(p // q)
    return Fraction(found + (found**2 * q < p), 2**20)


@dataclass(frozen=True)
class Statistics:
    """The vectors that users may add: `size` numbers in [`low`, 1], whole multiples of 1 / `steps`.

    Two users differ in `moved` numbers at most, of all that are released. A number is in units of `cap` rewards.

    **Guarantee**: noise calibrated to `l1` or `square` hides every user whose vectors are within them.

    >>> SINGLE_REWARD, linear_sums(6).size, float(linear_sums(6).square)
    (Statistics(size=1, l1=Fraction(1, 1), square=Fraction(1, 1), low=0, steps=1, moved=1, cap=1), 27, 4.5)
    """

    size: int
    l1: Fraction
    square: Fraction
    low: int
    steps: int
    moved: int
    cap: int = 1

    def __post_init__(self) -> None:
        for name, value in (("size", self.size), ("steps", self.steps), ("moved", self.moved)):
            if type(value) is not int or not 1 <= value <= 2**40:
                raise InvalidValue(name, value, "a whole number from 1 to 2^40")
        for name, norm in (("l1", self.l1), ("square", self.square)):
            if type(norm) not in (int, Fraction) or norm <= 0:
                raise InvalidValue(name, norm, "a whole number or a Fraction above 0")
            object.__setattr__(self, name, Fraction(norm))
        if type(self.low) is not int or self.low not in (0, -1):
            raise InvalidValue("low", self.low, "0 or -1")
        to_whole("cap", self.cap, 1, MOST_REWARDS if self.is_single else 1)

    @property
    def is_single(self) -> bool:
        """Whether it is one number in [0, 1] that may be rounded at random: a reward, or a capped sum."""
        return self.size == self.l1 == self.square == self.steps == self.moved == 1 and self.low == 0


SINGLE_REWARD = Statistics(size=1, l1=Fraction(1), square=Fraction(1), low=0, steps=1, moved=1)


def capped_sum(cap: int) -> Statistics:
    """The sum of a person's rewards, of which at most `cap` count, in units of `cap`.

    **Guarantee**: noise that hides a reward hides every person whose number is such a sum.

    >>> capped_sum(3).cap, capped_sum(3).l1, capped_sum(1) == SINGLE_REWARD
    (3, Fraction(1, 1), True)
    """
    return replace(SINGLE_REWARD, cap=to_whole("cap", cap, 1, MOST_REWARDS))


def check_dimension(d: int) -> None:
    """Raise `InvalidValue` unless contexts can have d numbers."""
    if type(d) is not int or not 1 <= d <= 1000:
        raise InvalidValue("d", d, "a whole number from 1 to 1000")


def linear_sums(d: int, signed: bool = True, products: Fraction = Fraction(1)) -> Statistics:
    """z_i z_j for i <= j, row by row, times `products`; then r z_1, ..., r z_d: contexts and rewards are both secret.

    >>> linear_sums(2).size, linear_sums(4).l1
    (5, Fraction(9, 1))
    >>> linear_sums(4, signed=False).square, linear_sums(4, False, Fraction(1, 4)).square
    (Fraction(4, 1), Fraction(17, 8))
    """
    check_dimension(d)
    c = Fraction(products)
    if not (0 < c <= 1 and 256 % c.denominator == 0):
        raise InvalidValue("products", products, "a multiple of 1/256, above 0 and at most 1")
    square = 2 * c * c + 2
    if signed:
        square = square + 1 / (2 * c * c) if 2 * c * c >= 1 else Fraction(4)
    size, l1 = d * (d + 1) // 2 + d, c * (1 + d) + root_above(4 * d)
    low, steps = -1 if signed else 0, CONTEXT_STEPS**2 * c.denominator
    return Statistics(size, l1, square, low, steps, moved=2 * size)  # of two models


def weighted_sums(d: int, products: Fraction = Fraction(1)) -> Statistics:
    """a z_i z_j for i <= j, row by row, times `products`; then b z_1, ..., b z_d: a in [0, 1] and b in [-1/2, 1/2].

    >>> weighted_sums(4).l1, weighted_sums(4, Fraction(1, 2)).square
    (Fraction(7, 1), Fraction(5, 4))
    """
    linear = linear_sums(d, True, products)
    c = Fraction(products)
    square = 1 + c * c
    if 8 * c * c >= 1:
        square = max(square, 2 * c * c + Fraction(1, 2) + 1 / (32 * c * c))
    l1, steps = c * (1 + d) + root_above(d), FACTOR_STEPS * linear.steps
    return replace(linear, l1=l1, square=square, steps=steps)


class Factors(NamedTuple):
    """What z z' and z are multiplied with in the statistics of a user: 1 and the reward, if the model is linear."""

    products: float
    reward: float


@kernel
def clip_factors(products: float, reward: float) -> Factors:
    """Factors as they enter `weighted_sums`: in their range, and the nearest multiples of a step."""
    a = min(max(products, 0.0), 1.0) * FACTOR_STEPS
    b = min(max(reward, -0.5), 0.5) * FACTOR_STEPS * CONTEXT_STEPS
    return Factors(math.floor(a + 0.5) / FACTOR_STEPS, math.floor(b + 0.5) / FACTOR_STEPS / CONTEXT_STEPS)


def reward_sums(d: int) -> Statistics:
    """r z alone: z and its model are public, so a user adds z or nothing.

    >>> reward_sums(4)
    Statistics(size=4, l1=Fraction(2, 1), square=Fraction(1, 1), low=-1, steps=256, moved=4, cap=1)
    """
    check_dimension(d)
    return Statistics(d, l1=root_above(d), square=Fraction(1), low=-1, steps=CONTEXT_STEPS, moved=d)


@kernel
def clip_vector(z: np.ndarray, signed: bool) -> None:
    """Shrink a vector into the unit ball, then cut its entries to multiples of 1/256.

    Entries that are not finite become 0, and so do negative ones unless entries may be `signed`. With q the entries in
    whole steps, |q|^2 <= 2^16 exactly: rounding errors make it larger by less than one.
    """
    largest = 1.0
    for i in range(z.size):
        if not math.isfinite(z[i]) or (z[i] < 0.0 and not signed):
            z[i] = 0.0
        largest = max(largest, abs(z[i]))
    square = 0.0
    for i in range(z.size):
        part = z[i] / largest  # else squares would overflow
        square += part * part
    rest = max(1.0, math.sqrt(square))  # largest * rest is the norm, or 1
    for i in range(z.size):
        z[i] = int(z[i] / largest / rest * CONTEXT_STEPS) / CONTEXT_STEPS


def clip_context(z: npt.ArrayLike, signed: bool = True) -> Floats:
    """A context as it enters statistics: see `clip_vector`.

    >>> clip_context([3.0, -4.0]) * 256
    array([ 153., -204.])
    """
    found = np.array(z, np.float64)
    if found.ndim != 1 or not np.all(np.isfinite(found)):
        raise PersonalValue("context", "a vector of finite numbers")
    clip_vector(found, signed)
    return found
