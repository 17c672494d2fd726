"""The interface of policies: they ask for users and receive released sums, so all that they compute is post-processing.

`ask` decides, and may be called again before any `tell`; `tell` only stores a release in the state. Both are kernels
over the policy's state, a NamedTuple of arrays and numbers that `init` makes.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from maskedbandit.core import Floats
from maskedbandit.law import Law
from maskedbandit.policies.parts.purposes import Purpose, find_purpose
from maskedbandit.privacy.loss import Loss


def means_of(total: np.ndarray, n: np.ndarray) -> Floats:
    """total / n; nan where there is no user.

    >>> means_of(np.array([3.0, 0.0]), np.array([4, 0]))
    array([0.75,  nan])
    """
    return np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)


class Policy(ABC):
    """A policy. Subclasses are frozen dataclasses of parameters; `ask` and `tell` are kernels."""

    goal: ClassVar[str]  # the name of a folder of policies
    ask: ClassVar[Any]  # kernel (state, law, rng) -> Decision
    tell: ClassVar[Any]  # kernel (state, arm, n >= 1, total) -> None

    @abstractmethod
    def init(self, k: int, aim: Any) -> Any:
        """The state before the first pull of k arms.

        The aim is the `horizon`, a number of pulls, or `delta`, the probability of an error, as the purpose says.
        """

    @property
    def purpose(self) -> Purpose:
        """The purpose of its goal: what it is told, and how a study with it ends."""
        return find_purpose(self.goal)

    def needs(self, law: Law) -> str:
        """What a channel with noise of this distribution lacks for the policy; empty if the channel is suitable.

        On a tree a release is a change of a running sum, which only a policy that adds up all of an arm's releases can
        use.
        """
        return "releases that are independent of one another" if law.counter > 0 else ""

    def loss(self, released: Loss, horizon: int) -> Loss:
        """The loss of one user by all that the policy shows, if the sums that it receives cost `released` to show."""
        return released

    def means(self, s: Any) -> Floats | None:
        """The mean reward of each arm in the releases that the policy uses; nan for an arm without a release.

        By default these are the means of all releases, whose `total` and `n` are in the state. Only a policy that
        closes no cohort may return None.
        """
        return means_of(s.total, s.n)

    def findings(self, s: Any) -> dict[str, float]:
        """Further results of a run, from the state at its end."""
        return {}
