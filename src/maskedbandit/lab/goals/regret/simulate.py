"""Simulation of policies with the goal of regret: every user is served, up to a horizon."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, overload

import numpy as np

from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.core import Floats, Integers
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine import context_play
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.engine.context_loop import RELEASES
from maskedbandit.lab.engine.context_play import (
    ContextPlay,
    Finished,
    find_worst_loss,
    gather_last_states,
    make_context_loop,
)
from maskedbandit.lab.engine.each_run import Task
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive_runs
from maskedbandit.lab.goals.result import ArmResult, Outcome, Result, describe_run
from maskedbandit.lab.goals.runs import ReleaseOptions, RunOptions, Runs
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.rehearsal.rehearse_contexts import rehearse_contexts
from maskedbandit.lab.streams import Streams
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_whole


@dataclass(frozen=True, repr=False, kw_only=True)
class Regret(Result):
    """A result that comes down to its regret at the horizon."""

    goal: ClassVar[str] = "regret"

    horizon: int
    t: Integers  # [c] users served at each checkpoint; the last is the horizon
    regret: Floats  # [runs, c] cumulative

    def outcome(self) -> Outcome:
        """Regret at the horizon."""
        return Outcome("regret", self.regret[:, -1])


@dataclass(frozen=True, repr=False, kw_only=True)
class Run(Regret, ArmResult):
    """The result of `simulate`: one row per run.

    Pseudo-regret adds up the gaps of the arms that were served; realised regret uses the rewards themselves, so it has
    their randomness too (and is nan where the lab draws rounded rewards instead of rewards that are not bits).
    """

    realised_regret: Floats  # [runs, c] t * (best mean) - sum of rewards

    def blocks(self) -> list[Block]:
        """One row for each run and checkpoint; regret and realised regret are cumulative."""
        return [block(self, realised_regret=self.realised_regret)]


@dataclass(frozen=True, repr=False, kw_only=True)
class ContextualRun(Regret):
    """The result of `simulate` for a contextual policy: one row per run.

    Regret adds up the best mean for each context, minus that of the arm that was served.
    """

    policy: ContextualPolicy
    instance: Contexts
    reward: Floats  # [runs, c] sum of rewards
    pulls: Integers  # [runs, k]

    def blocks(self) -> list[Block]:
        """One row for each run and checkpoint; regret and reward are cumulative."""
        return [block(self, reward=self.reward)]


def block(run: Run | ContextualRun, **cumulative: Floats) -> Block:
    """One row for each run and checkpoint; `cumulative` are columns besides regret with a value at each checkpoint."""
    runs, c = run.regret.shape
    return {
        **describe_run(run),
        "horizon": run.horizon,
        "run": np.repeat(run.runs_from + np.arange(runs), c),
        "t": np.tile(run.t, runs),
        "regret": run.regret.ravel(),
        **{name: values.ravel() for name, values in cumulative.items()},
        **{name: np.repeat(values, c) for name, values in run.findings.items()},
    }


@dataclass(frozen=True, kw_only=True)
class Contextual(Task[Finished]):
    """The runs of a contextual policy; the last of the marks is the horizon."""

    policy: ContextualPolicy
    channel: Channel
    contexts: Contexts
    marks: Integers
    delay: Delay

    def made(self) -> Callable[[int, Streams], Finished]:
        if find_backend(self.channel) is not None:
            return self.rehearsed
        world, horizon = self.contexts.parameters(), int(self.marks[-1])
        loop = make_context_loop(self.policy, self.channel, self.contexts, self.delay, self)

        def single(run: int, streams: Streams) -> Finished:
            play = ContextPlay(self.policy, self.channel, self.contexts, horizon, self.marks, self.delay)
            if play.go(loop, world, horizon, 1.0, streams.of(run)):
                return play.finished()
            return single(run, streams)

        return single

    def rehearsed(self, run: int, streams: Streams) -> Finished:
        """A run with all parties of a protocol."""
        contexts, name = self.contexts, f"{self.study}, run {run}"
        channel = self.channel.carrying(self.policy.statistics(contexts.d, contexts.signed))
        with np.errstate(over="ignore"):  # the reward stream counts modulo 2^64
            return rehearse_contexts(self.policy, channel, contexts, name, self.marks, self.delay, streams.of(run))


@overload
def simulate(
    policy: ContextualPolicy,
    channel: Channel,
    instance: Contexts,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    **how: Unpack[RunOptions],
) -> ContextualRun: ...


@overload
def simulate(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    **how: Unpack[ReleaseOptions],
) -> Run: ...


def simulate(
    policy: Policy,
    channel: Channel,
    instance: Any,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    **how: Unpack[ReleaseOptions],
) -> Run | ContextualRun:
    """Run a policy through a channel on an instance, `runs` times independently.

    A contextual policy runs on contexts, such as `LinearContexts`, and gives a `ContextualRun`.

    The same `seed` gives the same numbers (0), and `study` names the random streams (the id of a setting in an
    experiment); `delay` is how late rewards are (see delays). `executor` is a `concurrent.futures.Executor`, or a
    function that makes one: by default a thread for each core. The numbers do not depend on it. `advance` is called for
    every run that is done. `runs_from` is the number of the first run (0), where some are done elsewhere. With
    `keep_releases` the run can be given to `estimate`; contextual ones cannot.

    >>> import maskedbandit as mb
    >>> channel = mb.channels.Central(epsilon=0.5)
    >>> run = mb.simulate(mb.policies.SuccessiveElimination(), channel, mb.Bernoulli([0.9, 0.5]), 10**6, seed=7)
    >>> run.loss.epsilon(), run.pulls.sum(), run.pulls[0, 0] > 990_000
    (0.5, np.int64(1000000), np.True_)
    """
    given, horizon = Runs.of(simulate, runs, seed, how), to_whole("horizon", horizon, 1, LONGEST)
    if isinstance(policy, ContextualPolicy):
        return simulate_contexts(policy, channel, instance, horizon, given)
    check_compatible(policy, channel, instance, "regret", given.delay)
    marks = list_checkpoints(horizon)
    found = drive_runs(policy, channel.carrying(instance.statistics), instance, horizon, marks, given)
    return Run(**found.shared, horizon=horizon, t=marks, regret=found.regret, realised_regret=found.realised)


def simulate_contexts(
    policy: ContextualPolicy, channel: Channel, contexts: Contexts, horizon: int, how: Runs
) -> ContextualRun:
    """These runs of a contextual policy."""
    if how.keep_releases:
        raise InvalidValue("keep_releases", how.keep_releases, "left out for contextual policies")
    context_play.check_contextual_play(policy, channel, contexts, how.delay)
    parts: dict[str, Any] = {"policy": policy, "channel": channel, "delay": how.delay}
    marks = list_checkpoints(horizon)
    rows = how.do(Contextual(**parts, contexts=contexts, marks=marks, seed=how.seed, study=how.study))
    return ContextualRun(
        **parts,
        instance=contexts,
        horizon=horizon,
        t=marks,
        regret=np.array([row.regret for row in rows]),
        reward=np.array([row.reward for row in rows]),
        pulls=np.array([row.pulls for row in rows]),
        releases=np.array([row.counts[RELEASES] for row in rows]),
        loss=find_worst_loss(rows),
        findings=gather_last_states(rows),
        runs_from=how.runs_from,
    )
