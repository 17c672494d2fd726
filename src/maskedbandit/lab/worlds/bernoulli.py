"""Bernoulli rewards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from maskedbandit.core import Floats, kernel
from maskedbandit.lab.streams import Rewards, draw_binomial, draw_uniform
from maskedbandit.lab.worlds.instance import Instance, check_means
from maskedbandit.lab.worlds.named_means import listed_means


class BernoulliParameters(NamedTuple):
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
    example: ClassVar = {"means": [0.3, 1.0, 0.0]}

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", tuple(check_means("means", self.means).tolist()))

    @classmethod
    def from_table(cls, means: Any, k: Any = 10, seed: Any = 0) -> Self:
        return cls(listed_means(means, k, seed))

    def true_means(self) -> Floats:
        return np.array(self.means)

    def parameters(self) -> BernoulliParameters:
        return BernoulliParameters(self.true_means())

    @staticmethod
    @kernel
    def one(i: BernoulliParameters, arm: int, t: int, g: int, stream: Rewards) -> float:
        return max(g, 1.0) * (draw_uniform(stream, t) < i.means[arm])

    @staticmethod
    @kernel
    def many(i: BernoulliParameters, arm: int, n: int, g: int, stream: Rewards) -> float:
        return max(g, 1.0) * draw_binomial(n, i.means[arm], stream.generator)
