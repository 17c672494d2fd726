"""The interface of contextual policies: they see the current user's context and receive released sums of statistics.

The statistics of a user with context z and reward r are bounded vectors (see privacy/statistics.py). A sum of them over
a cohort is released for every model: one for each arm ("disjoint"), or one for all ("shared").

Policies that protect "users" receive sums of (z z', r z) and store no context: other users learn about a user only from
releases. A model that is not linear has other `factors` than 1 and r, which a device computes from z, r and releases.
Because the arm depends on the context, the number of users of an arm is secret too. So every user is in the cohorts of
all models that the user could have been given, and adds zeros to all of them but one. That is joint differential
privacy: a user's own arm is not hidden from that user [SS18].

Policies that protect "rewards" take contexts and arms to be public. They receive sums of r z only, where z may be any
vector that follows from public values. They may store public values: `direction` may, and `ask` may store what is the
same for all users. (In a replay, `ask` is the only call for visits that are not taken.)
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.statistics import Factors, Statistics, linear_sums, reward_sums


class Aim(NamedTuple):
    """The task of a contextual policy: `horizon` users to serve, whose contexts have `d` numbers."""

    d: int
    horizon: int


class ContextualPolicy(Policy):
    """A contextual policy: a frozen dataclass of parameters, and six kernels.

    `x` has one row for each arm, or one row that all arms share; `pool` holds the arms to choose from.
    """

    goal = "contextual"
    protects: ClassVar[Literal["users", "rewards"]] = "users"
    products: Any = 0  # factor of z z' in the statistics; 0: z z' is not released

    def models(self, k: int) -> int:
        """The number of sums in a release: one for each of k arms, if models are disjoint."""
        return k

    def statistics(self, d: int, signed: bool) -> Statistics:
        """The statistics that a user adds to sums, from contexts of d numbers, which may be negative if `signed`."""
        return linear_sums(d, signed, Fraction(self.products)) if self.protects == "users" else reward_sums(d)

    @abstractmethod
    def init(self, k: int, aim: Aim) -> Any: ...

    def means(self, s: Any) -> None:
        return None

    def needs(self, law: Law) -> str:
        return "a grid that is the same for cohorts of every size" if law.root > 0 else ""

    def lacks(self, rows: int, fixed: bool) -> str:
        """What contexts of so many rows, the same for all users if `fixed`, lack; empty if they are suitable."""
        return ""

    @staticmethod
    @abstractmethod
    def ask(s: Any, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        """The arm for the current user. It does not change the state."""

    @staticmethod
    @abstractmethod
    def due(s: Any, law: Law, model: int, n: int) -> bool:
        """Whether the model's open cohort, which has n users, closes now."""

    @staticmethod
    @abstractmethod
    def tell(s: Any, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        """Receive the released sums of a cohort of n users."""

    @staticmethod
    @kernel
    def direction(s: Any, arm: int, x: np.ndarray, z: np.ndarray) -> None:
        """Write to z the vector that the reward is multiplied with; x is the row of the arm."""
        for i in range(z.size):  # Numba compiles `z[:] = x` for seconds
            z[i] = x[i]

    @staticmethod
    @kernel
    def factors(s: Any, model: int, z: np.ndarray, reward: float) -> Factors:
        """What z z' and z are multiplied with in the statistics of a user whose reward has arrived.

        They are in the range for which `statistics` is calibrated. The state stays as it is.
        """
        return Factors(1.0, reward)

    @staticmethod
    @kernel
    def arrived(s: Any, arm: int, z: np.ndarray) -> None:
        """A reward has arrived in the open cohort. Only policies that protect rewards alone may use z."""


class NoReleasePolicy(ContextualPolicy):
    """A policy that never closes a cohort.

    **Guarantee**: nothing that it shows depends on a reward, or on the context of any user except the current one.
    """

    def models(self, k: int) -> int:
        return 1

    def statistics(self, d: int, signed: bool) -> Statistics:
        return reward_sums(d)  # nothing is released, so the smallest statistics will do

    def loss(self, released: Loss, horizon: int) -> Loss:
        return ZERO

    @staticmethod
    @kernel
    def due(s: Any, law: Law, model: int, n: int) -> bool:
        return False

    @staticmethod
    @kernel
    def tell(s: Any, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        pass
