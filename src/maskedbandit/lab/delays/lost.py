"""Rewards that never come, or come too late: each has a deadline, after which a missing reward counts as a default.

A cohort closes when the deadline of its last user is over, whether or not reports came: so the time of its release does
not show who reported. Losses are independent of each other, of the arm and of the reward.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.delay import Delay, Delays, chance_of_later, check_rounds


@dataclass(frozen=True)
class Lost(Delay):
    """Rewards come after `delay`, but a `share` of them never does.

    A reward that has not arrived `deadline` rounds after its user was served counts as `default`.

    >>> from maskedbandit.lab.delays.constant import Constant
    >>> parameters = Lost(Constant(100), share=0.03, deadline=500).parameters()
    >>> parameters.longest, parameters.lost
    (500, 0.03)
    >>> Lost(Constant(100), share=0.03, deadline=50).parameters().lost
    1.0
    """

    delay: Delay
    share: float
    deadline: int | None = None
    default: float = 0.0
    example: ClassVar = {"delay": {"name": "geometric", "mean": 2.5}, "share": 0.2, "deadline": 5, "default": 0.4}

    def __post_init__(self) -> None:
        if not isinstance(self.delay, Delay) or isinstance(self.delay, Lost):
            raise InvalidValue("delay", self.delay, "a delay of rewards that all come, such as Constant(100)")
        for name in ("share", "default"):
            object.__setattr__(self, name, check_lost_share(name, getattr(self, name)))
        if self.deadline is None:
            allowed = "given: a reward that never comes would keep its cohort from closing for ever"
            raise InvalidValue("deadline", None, allowed)
        object.__setattr__(self, "deadline", check_rounds("deadline", self.deadline))

    @classmethod
    def from_table(cls, delay: Any, share: Any, deadline: Any = None, default: Any = 0.0) -> Lost:
        return cls(delay, share, deadline, default)

    def parameters(self) -> Delays:
        deadline = check_rounds("deadline", self.deadline)
        lost = self.share + (1 - self.share) * chance_of_later(self.delay.parameters(), deadline)
        return Delays(np.array([deadline], np.int64), 0.0, deadline, lost, self.default)

    def __str__(self) -> str:
        instead = f", default {self.default:g}" if self.default else ""
        return f"{self.delay}, {self.share:g} lost, deadline {self.deadline}{instead}"


def check_lost_share(name: str, value: Any) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InvalidValue(name, value, "a number from 0 to 1")
    return float(value)
