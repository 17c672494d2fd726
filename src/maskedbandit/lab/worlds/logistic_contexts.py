"""Contexts of which the log-odds of a reward are a linear function.

    P(r = 1) = 1 / (1 + exp(−norm zᵀθ)),    |z| = |θ| = 1,    z₁ = 1 / √2.

Contexts and θ are those of linear_contexts.py, with the same seed. If `norm` is small, means are nearly linear in the
context; if it is large, they are nearly 0 or 1, and what tells good arms apart is the small rest.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from maskedbandit.checks import check_positive
from maskedbandit.core import Floats, kernel
from maskedbandit.lab.streams import Rewards, draw_uniform
from maskedbandit.lab.worlds.contexts import ArmAnswer, Contexts
from maskedbandit.lab.worlds.linear_contexts import LinearContexts, LinearParameters, predict_linear


@dataclass(frozen=True)
class LogisticContexts(Contexts):
    """Rewards whose log-odds are linear in the context, and at most `norm` from 0; `seed` draws the weights.

    >>> (LogisticContexts(d=6, k=3, norm=3).parameters().weights ** 2).sum(axis=1).round(12)
    array([9., 9., 9.])
    """

    d: int = 6
    k: int = 20
    model: Literal["disjoint", "shared"] = "disjoint"
    norm: float = 4.0
    seed: int = 0
    example: ClassVar = {"d": 3, "k": 4, "norm": 3.0}

    present = LinearContexts.present

    def __post_init__(self) -> None:
        check_positive("norm", self.norm)
        self.linear()  # or it refuses

    def linear(self) -> LinearContexts:
        """The linear world with the same contexts."""
        return LinearContexts(self.d, self.k, self.model, seed=self.seed)

    @property
    def rows(self) -> int:
        return self.linear().rows

    def parameters(self) -> LinearParameters:
        found = self.linear().parameters()
        weights = found.weights.copy()
        weights[:, 0] -= math.sqrt(0.5)
        return found._replace(weights=2 * self.norm * weights)

    @staticmethod
    @kernel
    def answer(parameters: LinearParameters, i: int, t: int, x: Floats, arm: int, stream: Rewards) -> ArmAnswer:
        best, mean = 0.0, 0.0
        for a in range(parameters.arms.size):
            value = 1.0 / (1.0 + math.exp(-predict_linear(parameters, x, a)))
            best = max(best, value)
            if a == arm:
                mean = value
        return ArmAnswer(1.0, 1.0 if draw_uniform(stream, t) < mean else 0.0, mean, best)
