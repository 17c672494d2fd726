"""What a policy is: it asks for pulls and is told released sums, so whatever it computes is post-processing.

`ask` does all the thinking and may be called again before any `tell`; `tell` only keeps the books. Both are kernels
over the policy's state, a NamedTuple of arrays and numbers that `init` makes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from maskedbandit.law import Law
from maskedbandit.privacy.loss import Loss


class Policy(ABC):
    """A policy. Subclasses are frozen dataclasses of parameters; `ask` and `tell` are kernels."""

    goal: ClassVar[Literal["regret", "identify", "contextual"]]
    ask: ClassVar[Any]  # kernel (state, law, rng) -> Decision
    tell: ClassVar[Any]  # kernel (state, arm, n, total) -> None

    @abstractmethod
    def init(self, k: int, aim: Any) -> Any:
        """The state before the first pull of k arms.

        The aim is the `horizon`, a number of pulls, if the goal is regret; else `delta`, the chance of a wrong answer.
        """

    def needs(self, law: Law) -> str:
        """What a channel of this law lacks for the policy; empty if it will do.

        On a tree a release is a change of a running sum: of use only to a policy that adds up all of an arm's.
        """
        return "releases that are independent of one another" if law.counter > 0 else ""

    def loss(self, released: Loss, horizon: int) -> Loss:
        """Loss of one user by all that the policy shows, if it costs `released` to show what the policy is told."""
        return released

    def means(self, s: Any) -> npt.NDArray[np.float64] | None:
        """The mean reward of each arm in the releases that the policy goes by; nan: it was told nothing of the arm.

        None: it keeps no means. Only a policy that closes no cohort may say that.
        """
        return None

    def findings(self, s: Any) -> dict[str, float]:
        """What the state at the end of a run says, besides its decisions."""
        return {}
