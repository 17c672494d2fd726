"""Replay: estimates what a policy would have earned from the log of another one [LCLW11].

A log states for every visit which arm was shown, its reward, and the probability 1/w with which it was shown. The
policy is asked what it would have shown. Where that matches the log, the visit is taken with probability c w, c the
least probability in the log, and the policy learns from it. So every visit is taken with probability c, whatever the
policy would have shown: the visits taken have the distribution of a real run, if visits are independent of one another,
and their mean reward estimates that of a real run [LCLW11, Thm. 1]. If all arms are equally likely, in pools of one
size, every match is taken. Two estimates use all matches, with their weights:

    inverse propensity   V = sum w r / N,             variance (sum w^2 r^2 / N - V^2) / N
    self-normalised      V = sum w r / sum w,         variance sum w^2 (r - V)^2 / (sum w)^2

for N visits, with w = 0 where the log shows something else. Both estimate the policy as it was at each visit, learning
only from the visits taken; for a policy that does not learn, all three estimate the same value.

The loss of a replay is that of the study it imitates, in which every user is served. It is no guarantee for the log:
there the context of a visit decides whether it is taken, so another context would shift all later cohorts by a user.

A log whose stated probabilities are wrong is detected, see scrutiny.py. Policies without contexts are replayed on what
log_arms.py makes of a log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Unpack, overload

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Integers
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine import context_play
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.engine.context_loop import (
    BOTH,
    EVENTS,
    MATCHED,
    RELEASES,
    REWARD,
    SQUARE,
    USERS,
    VALUE,
    VALUE_SQUARE,
    WEIGHT,
)
from maskedbandit.lab.engine.context_play import (
    ContextPlay,
    Finished,
    find_worst_loss,
    gather_last_states,
    make_context_loop,
)
from maskedbandit.lab.engine.each_run import MOST_RUNS, Task
from maskedbandit.lab.goals.drive import LONGEST
from maskedbandit.lab.goals.replay.log_arms import replay_arms
from maskedbandit.lab.goals.replay.log_contexts import LogContexts
from maskedbandit.lab.goals.replay.replayed import Replayed, ReplayedContexts
from maskedbandit.lab.goals.replay.scrutiny import Scrutiny
from maskedbandit.lab.goals.runs import RunOptions, Runs
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.streams import Streams
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_whole


@dataclass(frozen=True, kw_only=True)
class Replay(Task[tuple[Finished, float]]):
    """The replays of a policy: what is left of a run, and the click rate of random choice in the visits it looked at.

    The last of the marks is the horizon.
    """

    policy: ContextualPolicy
    channel: Channel
    log: Log
    context: Literal["user", "product"]
    marks: Integers
    delay: Delay

    def made(self) -> Callable[[int, Streams], tuple[Finished, float]]:
        log, horizon, contexts = self.log, int(self.marks[-1]), LogContexts(self.log, self.context)
        loop = make_context_loop(self.policy, self.channel, contexts, self.delay, self)

        def single(run: int, streams: Streams) -> tuple[Finished, float]:
            play, scrutiny = (
                ContextPlay(self.policy, self.channel, contexts, horizon, self.marks, self.delay),
                Scrutiny(log),
            )
            own = streams.of(run)
            for chunk in log.chunks(self.seed * MOST_RUNS + run):
                page = contexts.page(chunk)
                if run == 0 or not log.recorded:
                    scrutiny.add(chunk)
                if not play.go(loop, page, chunk.arm.size, log.least, own):
                    return single(run, streams)
                if play.progress.counts[USERS] >= horizon:
                    break
            if scrutiny.visits:
                scrutiny.judge()
            return play.finished(), scrutiny.random / max(scrutiny.visits, 1)

        return single


@overload
def replay(
    policy: ContextualPolicy,
    channel: Channel,
    log: Log,
    context: Literal["user", "product"] = "user",
    horizon: int | None = None,
    runs: int = 1,
    seed: int = 0,
    **how: Unpack[RunOptions],
) -> ReplayedContexts: ...


@overload
def replay(
    policy: Policy,
    channel: Channel,
    log: Log,
    context: Literal["user", "product"] = "user",
    horizon: int | None = None,
    runs: int = 1,
    seed: int = 0,
    **how: Unpack[RunOptions],
) -> Replayed: ...


def replay(
    policy: Policy,
    channel: Channel,
    log: Log,
    context: Literal["user", "product"] = "user",
    horizon: int | None = None,
    runs: int = 1,
    seed: int = 0,
    **how: Unpack[RunOptions],
) -> Replayed:
    """Replay a log for a policy, `runs` times: a generated log differs in every run, so its runs are independent.

    Runs on a recorded log share its visits. At most `horizon` visits are taken (by default any number). `context` is
    what policies see: numbers of the user, or ("product") their products with those of each article, for shared models.
    A policy without contexts, such as `UCB1`, is replayed on a log all of whose arms could be shown to every visitor,
    such as a `FrameLog`. All else is as for `simulate`; workers read a recorded log from its folder.

    >>> import maskedbandit as mb
    >>> found = mb.replay(mb.policies.LinUCB(alpha=0.3), mb.channels.Raw(), mb.Newsroom(events=20_000), seed=7)
    >>> bool(found.users[0] > 900 and found.loss.epsilon() == float("inf"))
    True
    """
    given = Runs.of(replay, runs, seed, how)
    if not isinstance(policy, ContextualPolicy):
        return replay_arms(policy, channel, log, context, horizon, given)
    return replay_contexts(policy, channel, log, context, horizon, given)


def replay_contexts(
    policy: ContextualPolicy,
    channel: Channel,
    log: Log,
    context: Literal["user", "product"],
    horizon: int | None,
    given: Runs,
) -> ReplayedContexts:
    """These replays of a contextual policy."""
    context_play.check_contextual_play(policy, channel, LogContexts(log, context), given.delay)
    horizon = to_whole("horizon", horizon if horizon is not None else log.events, 1, LONGEST)
    marks = list_checkpoints(horizon)
    parts: dict[str, Any] = {"policy": policy, "channel": channel, "log": log, "delay": given.delay}
    task = Replay(**parts, context=context, marks=marks, seed=given.seed, study=given.study)
    both = given.do(task)
    rows = [row for row, _ in both]
    random = [share for _, share in both]
    if log.recorded:  # runs share its visits, and the first of all looks at them
        first = random[0] if given.runs_from == 0 else Runs(executor=given.executor).do(task)[0][1]
        random = [first] * len(rows)
    tallies, events = np.array([row.tallies for row in rows]).T, np.array([max(row.counts[EVENTS], 1) for row in rows])
    w, total = tallies[WEIGHT], tallies[VALUE]
    weighted, normalised = total / events, total / np.maximum(w, 1e-300)
    squares = tallies[VALUE_SQUARE] - 2 * normalised * tallies[BOTH] + normalised**2 * tallies[SQUARE]
    return ReplayedContexts(
        **parts,
        t=marks,
        reward=np.array([np.where(marks <= row.counts[USERS], row.reward, np.nan) for row in rows]),
        users=np.array([row.counts[USERS] for row in rows]),
        pulls=np.array([row.pulls for row in rows]),
        clicks=np.array([row.totals[REWARD] for row in rows]),
        matched=np.array([row.counts[MATCHED] for row in rows]),
        weighted=weighted,
        weighted_error=np.sqrt(np.maximum(tallies[VALUE_SQUARE] / events - weighted**2, 0) / events),
        normalised=normalised,
        normalised_error=np.sqrt(np.maximum(squares, 0)) / np.maximum(w, 1e-300),
        random=np.array(random),
        releases=np.array([row.counts[RELEASES] for row in rows]),
        loss=find_worst_loss(rows),
        findings=gather_last_states(rows),
        runs_from=given.runs_from,
    )
