"""The result of `replay`."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.goals.result import Outcome, Result, who
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.logs.log import Log
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.privacy.loss import Loss


@dataclass(frozen=True, repr=False)
class Replayed(Result):
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

    @property
    def goal(self) -> Literal["replay"]:
        """What was asked for."""
        return "replay"

    def outcome(self) -> Outcome:
        """The click rate; runs on a recorded log share its visits."""
        error = float(self.rate_error.mean()) if self.log.recorded else None
        return Outcome("click rate", self.rate, digits=4, own_error=error)

    def blocks(self) -> list[Block]:
        """One row for each run. `relative` is the click rate over that of random choice in the same visits."""
        return [
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
        ]
