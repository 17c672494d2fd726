"""A geometric delay: it is memoryless."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.delay import Delay, Delays
from maskedbandit.privacy.exact import Number, to_fraction


@dataclass(frozen=True)
class Geometric(Delay):
    """Whatever the time since the user was served, the reward is as likely to come in the next round.

    P(D = j) = (1 − q) q^j, q = mean / (1 + mean), cut off at its quantile 1 − 2⁻⁶⁰.

    >>> from maskedbandit.lab.delays.delay import chance_of_later
    >>> round(chance_of_later(Geometric(mean=1).parameters(), 2), 9)  # (1/2)^3
    0.125
    """

    mean: Number
    example: ClassVar = {"mean": 2.5}

    def __post_init__(self) -> None:
        if not to_fraction("mean", self.mean) <= 10**9:
            raise InvalidValue("mean", self.mean, "at most 1000000000")

    def parameters(self) -> Delays:
        spread = 1 / math.log1p(1 / float(self.mean))
        return Delays(np.zeros(1, np.int64), spread, math.ceil(60 * math.log(2) * spread))

    def __str__(self) -> str:
        return f"geometric, mean = {float(self.mean):g}"
