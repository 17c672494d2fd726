"""The engine: one loop that drives every policy over every channel on every instance.

It simulates releases, not rewards: a policy that asks for n users costs one draw of their summed rewards and one of the
noise, so a run costs time by release, not by round. The loop below is a plain function; `compiled` fills it with the
kernels of a policy, a channel and an instance and compiles it, once per machine. The same loop runs as Python with the
environment variable NUMBA_DISABLE_JIT=1, and gives the same numbers. `simulate` and `identify` differ in what a stop
does: the answer is served to the users who are left, or ends the run.

A cohort that is closed is released when the last of its rewards is there, and told at once (see delays.py). If the
policy waits for that, users who come are served the arm of its last decision, and nobody asks for their rewards.

Every run has random streams of its own (see `Streams`): numbers do not depend on threads, on the order of runs, or on
how many there are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.compiler import compiled, layout
from maskedbandit.lab.delays import AT_ONCE, Delay, Delays, first_due, full, larger, pop, push, with_slots
from maskedbandit.lab.instances import Instance
from maskedbandit.lab.outcomes import (
    BAD_ARM,
    BAD_COUNT,
    DEADLOCK,
    DONE,
    MORE_SIZES,
    NO_FIT,
    TOO_WIDE,
    UNSIZED,
    Out,
    explain,
    noted,
    too_wide,
)
from maskedbandit.lab.streams import Rewards, Streams
from maskedbandit.law import Law, draws_of_one, steps
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import ZERO, Loss

LONGEST = 10**15


ask: Any = None  # these stand for the kernels that the loop is compiled with, see `kernels`
tell: Any = None
perturb: Any = None
noise: Any = None
one: Any = None
many: Any = None
late: Any = None


def loop(
    s: Any,
    law: Law,
    parameters: Any,
    memory: Any,
    instance: Any,
    delay: Delays,
    horizon: int,
    serve: bool,
    marks: npt.NDArray[np.int64],
    out: Out,
    keys: npt.NDArray[np.uint64],
    of_rewards: np.random.Generator,
    of_noise: np.random.Generator,
    of_policy: np.random.Generator,
    of_delays: np.random.Generator,
) -> int:
    """One run of at most `horizon` users, of whom the last get the answer of a stop if `serve`; how it ended."""
    k, best, stream = out.pulls.size, instance.means.max(), Rewards(of_rewards, keys)
    open_n, open_total = np.zeros(k, np.int64), np.zeros(k)
    flight, aloft = with_slots(np.arange(8), np.zeros(2, np.int64)), 0
    closed = np.zeros((8, 3))  # arm, number of users and sum of what is in flight, by slot
    t, mark, regret, rewards = 0, 0, 0.0, 0.0
    while t < horizon:
        decision = ask(s, law, of_policy)
        arm, n = decision.arm, decision.n
        waits, stop = arm == -1, n == 0
        if waits:
            if aloft == 0:
                return DEADLOCK  # every release was told, so there is none to wait for
            arm, n, stop = out.last[0], first_due(flight) - t, False
        else:
            out.last[0], out.last[1] = arm, n
        if arm < 0 or arm >= k:
            return BAD_ARM
        if n < 0:
            return BAD_COUNT
        if stop:
            if not serve:
                break
            n = horizon - t
        elif law.root > 0.0 and not waits and (decision.close == 0 or open_n[arm] > 0):
            return UNSIZED
        g = steps(law, n)
        end = min(t + n, horizon)
        planned, complete, asked = open_n[arm] + n, end == t + n, not (stop or waits)
        out.pulls[arm] += end - t
        if asked:
            open_n[arm] = planned
        while t < end:
            users = min(end, marks[mark]) - t
            if users == 1:
                x = one(instance, arm, t, g, stream)
            else:
                x = many(instance, arm, users, g, stream)
            if asked:
                open_total[arm] += x
            rewards += x / g if g > 0 else x
            regret += (best - instance.means[arm]) * users
            t += users
            if t == marks[mark]:
                out.regret[mark] = regret
                out.realised[mark] = best * t - rewards
                mark += 1
        if stop:
            break
        total, ready = open_total[arm], False
        if asked and decision.close == 1 and complete:  # a cohort cut off by the horizon is never released
            open_n[arm], open_total[arm] = 0, 0.0
            if not noted(out.sizes, planned):
                return MORE_SIZES
            wait = late(delay, planned, of_delays)
            ready = wait == 0
            if wait > 0:
                if full(flight):
                    flight, closed = larger(flight), np.concatenate((closed, np.zeros_like(closed)))
                slot = push(flight, t + wait)
                closed[slot, 0], closed[slot, 1], closed[slot, 2] = arm, planned, total
                aloft += 1
        while True:  # whatever is there by now is released: what is in flight came before what was closed just now
            if aloft > 0 and first_due(flight) <= t:
                slot = pop(flight)
                arm, n, x = int(closed[slot, 0]), int(closed[slot, 1]), closed[slot, 2]
                aloft -= 1
            elif ready:
                arm, n, x, ready = decision.arm, planned, total, False
            else:
                break
            g = steps(law, n)
            width, count = law.scale * g, draws_of_one(law, n)
            if too_wide(width, count, n, g):
                out.last[1] = n
                return TOO_WIDE
            z = noise(width, count, of_noise)
            released = perturb(parameters, memory, law, arm, x, n, z, of_noise)
            if released != released:
                out.last[1] = n
                return NO_FIT
            out.releases[0] += 1
            tell(s, arm, n, released)
    for arm in range(k):  # these users sent what they had, though nothing of it is released
        if open_n[arm] > 0 and not noted(out.sizes, open_n[arm]):
            return MORE_SIZES
    return DONE


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number of at least `least`, and at most `most`; 1e6 is one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidValue(name, value, f"a whole number of at least {least}")
    if most is not None and value > most:
        raise InvalidValue(name, value, f"at most {most}")
    return int(value)


def refuse_others(policy: Any, channel: Any, instance: Any, goal: str, delay: Any = AT_ONCE) -> None:
    """Each is what it is called, and the policy has this goal and can use what the channel releases."""
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
    if lack := policy.needs(channel.law()):
        raise InvalidValue("channel", channel, f"one that gives {type(policy).__name__} {lack}")


class Driven(NamedTuple):
    """What all runs wrote, one row each, and what they cost a user."""

    regret: npt.NDArray[np.float64]  # [runs, c]
    realised: npt.NDArray[np.float64]  # [runs, c]
    pulls: npt.NDArray[np.int64]  # [runs, k]
    releases: npt.NDArray[np.int64]  # [runs]
    last: npt.NDArray[np.int64]  # [runs, 2] arm and number of users of the last decision
    loss: Loss
    findings: dict[str, npt.NDArray[np.float64]]  # [runs]


def drive(
    policy: Policy,
    channel: Channel,
    instance: Instance,
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
    from maskedbandit.lab.rehearsal import real, refuse_late, rehearse  # which ends as `loop` does

    runs, seed = whole("runs", runs, 1, 10**7), whole("seed", seed, 0)
    jobs = whole("jobs", jobs if jobs is not None else os.cpu_count() or 1, 1)
    k, horizon, serve, law = len(instance.true_means()), int(marks[-1]), policy.goal == "regret", channel.law()
    rehearsed = real(channel) is not None
    refuse_late(channel, delay)
    go: Any = None
    if not rehearsed:
        channel_parts = channel.parameters(), channel.memory(k)
        parts = policy.init(k, aim), law, *channel_parts, instance.numbers(), delay.numbers()
        go = compiled(loop, " ".join(map(layout, parts)), **kernels(policy, channel, instance, delay))
    lags = delay.numbers()
    regret, realised = np.zeros((runs, marks.size)), np.zeros((runs, marks.size))
    pulls, releases, last = (np.zeros((runs, size), np.int64) for size in (k, 1, 2))
    losses: dict[int | str, Loss] = {}  # by the size of a cohort, or by the name of a rehearsal
    findings: list[dict[str, float]] = [{}] * runs
    stopped = threading.Event()

    def single(run: int, streams: Streams, room: int = 64) -> None:
        cohorts = np.zeros(room, np.int64)
        pulls[run], releases[run] = 0, 0
        out = Out(regret[run], realised[run], pulls[run], releases[run], cohorts, last[run])
        memory = channel.memory(k)
        numbers = policy.init(k, aim), law, channel.parameters(), memory, instance.numbers(), lags
        drawn: Any = streams.of(run)
        with np.errstate(over="ignore"):  # the reward stream counts modulo 2^64, also where the loop runs as Python
            if rehearsed:
                name = f"{study}, run {run}"
                what = policy, channel, instance, numbers[0], name
                status, losses[name], thrown_away = rehearse(*what, horizon, serve, marks, out, *drawn[:-1])
                findings[run] = {"thrown_away": thrown_away}
            else:
                status = go(*numbers, horizon, serve, marks, out, *drawn)
        if status == MORE_SIZES:
            return single(run, streams, 8 * room)
        explain(status, int(last[run, 0]), int(last[run, 1]), policy, channel, memory)
        findings[run] = policy.findings(numbers[0]) | findings[run]
        for n in cohorts[cohorts > 0].tolist():
            if n not in losses:  # at once, because a channel may refuse a size
                losses[n] = channel.loss(n)
        advance()

    def some(chunk: range) -> None:
        streams = Streams(seed, study)
        try:
            for run in chunk:
                if stopped.is_set():
                    return
                single(run, streams)
        except BaseException:
            stopped.set()  # before anybody waits for this thread: none begins another run
            raise

    some(range(1))  # the first alone, so that threads do not all compile
    chunk = max(1, min(64, runs // (4 * jobs)))
    with ThreadPoolExecutor(jobs) as pool:  # compiled loops run without the interpreter's lock
        try:
            list(pool.map(some, (range(i, min(i + chunk, runs)) for i in range(1, runs, chunk))))
        finally:
            stopped.set()  # an interrupt reaches this thread alone

    if law.grid > 0 and not instance.bits and not rehearsed:
        realised[:] = np.nan
    loss = ZERO
    for each in losses.values():
        loss |= each  # different cohorts are different users
    found = {name: np.array([each[name] for each in findings]) for name in findings[0]}
    return Driven(regret, realised, pulls, releases[:, 0], last, policy.loss(loss, horizon), found)


def kernels(
    policy: Policy, channel: Channel, instance: Instance, delay: Delay = AT_ONCE
) -> dict[str, Kernel[Any, Any]]:
    """What the names in the loop stand for."""
    names = {"ask": policy.ask, "tell": policy.tell, "perturb": channel.perturb, "noise": channel.draws}
    names["late"] = delay.late
    return names | {"one": instance.one, "many": instance.many, "draws_of_one": draws_of_one, "steps": steps}
