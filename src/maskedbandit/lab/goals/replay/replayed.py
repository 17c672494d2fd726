"""The results of replays: one row per run."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maskedbandit.core import Floats, Integers
from maskedbandit.lab.goals.result import Outcome, Result, describe_run
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.logs.log import Log
from maskedbandit.policies.contextual_policy import ContextualPolicy


@dataclass(frozen=True, repr=False, kw_only=True)
class Replayed(Result):
    """The result of `replay`.

    Its loss is that of a user of the study that is replayed; a published replay has no guarantee, see replay.py.
    """

    goal: ClassVar[str] = "replay"

    log: Log
    t: Integers  # [c] visits taken at each checkpoint
    reward: Floats  # [runs, c] clicks so far; nan where a run took fewer visits
    users: Integers  # [runs] visits taken
    pulls: Integers  # [runs, k] those of each arm
    clicks: Floats  # [runs]
    random: Floats  # [runs] the click rate of showing a uniformly random article, from all visits

    @property
    def rate(self) -> Floats:
        """Click rate of the visits taken."""
        return self.clicks / np.maximum(self.users, 1)

    @property
    def rate_error(self) -> Floats:
        """The standard error of `rate`, given what the policy learned."""
        return np.sqrt(self.rate * (1 - self.rate) / np.maximum(self.users, 1))

    def outcome(self) -> Outcome:
        """The click rate; runs on a recorded log share its visits."""
        error = float(self.rate_error.mean()) if self.log.recorded else None
        return Outcome("click rate", self.rate, digits=4, own_error=error)

    @property
    def relative(self) -> Floats:
        """The click rate over that of random choice in the same visits; nan if nobody clicked in any of them."""
        return np.divide(self.rate, self.random, out=np.full_like(self.rate, np.nan), where=self.random > 0)

    @property
    def estimates(self) -> Block:
        """Further columns."""
        return {}

    def blocks(self) -> list[Block]:
        """One row for each run."""
        return [
            {
                **describe_run(self),
                "log": str(self.log),
                "recorded": self.log.recorded,
                "run": self.runs_from + np.arange(self.users.size),
                "taken": self.users,
                "rate": self.rate,
                "rate_error": self.rate_error,
                "random": self.random,
                "relative": self.relative,
                **self.estimates,
                "releases": self.releases,
                **self.findings,
            }
        ]


@dataclass(frozen=True, repr=False, kw_only=True)
class ReplayedContexts(Replayed):
    """The result of `replay` for a contextual policy, with estimates from all matches."""

    policy: ContextualPolicy
    matched: Integers  # [runs] visits whose article the policy would have shown
    weighted: Floats  # [runs] estimate by inverse propensities
    weighted_error: Floats  # [runs] its standard error
    normalised: Floats  # [runs] self-normalised estimate
    normalised_error: Floats

    @property
    def estimates(self) -> Block:
        """What all matches say."""
        names = "matched", "weighted", "weighted_error", "normalised", "normalised_error"
        return {name: getattr(self, name) for name in names}
