"""What a policy is: it asks for pulls and is told released sums, so whatever it computes is post-processing.

`ask` does all the thinking and may be called again before any `tell`; `tell` only keeps the books. Both are kernels
over the policy's state, a NamedTuple of arrays and numbers that `init` makes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from maskedbandit.privacy.loss import ZERO, Loss


class Policy(ABC):
    """A policy. Subclasses are frozen dataclasses of parameters; `ask` and `tell` are kernels."""

    goal: ClassVar[Literal["regret", "identify"]]
    ask: ClassVar[Any]  # kernel (state, law, rng) -> Decision
    tell: ClassVar[Any]  # kernel (state, arm, n, total) -> None

    @abstractmethod
    def init(self, k: int, horizon: int) -> Any:
        """The state before the first pull of k arms, for `horizon` pulls in all."""

    def loss(self, horizon: int) -> Loss:
        """What the policy itself costs a user: nothing, as it sees releases alone."""
        return ZERO
