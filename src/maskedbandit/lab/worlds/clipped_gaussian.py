"""Gaussian rewards, clipped to [0, 1]."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from maskedbandit.core import Floats, kernel
from maskedbandit.lab.streams import Rewards, draw_binomial
from maskedbandit.lab.worlds.instance import Instance, check_means, round_reward
from maskedbandit.lab.worlds.named_means import listed_means
from maskedbandit.privacy.exact import to_fraction


class ClippedGaussianParameters(NamedTuple):
    """Means after and before clipping, standard deviation before."""

    means: Floats
    centers: Floats
    sd: float


@kernel
def draw_clipped(i: ClippedGaussianParameters, arm: int, stream: Rewards) -> float:
    """A reward."""
    return min(max(stream.generator.normal(i.centers[arm], i.sd), 0.0), 1.0)


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
    example: ClassVar = {"means": [0.3, 0.95, 0.0], "sd": 0.3}

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", tuple(check_means("means", self.means).tolist()))
        object.__setattr__(self, "sd", float(to_fraction("sd", self.sd)))

    @classmethod
    def from_table(cls, means: Any, sd: Any, k: Any = 10, seed: Any = 0) -> Self:
        return cls(listed_means(means, k, seed), sd)

    def true_means(self) -> Floats:
        from scipy.stats import norm

        m, s = np.array(self.means), self.sd
        a, b = -m / s, (1 - m) / s
        answer: Floats = m * (norm.cdf(b) - norm.cdf(a)) + s * (norm.pdf(a) - norm.pdf(b)) + norm.sf(b)
        return answer

    def parameters(self) -> ClippedGaussianParameters:
        return ClippedGaussianParameters(self.true_means(), np.array(self.means), self.sd)

    @staticmethod
    @kernel
    def one(i: ClippedGaussianParameters, arm: int, t: int, g: int, stream: Rewards) -> float:
        return float(round_reward(draw_clipped(i, arm, stream), g, stream.generator))

    @staticmethod
    @kernel
    def many(i: ClippedGaussianParameters, arm: int, n: int, g: int, stream: Rewards) -> float:
        if g == 1:
            return float(draw_binomial(n, i.means[arm], stream.generator))
        total = 0.0
        for _ in range(n):
            total += round_reward(draw_clipped(i, arm, stream), g, stream.generator)
        return total
