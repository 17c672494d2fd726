"""The results of `simulate`: one row per run."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.goals.result import Outcome, Result, who
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss


class Regret(Result):
    """A result that comes down to its regret at the horizon."""

    regret: npt.NDArray[np.float64]  # [runs, c] cumulative

    @property
    def goal(self) -> Literal["regret"]:
        """What was asked for."""
        return "regret"

    def outcome(self) -> Outcome:
        """Regret at the horizon."""
        return Outcome("regret", self.regret[:, -1])


@dataclass(frozen=True, repr=False)
class Run(Regret):
    """The result of `simulate`: one row per run.

    Pseudo-regret adds up the gaps of the arms that were served; realised regret uses the rewards themselves, so it has
    their randomness too (and is nan where the lab draws rounded rewards instead of rewards that are not bits).
    """

    policy: Policy
    channel: Channel
    instance: Instance
    horizon: int
    t: npt.NDArray[np.int64]  # [c] users served at each checkpoint; the last is the horizon
    regret: npt.NDArray[np.float64]  # [runs, c] cumulative pseudo-regret
    realised_regret: npt.NDArray[np.float64]  # [runs, c] t * (best mean) - sum of rewards
    pulls: npt.NDArray[np.int64]  # [runs, k] users served each arm
    releases: npt.NDArray[np.int64]  # [runs] sums that were released
    loss: Loss  # of one user, the worst over the cohorts that occurred
    findings: dict[str, npt.NDArray[np.float64]]  # [runs] from the policy's state at the end
    delay: Delay = AT_ONCE
    runs_from: int = 0  # the number of the first run
    recorded: tuple[npt.NDArray[np.float64], ...] | None = None  # [runs] of [releases, 4], if they were kept

    def blocks(self) -> list[Block]:
        """One row for each run and checkpoint; regret and realised regret are cumulative."""
        return [block(self, realised_regret=self.realised_regret)]


@dataclass(frozen=True, repr=False)
class ContextualRun(Regret):
    """The result of `simulate` for a contextual policy: one row per run."""

    policy: ContextualPolicy
    channel: Channel
    instance: Contexts
    horizon: int
    t: npt.NDArray[np.int64]  # [c] users served at each checkpoint; the last is the horizon
    regret: npt.NDArray[np.float64]  # [runs, c] sum of the best mean for the context, minus that of the arm served
    reward: npt.NDArray[np.float64]  # [runs, c] sum of rewards
    pulls: npt.NDArray[np.int64]  # [runs, k]
    releases: npt.NDArray[np.int64]  # [runs]
    loss: Loss
    findings: dict[str, npt.NDArray[np.float64]]
    delay: Delay = AT_ONCE
    runs_from: int = 0  # the number of the first run

    def blocks(self) -> list[Block]:
        """One row for each run and checkpoint; regret and reward are cumulative."""
        return [block(self, reward=self.reward)]


def block(run: Run | ContextualRun, **cumulative: npt.NDArray[np.float64]) -> Block:
    """One row for each run and checkpoint; `cumulative` are columns besides regret with a value at each checkpoint."""
    runs, c = run.regret.shape
    return {
        **who(run),
        "horizon": run.horizon,
        "run": np.repeat(run.runs_from + np.arange(runs), c),
        "t": np.tile(run.t, runs),
        "regret": run.regret.ravel(),
        **{name: values.ravel() for name, values in cumulative.items()},
        **{name: np.repeat(values, c) for name, values in run.findings.items()},
    }
