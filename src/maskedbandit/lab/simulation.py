"""Simulation of policies that keep regret low: every user is served, up to a horizon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.contexts import Contexts
from maskedbandit.lab.delays import AT_ONCE, Delay
from maskedbandit.lab.engine import LONGEST, drive, refuse_others, whole
from maskedbandit.lab.instances import Instance
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss

if TYPE_CHECKING:
    from maskedbandit.lab.contextual import ContextualRun


@dataclass(frozen=True)
class Run:
    """What came out of `simulate`: one row per run.

    Pseudo-regret adds up the gaps of the arms that were served; realised regret also holds the luck of the rewards
    (and is nan where the lab draws rounded rewards instead of rewards that are not bits).
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
    findings: dict[str, npt.NDArray[np.float64]]  # [runs] what the policy's last state says
    delay: Delay = AT_ONCE

    def to_frame(self) -> Any:
        """A tidy table: one row for each run and checkpoint (a polars DataFrame)."""
        from maskedbandit.lab.regret import frame

        return frame(self)


def checkpoints(horizon: int) -> npt.NDArray[np.int64]:
    """Sixteen a decade, the same for every horizon, and the horizon itself.

    >>> checkpoints(10).tolist()
    [1, 2, 3, 4, 5, 6, 7, 9, 10]
    """
    grid = np.round(10 ** (np.arange(16 * len(str(horizon)) + 1) / 16)).astype(np.int64)
    return np.append(np.unique(grid[grid < horizon]), horizon)


def simulate(
    policy: Policy,
    channel: Channel,
    instance: Instance | Contexts,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    study: str = "",
    jobs: int | None = None,
    advance: Callable[[], object] = lambda: None,
    delay: Delay = AT_ONCE,
) -> Run | ContextualRun:
    """Run a policy over a channel on an instance, `runs` times independently.

    A contextual policy runs on contexts, such as `LinearContexts`, and gives a `ContextualRun`.

    `study` names the random streams (the id of a setting in an experiment); `jobs` is the number of threads, by default
    one for each core; `advance` is called after every run; `delay` is how late rewards are (see delays.py).

    >>> import maskedbandit as mb
    >>> channel = mb.channels.Central(epsilon=0.5)
    >>> run = mb.simulate(mb.policies.SuccessiveElimination(), channel, mb.Bernoulli([0.9, 0.5]), 10**6, seed=7)
    >>> run.loss.epsilon(), run.pulls.sum(), run.pulls[0, 0] > 990_000
    (0.5, np.int64(1000000), np.True_)
    """
    horizon = whole("horizon", horizon, 1, LONGEST)
    marks = checkpoints(horizon)
    how = runs, seed, study, jobs, advance, delay
    if isinstance(policy, ContextualPolicy):
        from maskedbandit.lab import contextual

        contexts: Any = instance
        return contextual.drive(policy, channel, contexts, marks, *how)
    refuse_others(policy, channel, instance, "regret", delay)
    assert isinstance(instance, Instance)
    found = drive(policy, channel, instance, horizon, marks, *how)
    outcome = found.regret, found.realised, found.pulls, found.releases, found.loss, found.findings
    return Run(policy, channel, instance, horizon, marks, *outcome, delay)
