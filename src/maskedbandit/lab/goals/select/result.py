"""The result of `select`."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.goals.result import Outcome, Result, private_bound, who
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.privacy.loss import Loss


@dataclass(frozen=True, repr=False)
class Selected(Result):
    """The result of `select`: one row per run."""

    policy: Selection
    channel: Channel
    instance: Instance
    delta: float
    max_pulls: int
    samples: npt.NDArray[np.int64]  # [runs] users until the policy stopped; `max_pulls` if it did not
    answer: npt.NDArray[np.bool_]  # [runs, k] whether it named the arm; no arm if it did not stop
    correct: npt.NDArray[np.bool_]  # [runs] whether it stopped, and its answer is right in every arm
    stopped: npt.NDArray[np.bool_]  # [runs]
    pulls: npt.NDArray[np.int64]  # [runs, k] users of each arm
    releases: npt.NDArray[np.int64]  # [runs] sums that were released
    loss: Loss  # of one user, the worst over the cohorts that occurred
    findings: dict[str, npt.NDArray[np.float64]]  # [runs] from the policy's state at the end
    delay: Delay = AT_ONCE
    runs_from: int = 0  # the number of the first run
    recorded: tuple[npt.NDArray[np.float64], ...] | None = None  # [runs] of [releases, 4], if they were kept

    @property
    def goal(self) -> Literal["select"]:
        """What was asked for."""
        return "select"

    def outcome(self) -> Outcome:
        """Samples until it stopped."""
        return Outcome("samples", self.samples, cut=int(np.count_nonzero(~self.stopped)))

    def blocks(self) -> list[Block]:
        """One row for each run.

        `answer` names arms by their numbers, and `bound` is the lower bound on the mean samples of every policy with
        the same question, loss and probability of error.
        """
        return [
            {
                **who(self),
                "delta": self.delta,
                "max_pulls": self.max_pulls,
                "bound": bound(self),
                "run": self.runs_from + np.arange(self.samples.size),
                "samples": self.samples.astype(float),
                "answer": np.array([" ".join(map(str, np.flatnonzero(named))) for named in self.answer]),
                "correct": self.correct,
                "stopped": self.stopped,
                "releases": self.releases,
                **self.findings,
            }
        ]


def bound(found: Selected) -> float | None:
    """The lower bound of a run's trust model; known for bits alone, and where means stay."""
    if not found.instance.bits or found.instance.moves:
        return None
    name, epsilon = private_bound(found)
    means = found.instance.true_means().tolist()
    return found.policy.question.least_samples(name, means, found.delta, epsilon) or None
