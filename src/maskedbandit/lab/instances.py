"""Instances: what the arms of a simulated study pay, always in [0, 1].

The lab draws the sum of n rewards at once wherever its law is known. Rewards reach a channel rounded at random to
steps of 1/g, and for g = 1 a rounded reward is a bit of the same mean, whatever the law of the reward: so the sum of n
of them is binomial, exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, uniform
from maskedbandit.privacy.exact import exact

Floats = npt.NDArray[np.float64]


@kernel
def rounded(x: float, g: int, rng: np.random.Generator) -> float:
    """A reward in steps of 1/g, rounded at random; the reward itself if g is 0."""
    return x if g == 0 else math.floor(x * g + rng.random())


class Instance(ABC):
    """The laws of the rewards. Subclasses are frozen dataclasses; their kernels give rewards in steps of 1/g."""

    one: ClassVar[Any]  # kernel (numbers, arm, t, g, stream) -> float: the reward of user t
    many: ClassVar[Any]  # kernel (numbers, arm, n, g, stream) -> float: the sum of n rewards
    bits: ClassVar[bool]  # rewards are 0 or 1, so that rounding changes nothing

    @abstractmethod
    def true_means(self) -> Floats:
        """Expected reward of each arm."""

    @abstractmethod
    def numbers(self) -> NamedTuple:
        """What `one` and `many` need."""


def checked(name: str, values: Sequence[float], low: float = 0, high: float = 1) -> Floats:
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


class BernoulliNumbers(NamedTuple):
    """Means."""

    means: Floats


@dataclass(frozen=True)
class Bernoulli(Instance):
    """Rewards of 0 and 1.

    >>> Bernoulli([0.9, 0.8]).true_means()
    array([0.9, 0.8])
    """

    means: Sequence[float]
    bits = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", tuple(checked("means", self.means).tolist()))

    def true_means(self) -> Floats:
        return np.array(self.means)

    def numbers(self) -> BernoulliNumbers:
        return BernoulliNumbers(self.true_means())

    @staticmethod
    @kernel
    def one(i: BernoulliNumbers, arm: int, t: int, g: int, stream: Rewards) -> float:
        return max(g, 1.0) * (uniform(stream, t) < i.means[arm])

    @staticmethod
    @kernel
    def many(i: BernoulliNumbers, arm: int, n: int, g: int, stream: Rewards) -> float:
        return max(g, 1.0) * stream.generator.binomial(n, i.means[arm])


class ClippedGaussianNumbers(NamedTuple):
    """Means after and before clipping, standard deviation before."""

    means: Floats
    centers: Floats
    sd: float


@dataclass(frozen=True)
class ClippedGaussian(Instance):
    """Gaussian rewards, clipped to [0, 1]: what is outside moves to the nearer end [CZ23, App. J].

    `means` are the means before clipping.

    >>> ClippedGaussian([0.5, 1.0], sd=0.1).true_means().round(6)
    array([0.5     , 0.960106])
    """

    means: Sequence[float]
    sd: float
    bits = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", tuple(checked("means", self.means).tolist()))
        object.__setattr__(self, "sd", float(exact("sd", self.sd)))

    def true_means(self) -> Floats:
        from scipy.stats import norm

        m, s = np.array(self.means), self.sd
        a, b = -m / s, (1 - m) / s
        answer: Floats = m * (norm.cdf(b) - norm.cdf(a)) + s * (norm.pdf(a) - norm.pdf(b)) + norm.sf(b)
        return answer

    def numbers(self) -> ClippedGaussianNumbers:
        return ClippedGaussianNumbers(self.true_means(), np.array(self.means), self.sd)

    @staticmethod
    @kernel
    def one(i: ClippedGaussianNumbers, arm: int, t: int, g: int, stream: Rewards) -> float:
        return float(rounded(min(max(stream.generator.normal(i.centers[arm], i.sd), 0.0), 1.0), g, stream.generator))

    @staticmethod
    @kernel
    def many(i: ClippedGaussianNumbers, arm: int, n: int, g: int, stream: Rewards) -> float:
        if g == 1:
            return float(stream.generator.binomial(n, i.means[arm]))
        total = 0.0
        for _ in range(n):
            total += rounded(min(max(stream.generator.normal(i.centers[arm], i.sd), 0.0), 1.0), g, stream.generator)
        return total


class BetaNumbers(NamedTuple):
    """Means and both parameters of each arm."""

    means: Floats
    alpha: Floats
    beta: Floats


@dataclass(frozen=True)
class Beta(Instance):
    """Rewards with Beta(alpha, beta) laws.

    >>> Beta(alpha=[2, 1], beta=[2, 3]).true_means()
    array([0.5 , 0.25])
    """

    alpha: Sequence[float]
    beta: Sequence[float]
    bits = False

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            array = checked(name, getattr(self, name), 1e-3, 1e9)
            object.__setattr__(self, name, tuple(array.tolist()))
        if len(self.alpha) != len(self.beta):
            raise InvalidValue("beta", self.beta, f"a list of {len(self.alpha)} numbers, one for each alpha")

    def true_means(self) -> Floats:
        answer: Floats = np.array(self.alpha) / (np.array(self.alpha) + np.array(self.beta))
        return answer

    def numbers(self) -> BetaNumbers:
        return BetaNumbers(self.true_means(), np.array(self.alpha), np.array(self.beta))

    @staticmethod
    @kernel
    def one(i: BetaNumbers, arm: int, t: int, g: int, stream: Rewards) -> float:
        return float(rounded(stream.generator.beta(i.alpha[arm], i.beta[arm]), g, stream.generator))

    @staticmethod
    @kernel
    def many(i: BetaNumbers, arm: int, n: int, g: int, stream: Rewards) -> float:
        if g == 1:
            return float(stream.generator.binomial(n, i.means[arm]))
        total = 0.0
        for _ in range(n):
            total += rounded(stream.generator.beta(i.alpha[arm], i.beta[arm]), g, stream.generator)
        return total


SPREADS = {"easy": 0.5, "hard": 0.1}
STUDIED = {  # [SS19]: of equal gaps, linear, and with means that crowd at the bottom or at the top
    "C1": (0.75, 0.7, 0.7, 0.7, 0.7),
    "C2": (0.75, 0.625, 0.5, 0.375, 0.25),
    "C3": (0.75, 0.53125, 0.375, 0.28125, 0.25),
    "C4": (0.75, 0.71875, 0.625, 0.46875, 0.25),
}
SEARCHED = {  # those on which private searches for the best arm are compared [AJMB23; JA25]
    "mu1": (0.95, 0.9, 0.9, 0.9, 0.5),
    "mu2": STUDIED["C1"],
    "SS19b": STUDIED["C2"],
    "linspace": (0.0, 0.25, 0.5, 0.75, 1.0),
}


def named_means(name: str, k: int = 10, seed: int = 0) -> list[float]:
    """Means that have a name: "easy" and "hard" draw k of them; all others are the five of a paper.

    >>> named_means("C2")
    [0.75, 0.625, 0.5, 0.375, 0.25]
    """
    if name in SPREADS:
        return uniform_means(name, k, seed)
    known = STUDIED | SEARCHED
    if name not in known:
        raise InvalidValue("means", name, f"{', '.join(map(repr, [*SPREADS, *known]))} or a list of numbers")
    return list(known[name])


def uniform_means(spread: str, k: int = 10, seed: int = 0) -> list[float]:
    """Means drawn uniformly from [0.25, 0.75] ("easy") or [0.45, 0.55] ("hard") [CZ23, App. J].

    The generator is the one of the paper's own program, so that seeds 0 to 19 name its instances.

    >>> [round(mean, 3) for mean in uniform_means("easy", k=3, seed=0)]
    [0.524, 0.608, 0.551]
    """
    if spread not in SPREADS:
        raise InvalidValue("means", spread, "'easy', 'hard' or a list of numbers")
    if k < 2:
        raise InvalidValue("k", k, "a whole number of at least 2")
    width = SPREADS[spread]
    answer: list[float] = (width * np.random.RandomState(seed).rand(k) + 0.5 - width / 2).tolist()
    return answer
