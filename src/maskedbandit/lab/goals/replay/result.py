"""The result of `replay`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.goals.result import brief
from maskedbandit.lab.logs.log import Log
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.privacy.loss import Loss


@dataclass(frozen=True, repr=False)
class Replayed:
    """The result of `replay`: one row per run."""

    policy: ContextualPolicy
    channel: Channel
    log: Log
    t: npt.NDArray[np.int64]  # [c] visits taken at each checkpoint
    reward: npt.NDArray[np.float64]  # [runs, c] clicks so far; nan where a run took fewer visits
    users: npt.NDArray[np.int64]  # [runs] visits taken
    clicks: npt.NDArray[np.float64]  # [runs]
    matched: npt.NDArray[np.int64]  # [runs] visits whose article the policy would have shown
    weighted: npt.NDArray[np.float64]  # [runs] estimate by inverse propensities
    weighted_error: npt.NDArray[np.float64]  # [runs] its standard error
    normalised: npt.NDArray[np.float64]  # [runs] self-normalised estimate
    normalised_error: npt.NDArray[np.float64]
    random: npt.NDArray[np.float64]  # [runs] the click rate of showing a uniformly random article, from all visits
    releases: npt.NDArray[np.int64]
    loss: Loss  # of a user of the study that is replayed; a published replay has no guarantee, see replay.py
    findings: dict[str, npt.NDArray[np.float64]]
    delay: Delay = AT_ONCE
    runs_from: int = 0  # the number of the first run

    @property
    def rate(self) -> npt.NDArray[np.float64]:
        """Click rate of the visits taken."""
        return self.clicks / np.maximum(self.users, 1)

    @property
    def rate_error(self) -> npt.NDArray[np.float64]:
        """The standard error of `rate`, given what the policy learned."""
        return np.sqrt(self.rate * (1 - self.rate) / np.maximum(self.users, 1))

    def __repr__(self) -> str:
        return brief(self, self.users.size, f"mean click rate {self.rate.mean():.4g}")

    def to_frame(self) -> Any:
        """A tidy table (a polars DataFrame): one row for each run.

        `relative` is the click rate over that of random choice in the same visits.
        """
        import polars as pl  # not at the top: a replay needs no tables

        from maskedbandit.lab.goals.columns import who

        return pl.DataFrame(
            {
                **who(self),
                "log": str(self.log),
                "recorded": self.log.recorded,
                "run": self.runs_from + np.arange(self.users.size),
                "taken": self.users,
                "matched": self.matched,
                "rate": self.rate,
                "rate_error": self.rate_error,
                "random": self.random,
                "relative": self.rate / self.random,
                "weighted": self.weighted,
                "weighted_error": self.weighted_error,
                "normalised": self.normalised,
                "normalised_error": self.normalised_error,
                "releases": self.releases,
                **self.findings,
            }
        )
