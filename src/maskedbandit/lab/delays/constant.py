"""A constant delay: every reward takes the same number of rounds."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maskedbandit.lab.delays.delay import Delay, Delays, check_rounds


@dataclass(frozen=True)
class Constant(Delay):
    """Every reward takes the same number of rounds.

    >>> Constant(100).parameters().longest
    100
    """

    rounds: int
    example: ClassVar = {"rounds": 3}

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", check_rounds("rounds", self.rounds))

    def parameters(self) -> Delays:
        return Delays(np.array([self.rounds], np.int64), 0.0, self.rounds)

    def __str__(self) -> str:
        return str(self.rounds)


AT_ONCE = Constant(0)
