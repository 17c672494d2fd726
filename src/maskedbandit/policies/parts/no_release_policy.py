"""Policies that receive no releases, so that their loss is zero on every channel."""

from typing import Any

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.statistics import Statistics, rewards


class NoReleasePolicy(ContextualPolicy):
    """A policy that never closes a cohort.

    **Guarantee**: nothing that it shows depends on a reward, or on the context of any user except the current one.
    """

    def models(self, k: int) -> int:
        return 1

    def statistics(self, d: int, signed: bool) -> Statistics:
        return rewards(d)  # nothing is released, so the smallest statistics will do

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
