"""All runs of a policy over a channel on an instance, compiled and on threads, and what they cost a user.

What the runs of a setting share is computed once: a run of a few thousand steps takes less time than Python needs for
a few dozen calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel, real
from maskedbandit.core import Kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.arm_loop import loop
from maskedbandit.lab.engine.compiler import compiled
from maskedbandit.lab.engine.deck import dealing
from maskedbandit.lab.engine.earnings import earning
from maskedbandit.lab.engine.outcomes import MORE_SIZES, Out, explain
from maskedbandit.lab.engine.threads import on_threads
from maskedbandit.lab.rehearsal.rehearse import refuse_unrehearsed, rehearse
from maskedbandit.lab.streams import Streams
from maskedbandit.lab.worlds.instance import Instance, no, yes
from maskedbandit.law import Law, draws_of_one, steps
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import whole
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.study.driver import Driver

LONGEST = 10**15


def check_compatible(policy: Any, channel: Any, instance: Any, goal: str, delay: Any = AT_ONCE) -> None:
    """Raise unless each object has its type, the policy has this goal, and the channel suits the policy."""
    for name, value, kind, allowed in (
        ("policy", policy, Policy, "a policy, such as UCB1()"),
        ("channel", channel, Channel, "a channel, such as Central()"),
        ("instance", instance, Instance, "one of arms without contexts, such as Bernoulli([0.9, 0.8])"),
        ("delay", delay, Delay, "a delay, such as Constant(100)"),
    ):
        if not isinstance(value, kind):
            raise InvalidValue(name, value, allowed)
    if policy.goal != goal:
        raise InvalidValue("policy", policy, f"a policy whose goal is {goal!r}, not {policy.goal!r}")
    if lack := policy.needs(Law(*channel.law())):  # checked, also if it was made by hand
        raise InvalidValue("channel", channel, f"one that gives {type(policy).__name__} {lack}")


@dataclass(frozen=True)
class Driven:
    """The results of all runs, one row each, and the loss of a user."""

    regret: npt.NDArray[np.float64]  # [runs, c]
    realised: npt.NDArray[np.float64]  # [runs, c]
    pulls: npt.NDArray[np.int64]  # [runs, k]
    releases: npt.NDArray[np.int64]  # [runs]
    stopped: npt.NDArray[np.bool_]  # [runs] whether the last decision was to stop
    answer: npt.NDArray[np.int64]  # [runs] the arm of the last decision
    loss: Loss
    findings: dict[str, npt.NDArray[np.float64]]  # [runs]


def drive(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    *,
    aim: float,
    marks: npt.NDArray[np.int64],
    runs: int,
    seed: int,
    study: str,
    jobs: int | None,
    advance: Callable[[], object],
    delay: Delay,
) -> Driven:
    """All runs of a policy with this aim, on threads; the last of the marks is the horizon."""
    runs, seed = whole("runs", runs, 1, 10**7), whole("seed", seed, 0)
    k, horizon, serve, law = len(instance.true_means()), int(marks[-1]), policy.goal == "regret", channel.law()
    rehearsed = real(channel) is not None
    refuse_unrehearsed(channel, instance, delay)
    go: Any = None
    if not rehearsed:
        go = compiled(loop, **kernels(policy, channel, instance, delay))
    parameters, world, lags = channel.parameters(), instance.parameters(), delay.parameters()
    regret, realised = np.zeros((runs, marks.size)), np.zeros((runs, marks.size))
    pulls, releases, last = (np.zeros((runs, size), np.int64) for size in (k, 1, 2))
    losses: dict[int | str, Loss] = {}  # by the size of a cohort, or by the name of a rehearsal
    findings: list[dict[str, float]] = [{}] * runs

    def single(run: int, streams: Streams, capacity: int = 64) -> None:
        cohorts = np.zeros(capacity, np.int64)
        pulls[run], releases[run] = 0, 0
        out = Out(regret[run], realised[run], pulls[run], releases[run], cohorts, last[run])
        drawn: Any = streams.of(run)
        if rehearsed:
            name, (*others, of_policy, _) = f"{study}, run {run}", drawn
            driver = Driver(policy, law, k, aim, of_policy.bytes(32))
            with np.errstate(over="ignore"):  # the reward stream counts modulo 2^64
                losses[name], thrown_away = rehearse(driver, channel, instance, name, horizon, marks, out, *others)
            findings[run] = policy.findings(driver.state) | {"thrown_away": thrown_away}
            return
        memory = channel.memory(k)
        state = policy.init(k, aim)
        status = go(state, law, parameters, memory, world, lags, horizon, serve, marks, out, *drawn)
        if status == MORE_SIZES:
            return single(run, streams, 8 * capacity)
        explain(status, int(last[run, 0]), int(last[run, 1]), policy, channel, memory)
        findings[run] = policy.findings(state)
        for n in cohorts[cohorts > 0].tolist():
            if n not in losses:  # now, because a channel may refuse a size
                losses[n] = channel.loss(n)

    on_threads(single, runs, jobs, seed, study, advance)
    if law.grid > 0 and not instance.bits and not rehearsed:
        realised[:] = np.nan
    loss = ZERO
    for each in losses.values():
        loss |= each  # different cohorts are different users
    found = {name: np.array([each[name] for each in findings]) for name in findings[0]}
    return Driven(
        regret=regret,
        realised=realised,
        pulls=pulls,
        releases=releases[:, 0],
        stopped=last[:, 1] == 0,
        answer=last[:, 0],
        loss=policy.loss(loss, horizon),
        findings=found,
    )


def kernels(
    policy: Policy, channel: Channel, instance: Instance, delay: Delay = AT_ONCE
) -> dict[str, Kernel[Any, Any]]:
    """The kernels that the names in the loop stand for."""
    names = {"ask": policy.ask, "tell": policy.tell, "perturb": channel.perturb, "noise": channel.draws}
    delays, expected = delay.parameters(), instance.expected
    earn = earning(instance.one, instance.many, delays.lost > 0)
    names |= {"one": instance.one, "many": instance.many, "earn": earn, "expected": expected}
    names |= {"late": delay.late, "deal": dealing(earn, expected)}
    for name, holds in (("moves", instance.moves), ("delayed", delays.longest > 0), ("loses", delays.lost > 0)):
        names[name] = yes if holds else no
    return names | {"draws_of_one": draws_of_one, "steps": steps}
