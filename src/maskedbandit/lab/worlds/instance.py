"""Instances: the rewards of the arms in a simulated study, always in [0, 1].

The lab draws the sum of n rewards at once wherever its distribution is known. Rewards reach a channel rounded at random
to steps of 1/g. For g = 1 a rounded reward is a bit of the same mean, whatever the distribution of the reward, so the
sum of n of them is exactly binomial.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maskedbandit.core import Floats, kernel, large_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.statistics import SINGLE_REWARD, Statistics


@kernel
def round_reward(x: float, g: int, rng: np.random.Generator) -> float:
    """A reward in steps of 1/g, rounded at random; the reward itself if g is 0."""
    return x if g == 0 else math.floor(x * g + rng.random())


class Expected(NamedTuple):
    """The mean reward of a user."""

    mean: float  # of the arm
    best: float  # of the arm that is best for this user


@kernel
def find_highest_mean(means: Floats) -> float:
    """The highest mean. (Numba compiles `means.max()` for a second, in every process that compiles a loop.)"""
    found = means[0]
    for mean in means:
        found = max(found, mean)
    return found


@large_kernel  # only worlds that move are asked, and have kernels of their own
def means_of_all(i: Any, arm: int, t: int) -> Expected:
    """`expected` where means do not move: they are the same for every user."""
    return Expected(i.means[arm], find_highest_mean(i.means))


@kernel
def no_sum(i: Any, arm: int, n: int, g: int, stream: Any) -> float:
    """`many` where means move: there is no sum of n rewards without the users that they are of."""
    return math.nan


@kernel
def always() -> bool:
    """True, as a kernel: compiled with it, the loop holds no code for the other case."""
    return True


@kernel
def never() -> bool:
    """False, as a kernel."""
    return False


class Instance(ABC):
    """Distributions of rewards. Subclasses are frozen dataclasses; their kernels give rewards in steps of 1/g."""

    one: ClassVar[Any]  # kernel (parameters, arm, t, g, stream) -> float: the reward of user t
    many: ClassVar[Any]  # kernel (parameters, arm, n, g, stream) -> float: the sum of n rewards
    bits: ClassVar[bool]  # rewards are 0 or 1, so that rounding changes nothing
    moves: ClassVar[bool] = False  # means depend on the user, so that `one` is asked, and `many` is `no_sum`
    expected: ClassVar[Any] = means_of_all  # kernel (parameters, arm, t) -> Expected: of user t
    example: ClassVar[Mapping[str, Any]]  # parameters, as a TOML table has them: the contract's tests run on it

    @property
    def statistics(self) -> Statistics:
        """The statistics that a user adds to a sum: a reward, or a capped sum of rewards."""
        return SINGLE_REWARD

    @abstractmethod
    def true_means(self) -> Floats:
        """The expected reward of each arm, which regret counts; where means move, the means that the world states."""

    def told_means(self) -> Floats:
        """The mean of what a user adds to a sum, if that is not all that regret counts."""
        return self.true_means()

    @property
    def tells_all(self) -> bool:
        """Whether a user adds all that regret counts."""
        return bool(np.array_equal(self.told_means(), self.true_means()))

    @abstractmethod
    def parameters(self) -> Any:
        """The parameters of the kernels, which never change; `means` among them are the true means."""


def check_means(name: str, values: Sequence[float], low: float = 0, high: float = 1) -> Floats:
    """The values as an array, if there are at least two and all lie in [low, high]."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValue(name, values, "a list of numbers") from None
    if array.ndim != 1 or array.size < 2:
        raise InvalidValue(name, values, "a list with one number for each of at least two arms")
    if not np.all((array >= low) & (array <= high)):  # also catches nan
        raise InvalidValue(name, values, f"numbers in [{low}, {high}]")
    return array
