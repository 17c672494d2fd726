"""Delays: the number of rounds from serving a user until the reward arrives.

A reward of delay D of the user of round t is known before round t + 1 + D is decided; with D = 0 that is the next one.
Delays are independent of each other, of the arm and of the reward. A cohort is released when its last reward arrives,
and `last` draws how long that takes after its last user,

    L = max{0, max_i (D_i − i)},        i = 0, 1, ..., n − 1 the users of the cohort, the last first.

It visits only users who may set a new maximum. The next of them is found by a geometric jump at the probability P(D > L
+ i), which only falls as i grows, and is kept with the ratio of the probability there to that one. Users are skipped
altogether where the probability of a new maximum is below 2⁻⁶⁰.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maskedbandit.core import Integers, kernel, lean_kernel
from maskedbandit.errors import InvalidValue

LONGEST_DELAY = 10**12  # rounds


class Delays(NamedTuple):
    """The parameters of a delay of any kind."""

    table: Integers  # delays, sorted, each as likely as every other; unused where spread > 0
    spread: float  # -1 / ln q of a geometric distribution, else 0
    longest: int
    lost: float = 0.0  # the probability that a reward is not told when its delay is over, and the default counts
    default: float = 0.0


class Delay(ABC):
    """The distribution of a delay. Subclasses are frozen dataclasses of parameters."""

    example: ClassVar[Mapping[str, Any]]  # parameters, as a TOML table has them: the contract's tests run on it

    @abstractmethod
    def parameters(self) -> Delays:
        """The parameters of the kernels."""

    @property
    def late(self) -> Any:
        """The kernel of how late a cohort is: `last`, if there are delays at all."""
        return last if self.parameters().longest > 0 else at_once


def check_rounds(name: str, value: Any) -> int:
    """A number of rounds."""
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not 0 <= value <= LONGEST_DELAY:
        raise InvalidValue(name, value, f"a whole number of rounds from 0 to {LONGEST_DELAY}")
    return int(value)


@lean_kernel
def count_above(table: Integers, x: int) -> int:
    """The number of entries of a sorted table that are above x."""
    low, high = 0, table.size
    while low < high:
        middle = (low + high) // 2
        if table[middle] > x:
            high = middle
        else:
            low = middle + 1
    return int(table.size - low)


@lean_kernel
def chance_of_later(d: Delays, x: int) -> float:
    """P(D > x), x >= -1."""
    if x >= d.longest:
        return 0.0
    if d.spread > 0.0:
        return math.exp(-(x + 1) / d.spread)
    return count_above(d.table, x) / d.table.size


@lean_kernel
def draw_delay_beyond(d: Delays, x: int, rng: np.random.Generator) -> int:
    """A delay, given that it is above x < longest: a geometric delay is memoryless."""
    if d.spread > 0.0:
        return int(min(x + 1 + math.floor(rng.standard_exponential() * d.spread), d.longest))
    return int(d.table[d.table.size - 1 - int(rng.random() * count_above(d.table, x))])


@lean_kernel
def draw_delay(d: Delays, rng: np.random.Generator) -> int:
    """The delay of one user."""
    return draw_delay_beyond(d, -1, rng)


@lean_kernel
def last(d: Delays, n: int, rng: np.random.Generator) -> int:
    """The rounds from the last of n users, who come one after the other, until the last of their rewards arrives."""
    latest, i = 0, 0
    while i < n:
        chance = chance_of_later(d, latest + i)
        if chance * (n - i) < 2.0**-60:
            break
        if chance < 1.0:
            jump = rng.standard_exponential() / -math.log1p(-chance)
            if jump >= n - i:  # compared as it is: it may be more than whole numbers of 64 bits hold
                break
            i += int(jump)
        if rng.random() * chance < chance_of_later(d, latest + i):
            latest = draw_delay_beyond(d, latest + i, rng) - i
        i += 1
    return int(latest)


@kernel
def default_sum(d: Delays, n: int, g: int, rng: np.random.Generator) -> float:
    """The sum of n default rewards in steps of 1/g, each rounded at random as rewards are; as they are if g is 0."""
    if g == 0:
        return d.default * n
    steps = math.floor(d.default * g)
    return float(steps * n + rng.binomial(n, d.default * g - steps))


@lean_kernel
def at_once(d: Delays, n: int, rng: np.random.Generator) -> int:
    """`last` without delays: compiled with it, the loop holds no code for pending releases."""
    return 0
