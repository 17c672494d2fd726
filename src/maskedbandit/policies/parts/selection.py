"""Policies that name all arms of a kind, and the two questions that they answer.

`top`    the m arms of the highest means
`above`  the arms whose means are at least a threshold; those within a tolerance of it may be named or not

An answer is a set of arms, so a policy of this goal has `selected`; the arm of the decision by which it stops is the
one of the highest mean, and no answer.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit.checks import check_cohort
from maskedbandit.core import Floats
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.selection import check_threshold, least_samples_above, least_samples_top
from maskedbandit.theory.transport import SAME_MEAN

SelectedArms = npt.NDArray[np.bool_]
InstanceMeans = Floats


class SelectionQuestion(ABC):
    """Which arms are asked for."""

    @property
    @abstractmethod
    def least_arms(self) -> int:
        """The least number of arms that it needs."""

    @abstractmethod
    def lacks(self, means: InstanceMeans) -> str:
        """What an instance of these means must be to have an answer; empty if it has one."""

    @abstractmethod
    def right(self, means: InstanceMeans, selected: SelectedArms) -> SelectedArms:
        """Which of these answers, one for each row, are right."""

    @abstractmethod
    def least_samples(self, name: str, means: Sequence[float], delta: float, epsilon: float) -> float:
        """A lower bound on the mean samples of every policy that answers it; see theory/selection.py."""


@dataclass(frozen=True)
class Top(SelectionQuestion):
    """The m arms of the highest means."""

    m: int

    def __post_init__(self) -> None:
        check_cohort("m", self.m)

    @property
    def least_arms(self) -> int:
        return self.m + 1

    def lacks(self, means: InstanceMeans) -> str:
        if means.size < self.least_arms:
            return f"one of more than {self.m} arms, as m is {self.m}"
        ranked = np.sort(means)[::-1]
        equal = ranked[self.m - 1] - ranked[self.m] < SAME_MEAN
        one = f"one in which the {self.m} best are better than all others, as otherwise the search does not end"
        return one if equal else ""

    def right(self, means: InstanceMeans, selected: SelectedArms) -> SelectedArms:
        best = np.zeros(means.size, bool)
        best[np.argsort(-means, kind="stable")[: self.m]] = True
        found: SelectedArms = np.all(selected == best, axis=-1)
        return found

    def least_samples(self, name: str, means: Sequence[float], delta: float, epsilon: float) -> float:
        return least_samples_top(name, means, self.m, delta, epsilon)


@dataclass(frozen=True)
class Above(SelectionQuestion):
    """The arms whose means are at least θ, or anything within the tolerance."""

    theta: float
    tolerance: float

    def __post_init__(self) -> None:
        check_threshold(self.theta, self.tolerance)

    @property
    def least_arms(self) -> int:
        return 1

    def lacks(self, means: InstanceMeans) -> str:
        if self.tolerance == 0 and np.any(abs(means - self.theta) < SAME_MEAN):
            return f"one without an arm of mean {self.theta:g} itself, as otherwise only a tolerance ends the search"
        return ""

    def right(self, means: InstanceMeans, selected: SelectedArms) -> SelectedArms:
        low, high = self.theta - self.tolerance, self.theta + self.tolerance
        found: SelectedArms = np.all(np.where(selected, means > low + SAME_MEAN, means < high - SAME_MEAN), axis=-1)
        return found

    def least_samples(self, name: str, means: Sequence[float], delta: float, epsilon: float) -> float:
        return least_samples_above(name, means, self.theta, self.tolerance, delta, epsilon)


class Selection(Policy):
    """A policy that names all arms of a kind."""

    goal = "select"

    @property
    @abstractmethod
    def question(self) -> SelectionQuestion:
        """Which arms it names."""

    @abstractmethod
    def selected(self, s: Any) -> SelectedArms:
        """The arms that it names, by its state when it stopped."""
