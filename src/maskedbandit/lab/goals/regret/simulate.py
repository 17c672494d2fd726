"""Simulation of policies with the goal of regret: every user is served, up to a horizon."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine import context_play
from maskedbandit.lab.engine.checkpoints import checkpoints
from maskedbandit.lab.engine.context_loop import RELEASES
from maskedbandit.lab.engine.context_play import Finished, Play, gathered, worst
from maskedbandit.lab.engine.each_run import Task, Workers, each_run, numbered
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive
from maskedbandit.lab.goals.regret.result import ContextualRun, Run
from maskedbandit.lab.streams import Streams
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import whole


@overload
def simulate(
    policy: ContextualPolicy,
    channel: Channel,
    instance: Contexts,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    study: str = "",
    executor: Workers = ...,
    advance: Callable[[], object] = ...,
    delay: Delay = AT_ONCE,
    runs_from: int = ...,
) -> ContextualRun: ...


@overload
def simulate(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    study: str = "",
    executor: Workers = ...,
    advance: Callable[[], object] = ...,
    delay: Delay = AT_ONCE,
    runs_from: int = ...,
    keep_releases: bool = ...,
) -> Run: ...


def simulate(
    policy: Policy,
    channel: Channel,
    instance: Instance | Contexts,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    study: str = "",
    executor: Workers = Threads,
    advance: Callable[[], object] = lambda: None,
    delay: Delay = AT_ONCE,
    runs_from: int = 0,
    keep_releases: bool = False,
) -> Run | ContextualRun:
    """Run a policy through a channel on an instance, `runs` times independently.

    A contextual policy runs on contexts, such as `LinearContexts`, and gives a `ContextualRun`.

    `study` names the random streams (the id of a setting in an experiment); `delay` is how late rewards are (see
    delays). `executor` is a `concurrent.futures.Executor`, or what makes one: by default a thread for each core, and
    the numbers do not depend on it. `advance` is called for every run that is done. `runs_from` is the number of the
    first run, where some are done elsewhere. With `keep_releases` the run can be given to `estimate`; contextual ones
    cannot.

    >>> import maskedbandit as mb
    >>> channel = mb.channels.Central(epsilon=0.5)
    >>> run = mb.simulate(mb.policies.SuccessiveElimination(), channel, mb.Bernoulli([0.9, 0.5]), 10**6, seed=7)
    >>> run.loss.epsilon(), run.pulls.sum(), run.pulls[0, 0] > 990_000
    (0.5, np.int64(1000000), np.True_)
    """
    horizon = whole("horizon", horizon, 1, LONGEST)
    marks = checkpoints(horizon)
    how: dict[str, Any] = {"runs": numbered(runs, runs_from), "seed": seed, "study": study, "delay": delay}
    how |= {"executor": executor, "advance": advance}
    if isinstance(policy, ContextualPolicy):
        contexts: Any = instance
        if keep_releases:
            raise InvalidValue("keep_releases", keep_releases, "left out for contextual policies")
        return drive_contexts(policy, channel, contexts, marks=marks, **how)
    check_compatible(policy, channel, instance, "regret", delay)
    assert isinstance(instance, Instance)
    channel = channel.carrying(instance.statistics)
    found = drive(policy, channel, instance, aim=horizon, marks=marks, keep_releases=keep_releases, **how)
    return Run(
        policy=policy,
        channel=channel,
        instance=instance,
        horizon=horizon,
        t=marks,
        regret=found.regret,
        realised_regret=found.realised,
        pulls=found.pulls,
        releases=found.releases,
        loss=found.loss,
        findings=found.findings,
        delay=delay,
        runs_from=runs_from,
        recorded=found.recorded,
    )


@dataclass(frozen=True, kw_only=True)
class Contextual(Task[Finished]):
    """The runs of a contextual policy; the last of the marks is the horizon."""

    policy: ContextualPolicy
    channel: Channel
    contexts: Contexts
    marks: npt.NDArray[np.int64]
    delay: Delay

    def made(self) -> Callable[[int, Streams], Finished]:
        world, horizon = self.contexts.parameters(), int(self.marks[-1])

        def single(run: int, streams: Streams) -> Finished:
            play = Play(self.policy, self.channel, self.contexts, horizon, self.marks, self.delay)
            play.go(world, horizon, 1.0, streams.of(run))
            return play.finished()

        return single


def drive_contexts(
    policy: ContextualPolicy,
    channel: Channel,
    contexts: Contexts,
    *,
    marks: npt.NDArray[np.int64],
    runs: range,
    seed: int,
    study: str,
    executor: Workers,
    advance: Callable[[], object],
    delay: Delay,
) -> ContextualRun:
    """These runs of a contextual policy; the last of the marks is the horizon."""
    context_play.check_compatible(policy, channel, contexts, delay)
    parts: dict[str, Any] = {"policy": policy, "channel": channel, "contexts": contexts, "delay": delay}
    task = Contextual(**parts, marks=marks, seed=whole("seed", seed, 0), study=study)
    rows = each_run(task, runs, executor, advance)
    return ContextualRun(
        policy=policy,
        channel=channel,
        instance=contexts,
        horizon=int(marks[-1]),
        t=marks,
        regret=np.array([row.regret for row in rows]),
        reward=np.array([row.reward for row in rows]),
        pulls=np.array([row.pulls for row in rows]),
        releases=np.array([row.counts[RELEASES] for row in rows]),
        loss=worst(rows),
        findings=gathered(rows),
        delay=delay,
        runs_from=runs.start,
    )
