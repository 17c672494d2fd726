"""Fixed weights: the best arm by weights that are known in advance.

    arm = argmax  w_aᵀz

It learns nothing, so its loss is zero on every channel, and a replay estimates one number, its value.

It is this project's own baseline, and has nothing to prove.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.policies.contextual_policy import Aim, NoReleasePolicy
from maskedbandit.policies.parts.choice import pick_highest


class State(NamedTuple):
    """The weights."""

    weights: np.ndarray  # [m, d]


@dataclass(frozen=True)
class FixedWeights(NoReleasePolicy):
    """The best arm by `weights`: a row for each arm, or one row for all where contexts describe the arms.

    >>> from maskedbandit.law import NO_NOISE
    >>> policy = FixedWeights([[0.5, 0.0], [0.0, 1.0]])
    >>> s, x, pool = policy.init(k=2, aim=Aim(d=2, horizon=10)), np.array([[0.6, 0.4]]), np.array([0, 1])
    >>> FixedWeights.ask(s, x, pool, Law(NO_NOISE), np.random.default_rng(1))
    1
    """

    weights: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        allowed = "rows of finite numbers, all of the same length"
        try:
            rows = tuple(tuple(float(each) for each in row) for row in self.weights)
        except (TypeError, ValueError):
            raise InvalidValue("weights", self.weights, allowed) from None
        lengths = {len(row) for row in rows}
        if len(lengths) != 1 or 0 in lengths or not all(math.isfinite(each) for row in rows for each in row):
            raise InvalidValue("weights", self.weights, allowed)
        object.__setattr__(self, "weights", rows)

    def init(self, k: int, aim: Aim) -> State:
        weights = np.array(self.weights)
        if weights.shape not in ((1, aim.d), (k, aim.d)):
            raise InvalidValue("weights", self.weights, f"{k} rows of {aim.d} numbers, or one row for all arms")
        return State(weights)

    def lacks(self, rows: int, fixed: bool) -> str:
        return "a context for every arm, as all arms share the weights" if len(self.weights) == 1 and rows == 1 else ""

    @staticmethod
    @kernel
    def ask(s: State, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        index = np.zeros(pool.size)
        for i in range(pool.size):
            arm = pool[i]
            own = arm if s.weights.shape[0] > 1 else 0
            row = arm if x.shape[0] > 1 else 0
            for a in range(x.shape[1]):
                index[i] += s.weights[own, a] * x[row, a]
        return int(pool[pick_highest(index, rng)])
