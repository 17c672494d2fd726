"""The result of `answer`."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel, real
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.goals.result import Outcome, Result, who
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.law import Law
from maskedbandit.policies.parts.fixed_phases import FixedPhases
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss


@dataclass(frozen=True, repr=False)
class Answered(Result):
    """The result of `answer`: one row per run."""

    policy: Policy
    channel: Channel
    instance: Instance
    horizon: int
    answer: npt.NDArray[np.int64]  # [runs] the arm that was named; -1: none, as nothing was released
    correct: npt.NDArray[np.bool_]  # [runs] whether that is the best arm
    stopped: npt.NDArray[np.bool_]  # [runs] whether the policy named it, before the users ran out
    pulls: npt.NDArray[np.int64]  # [runs, k] users of each arm
    releases: npt.NDArray[np.int64]  # [runs] sums that were released
    loss: Loss  # of one user, the worst over the cohorts that occurred
    findings: dict[str, npt.NDArray[np.float64]]  # [runs] from the policy's state at the end
    delay: Delay = AT_ONCE
    runs_from: int = 0  # the number of the first run
    recorded: tuple[npt.NDArray[np.float64], ...] | None = None  # [runs] of [releases, 4], if they were kept

    @property
    def goal(self) -> Literal["answer"]:
        """What was asked for."""
        return "answer"

    def outcome(self) -> Outcome:
        """The share of wrong answers."""
        return Outcome("wrong", (~self.correct).astype(float), digits=4)

    def blocks(self) -> list[Block]:
        """One row for each run; `bound` is what is proved of the policy, if anything is."""
        return [
            {
                **who(self),
                "horizon": self.horizon,
                "bound": bound(self),
                "run": self.runs_from + np.arange(self.correct.size),
                "answer": self.answer,
                "correct": self.correct,
                "stopped": self.stopped,
                "users": self.pulls.sum(axis=1),
                "releases": self.releases,
                **self.findings,
            }
        ]


def bound(found: Answered) -> float | None:
    """A bound on the probability of a wrong answer, where all rewards come at once, and nobody drops out.

    A sum that wraps around may be any: the channel's `failure` is added for each release.
    """
    late = found.delay != AT_ONCE or found.instance.moves or not found.instance.tells_all
    if not isinstance(found.policy, FixedPhases) or late or real(found.channel) is not None:
        return None
    law = Law(*found.channel.law())
    wraps = float(getattr(found.channel, "failure", 0.0)) * int(found.releases.max())
    return min(1.0, found.policy.most_wrong(found.instance.true_means().tolist(), found.horizon, law) + wraps)
