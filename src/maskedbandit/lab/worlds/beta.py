"""Beta rewards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from maskedbandit.core import Floats, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, draw_binomial
from maskedbandit.lab.worlds.instance import Instance, check_means, round_reward


class BetaParameters(NamedTuple):
    """Means and both parameters of each arm."""

    means: Floats
    alpha: Floats
    beta: Floats


@kernel
def draw_beta(i: BetaParameters, arm: int, stream: Rewards) -> float:
    """A reward. Where both parameters are about a hundredth, Python gives another (python_first.py)."""
    return float(stream.generator.beta(i.alpha[arm], i.beta[arm]))


@dataclass(frozen=True)
class Beta(Instance):
    """Rewards with Beta(α, β) distributions.

    >>> Beta(alpha=[2, 1], beta=[2, 3]).true_means()
    array([0.5 , 0.25])
    """

    alpha: Sequence[float]
    beta: Sequence[float]
    bits = False
    example: ClassVar = {"alpha": [0.5, 2, 9], "beta": [0.5, 5, 1]}

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            array = check_means(name, getattr(self, name), 1e-3, 1e9)
            object.__setattr__(self, name, tuple(array.tolist()))
        if len(self.alpha) != len(self.beta):
            raise InvalidValue("beta", self.beta, f"a list of {len(self.alpha)} numbers, one for each alpha")

    def true_means(self) -> Floats:
        answer: Floats = np.array(self.alpha) / (np.array(self.alpha) + np.array(self.beta))
        return answer

    def parameters(self) -> BetaParameters:
        return BetaParameters(self.true_means(), np.array(self.alpha), np.array(self.beta))

    @staticmethod
    @kernel
    def one(i: BetaParameters, arm: int, t: int, g: int, stream: Rewards) -> float:
        return float(round_reward(draw_beta(i, arm, stream), g, stream.generator))

    @staticmethod
    @kernel
    def many(i: BetaParameters, arm: int, n: int, g: int, stream: Rewards) -> float:
        if g == 1:
            return float(draw_binomial(n, i.means[arm], stream.generator))
        total = 0.0
        for _ in range(n):
            total += round_reward(draw_beta(i, arm, stream), g, stream.generator)
        return total
