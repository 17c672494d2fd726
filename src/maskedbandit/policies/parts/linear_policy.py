"""What policies of linear models share: their parameters, and everything except the choice of an arm."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maskedbandit.checks import check_choice, check_cohort, number
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.policies.contextual_policy import Aim, ContextualPolicy
from maskedbandit.policies.parts.linear import Models, full, learn, models
from maskedbandit.privacy.exact import Number, exact


@dataclass(frozen=True)
class LinearPolicy(ContextualPolicy):
    """A linear model: `alpha` scales the width of intervals, and `ridge` is the parameter of the ridge regression.

    z z' is multiplied by `products`: less than 1 leaves more of the budget for r z, which pays if rewards are rare.
    `model` says whether every arm has its own weights ("disjoint"), or contexts describe the arms ("shared"). Cohorts
    have `first` users, then `growth` times as many as all before; the defaults depend on the channel (see `full`).
    """

    alpha: float = 1.0
    model: Literal["disjoint", "shared"] = "disjoint"
    ridge: float = 1.0
    products: Number = 1
    first: int | None = None
    growth: float | None = None

    def __post_init__(self) -> None:
        check_choice("model", self.model, ("disjoint", "shared"))
        if not (number(self.alpha) and 0 <= self.alpha < math.inf):
            raise InvalidValue("alpha", self.alpha, "a number of at least 0")
        if not (number(self.ridge) and 1e-100 <= self.ridge < math.inf):
            raise InvalidValue("ridge", self.ridge, "a number of at least 1e-100")
        products = exact("products", self.products)
        if not (products <= 1 and 256 % products.denominator == 0):
            raise InvalidValue("products", self.products, "a multiple of 1/256, above 0 and at most 1")
        object.__setattr__(self, "products", products)
        if self.first is not None:
            check_cohort("first", self.first)
        if self.growth is not None and not (number(self.growth) and 0 <= self.growth < math.inf):
            raise InvalidValue("growth", self.growth, "a number of at least 0")

    def models(self, k: int) -> int:
        return k if self.model == "disjoint" else 1

    def init(self, k: int, aim: Aim) -> Models:
        first, growth = int(self.first or 0), -1.0 if self.growth is None else float(self.growth)
        numbers = float(self.alpha), float(self.ridge), float(self.products)
        return models(self.models(k), aim.d, *numbers, first, growth)

    def lacks(self, rows: int, fixed: bool) -> str:
        return "a context for every arm, as all arms share one model" if self.model == "shared" and rows == 1 else ""

    @staticmethod
    @kernel
    def due(s: Models, law: Law, model: int, n: int) -> bool:
        return full(s, law, model, n)

    @staticmethod
    @kernel
    def tell(s: Models, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        learn(s, law, model, n, sums)
