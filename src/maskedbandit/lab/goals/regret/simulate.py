"""Simulation of policies with the goal of regret: every user is served, up to a horizon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine import context_play
from maskedbandit.lab.engine.checkpoints import checkpoints
from maskedbandit.lab.engine.context_loop import RELEASES
from maskedbandit.lab.engine.context_play import Play, gathered
from maskedbandit.lab.engine.threads import on_threads
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive
from maskedbandit.lab.goals.regret.result import ContextualRun, Run
from maskedbandit.lab.streams import Streams
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import whole
from maskedbandit.privacy.loss import ZERO


@overload
def simulate(
    policy: ContextualPolicy,
    channel: Channel,
    instance: Contexts,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    study: str = "",
    jobs: int | None = None,
    advance: Callable[[], object] = ...,
    delay: Delay = AT_ONCE,
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
    jobs: int | None = None,
    advance: Callable[[], object] = ...,
    delay: Delay = AT_ONCE,
) -> Run: ...


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
    """Run a policy through a channel on an instance, `runs` times independently.

    A contextual policy runs on contexts, such as `LinearContexts`, and gives a `ContextualRun`.

    `study` names the random streams (the id of a setting in an experiment); `jobs` is the number of threads, by default
    one for each core; `advance` is called after every run; `delay` is how late rewards are (see delays).

    >>> import maskedbandit as mb
    >>> channel = mb.channels.Central(epsilon=0.5)
    >>> run = mb.simulate(mb.policies.SuccessiveElimination(), channel, mb.Bernoulli([0.9, 0.5]), 10**6, seed=7)
    >>> run.loss.epsilon(), run.pulls.sum(), run.pulls[0, 0] > 990_000
    (0.5, np.int64(1000000), np.True_)
    """
    horizon = whole("horizon", horizon, 1, LONGEST)
    marks = checkpoints(horizon)
    how: dict[str, Any] = {"runs": runs, "seed": seed, "study": study, "jobs": jobs, "advance": advance, "delay": delay}
    if isinstance(policy, ContextualPolicy):
        contexts: Any = instance
        return drive_contexts(policy, channel, contexts, marks=marks, **how)
    check_compatible(policy, channel, instance, "regret", delay)
    assert isinstance(instance, Instance)
    found = drive(policy, channel, instance, aim=horizon, marks=marks, **how)
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
    )


def drive_contexts(
    policy: ContextualPolicy,
    channel: Channel,
    contexts: Contexts,
    *,
    marks: npt.NDArray[np.int64],
    runs: int,
    seed: int,
    study: str,
    jobs: int | None,
    advance: Callable[[], object],
    delay: Delay,
) -> ContextualRun:
    """All runs of a contextual policy, on threads; the last of the marks is the horizon."""
    context_play.check_compatible(policy, channel, contexts, delay)
    horizon = int(marks[-1])
    runs, seed = whole("runs", runs, 1, 10**7), whole("seed", seed, 0)
    world = contexts.parameters()

    def single(run: int, streams: Streams) -> Play:
        play = Play(policy, channel, contexts, horizon, marks, delay)
        play.go(world, horizon, 1.0, streams.of(run))
        return play

    plays = on_threads(single, runs, jobs, seed, study, advance)
    rows = [play.progress for play in plays]
    loss = ZERO
    for play in plays:
        loss |= play.loss
    return ContextualRun(
        policy=policy,
        channel=channel,
        instance=contexts,
        horizon=horizon,
        t=marks,
        regret=np.array([row.regret for row in rows]),
        reward=np.array([row.reward for row in rows]),
        pulls=np.array([row.pulls for row in rows]),
        releases=np.array([row.counts[RELEASES] for row in rows]),
        loss=loss,
        findings=gathered(plays),
        delay=delay,
    )
