"""Contexts of which mean rewards are a linear function.

A context has d numbers: the first is constant, the others point anywhere. The mean reward of an arm is linear in it,

    mean = zᵀ(θ₀ + θ / 2),    θ₀ = (1 / √2, 0, ..., 0),    |z| = |θ| = 1,    z₁ = 1 / √2,

which is 1/2 + zᵀθ / 2, in [0, 1]; rewards are bits. With disjoint models all arms share a context, and each has its
own θ, drawn from the unit sphere by `seed`. With a shared one there is a single θ, and every arm has a context.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from maskedbandit.core import Floats, Integers, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, draw_uniform
from maskedbandit.lab.worlds.contexts import ArmAnswer, Contexts
from maskedbandit.privacy.statistics import clip_vector


class LinearParameters(NamedTuple):
    """Weights of the models, which arms there are, and the contexts of fixed arms."""

    starts: Integers
    arms: Integers
    weights: Floats  # [m, d]
    fixed: Floats  # [k, d], or nothing


@kernel
def draw_context(x: Floats, row: int, rng: np.random.Generator) -> None:
    """A context: first number 1 / √2, direction of the others uniform; on the grid."""
    norm = 0.0
    for a in range(1, x.shape[1]):
        x[row, a] = rng.standard_normal()
        norm += x[row, a] * x[row, a]
    x[row, 0] = math.sqrt(0.5)
    for a in range(1, x.shape[1]):
        x[row, a] *= math.sqrt(0.5 / norm)
    clip_vector(x[row], True)


@kernel
def predict_linear(parameters: LinearParameters, x: Floats, arm: int) -> float:
    """The arm's weights times its context."""
    model = arm if parameters.weights.shape[0] > 1 else 0
    row = arm if x.shape[0] > 1 else 0
    value = 0.0
    for j in range(x.shape[1]):
        value += parameters.weights[model, j] * x[row, j]
    return value


@dataclass(frozen=True)
class LinearContexts(Contexts):
    """Mean rewards that are linear in the context.

    `fixed` arms have the same contexts in every round (of a shared model); `seed` draws weights and fixed contexts.

    >>> LinearContexts(d=6, k=20).parameters().weights.shape
    (20, 6)
    """

    d: int = 6
    k: int = 20
    model: Literal["disjoint", "shared"] = "disjoint"
    fixed: bool = False
    seed: int = 0
    example: ClassVar = {"d": 3, "k": 4, "model": "shared"}

    def __post_init__(self) -> None:
        for name, value, least, most in (("d", self.d, 2, 100), ("k", self.k, 2, 10**5)):
            if type(value) is not int or not least <= value <= most:
                raise InvalidValue(name, value, f"a whole number from {least} to {most}")
        if self.model not in ("disjoint", "shared"):
            raise InvalidValue("model", self.model, "'disjoint' or 'shared'")
        if type(self.seed) is not int or self.seed < 0:
            raise InvalidValue("seed", self.seed, "a whole number of at least 0")
        if self.fixed and self.model == "disjoint":
            raise InvalidValue("fixed", self.fixed, "left out with disjoint models: contexts would all be one")

    @property
    def rows(self) -> int:
        return 1 if self.model == "disjoint" else self.k

    def parameters(self) -> LinearParameters:
        rng = np.random.Generator(np.random.Philox(self.seed))
        weights = rng.standard_normal((self.k if self.model == "disjoint" else 1, self.d))
        weights /= 2 * np.linalg.norm(weights, axis=1, keepdims=True)
        weights[:, 0] += math.sqrt(0.5)
        contexts = np.zeros((self.k if self.fixed else 0, self.d))
        for row in range(len(contexts)):
            draw_context(contexts, row, rng)
        return LinearParameters(np.array([0, self.k]), np.arange(self.k), weights, contexts)

    @staticmethod
    @kernel
    def present(parameters: LinearParameters, i: int, t: int, x: Floats, stream: Rewards) -> int:
        for row in range(x.shape[0]):
            if parameters.fixed.shape[0] > 0:
                x[row] = parameters.fixed[row]
            else:
                draw_context(x, row, stream.generator)
        return 0

    @staticmethod
    @kernel
    def answer(parameters: LinearParameters, i: int, t: int, x: Floats, arm: int, stream: Rewards) -> ArmAnswer:
        best, mean = -1.0, 0.0
        for a in range(parameters.arms.size):
            value = min(max(predict_linear(parameters, x, a), 0.0), 1.0)
            best = max(best, value)
            if a == arm:
                mean = value
        return ArmAnswer(1.0, 1.0 if draw_uniform(stream, t) < mean else 0.0, mean, best)
