"""What a contextual policy is: it sees the context of the user at hand, and is told sums of statistics.

The statistics of a user with context z and reward r are bounded vectors (see privacy/statistics.py). A sum of them over
a cohort is released for every model: one for each arm ("disjoint"), or one for all ("shared").

Policies that protect "users" are told sums of (z z', r z), and keep nothing of a context: all that other users see of a
user comes from releases. As the arm depends on the context, how many users an arm had is secret too; so the cohorts
of every model that the user could have been in have the same users, of whom most add nothing to it. That is
joint differential privacy: the user's own arm is not hidden from the user [SS18].

Policies that protect "rewards" take contexts and arms to be public. They are told sums of r z alone, and z may be any
vector that follows from what is public. They may keep what is public: `direction` may, and `ask` may keep what is the
same for all users, as visits of a log that are not taken end there.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.statistics import Statistics, linear, rewards


class Aim(NamedTuple):
    """What is asked of a contextual policy: users to serve, whose contexts have d numbers."""

    d: int
    horizon: int


class ContextualPolicy(Policy):
    """A contextual policy: a frozen dataclass of parameters, and five kernels.

    `x` has one row for each arm, or one row that all arms share; `pool` holds the arms to choose from.
    """

    goal = "contextual"
    protects: ClassVar[Literal["users", "rewards"]] = "users"
    products: Any = 0  # what z z' is multiplied with; 0: it is not asked for

    def models(self, k: int) -> int:
        """How many sums there are: one for each of k arms, if models are disjoint."""
        return k

    def statistics(self, d: int, signed: bool) -> Statistics:
        """What a user adds to them, of d numbers that may be negative if `signed`."""
        return linear(d, signed, Fraction(self.products)) if self.protects == "users" else rewards(d)

    @abstractmethod
    def init(self, k: int, aim: Aim) -> Any: ...

    def needs(self, law: Law) -> str:
        return "a grid that is the same for cohorts of every size" if law.root > 0 else ""

    def lacks(self, rows: int, fixed: bool) -> str:
        """What contexts lack for the policy, of so many rows, the same for all users if `fixed`; empty if nothing."""
        return ""

    @staticmethod
    @abstractmethod
    def ask(s: Any, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        """The arm for the user at hand; it leaves the state as it is."""

    @staticmethod
    @abstractmethod
    def due(s: Any, law: Law, model: int, n: int) -> bool:
        """Whether a cohort of the model closes that has n users."""

    @staticmethod
    @abstractmethod
    def tell(s: Any, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        """The sums of a cohort of n users were released."""

    @staticmethod
    @kernel
    def direction(s: Any, arm: int, x: np.ndarray, z: np.ndarray) -> None:
        """Write to z what the reward is multiplied with; x is the row of the arm."""
        z[:] = x

    @staticmethod
    @kernel
    def arrived(s: Any, arm: int, z: np.ndarray) -> None:
        """The reward of a user has arrived, in the open cohort. Only who protects rewards alone may use z."""
