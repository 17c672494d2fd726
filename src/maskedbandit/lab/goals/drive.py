"""All runs of a policy over a channel on an instance, and the loss of a user by them.

What the runs of a setting share is computed once: a run of a few thousand steps takes less time than Python needs for
a few dozen calls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.core import Floats, Integers, Kernel
from maskedbandit.errors import InvalidValue, KernelError
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.arm_loop import make_run_kernel, whole_run
from maskedbandit.lab.engine.deck import make_deal_kernel
from maskedbandit.lab.engine.each_run import Task
from maskedbandit.lab.engine.earnings import make_earn_kernel
from maskedbandit.lab.engine.outcomes import (
    MORE_RELEASES,
    MORE_SIZES,
    MORE_SLOTS,
    RUN_AGAIN,
    Out,
    blank_out,
    check_whole,
    raise_for_status,
)
from maskedbandit.lab.engine.python_first import PythonFirst, is_own, watch_kernel
from maskedbandit.lab.goals import list_goals
from maskedbandit.lab.goals.runs import Runs
from maskedbandit.lab.rehearsal.rehearse import refuse_unrehearsed, rehearse_run
from maskedbandit.lab.streams import Streams
from maskedbandit.lab.worlds.instance import Instance, always, never
from maskedbandit.law import Law, count_steps, draws_of_one
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.study.driver import Driver

LONGEST = 10**15
MOST_AS_PYTHON = 2**30  # people: of sums over more, the compiler draws rare rewards with another rounding


def check_arms(instance: Any) -> Instance:
    """The instance, or raise unless it is one of arms."""
    if not isinstance(instance, Instance):
        raise InvalidValue("instance", instance, "one of arms without contexts, such as Bernoulli([0.9, 0.8])")
    return instance


def check_compatible(policy: Any, channel: Any, instance: Any, goal: str, delay: Any = AT_ONCE) -> None:
    """Raise unless each object has its type, the policy has this goal, and the channel suits the policy."""
    for name, value, kind, allowed in (
        ("policy", policy, Policy, "a policy, such as UCB1()"),
        ("channel", channel, Channel, "a channel, such as Central()"),
        ("delay", delay, Delay, "a delay, such as Constant(100)"),
    ):
        if not isinstance(value, kind):
            raise InvalidValue(name, value, allowed)
    check_arms(instance)
    if policy.goal != goal:
        verbs = [each.verb.__name__ for each in list_goals().values() if policy.goal in each.policies]
        takes = f"; mb.{verbs[0]} takes it" if verbs else ""
        raise InvalidValue("policy", policy, f"a policy whose goal is {goal!r}, not {policy.goal!r}{takes}")
    law = channel.carrying(instance.statistics).law()
    if lack := policy.needs(Law(*law)):  # checked, also if it was made by hand
        raise InvalidValue("channel", channel, f"one that gives {type(policy).__name__} {lack}")


@dataclass(frozen=True)
class Driven:
    """The results of all runs, one row each."""

    regret: Floats  # [runs, c]
    realised: Floats  # [runs, c]
    users: Integers  # [runs]
    stopped: npt.NDArray[np.bool_]  # [runs] whether the last decision was to stop
    answer: Integers  # [runs] the arm of the last decision
    leader: Integers  # [runs] the arm of the highest mean that the policy knows; -1: it knows none
    selected: npt.NDArray[np.bool_]  # [runs, k] the arms that the policy names; none, if it is not asked for several
    shared: dict[str, Any]  # the fields of every `ArmResult`


class Row(NamedTuple):
    """The result of a run."""

    out: Out
    losses: dict[int | str, Loss]  # by the size of a cohort, or by the name of a rehearsal
    findings: dict[str, float]
    leader: int
    selected: npt.NDArray[np.bool_]  # [k]


@dataclass(frozen=True, kw_only=True)
class Drive(Task[Row]):
    """The runs of a policy with this aim; the last of the marks is the horizon."""

    policy: Policy
    channel: Channel
    instance: Instance
    aim: float
    marks: Integers
    delay: Delay
    keep_releases: bool = False

    def made(self) -> Callable[[int, Streams], Row]:
        if find_backend(self.channel) is not None:
            return self.rehearsed
        policy, channel, marks = self.policy, self.channel, self.marks
        names = bind_kernels(policy, channel, self.instance, self.delay, self.keep_releases)
        watched = names | {name: watch_kernel(names[name]) for name in ("ask", "expected")}
        bound, seen = ({"ask": each["ask"], "run": make_run_kernel(**each)} for each in (names, watched))
        may = all(is_own(type(each)) for each in (policy, channel, self.instance, self.delay))
        may = may and int(marks[-1]) <= MOST_AS_PYTHON
        loop = PythonFirst(whole_run, bound, seen, may, self)
        law, parameters = channel.law(), channel.parameters()
        world, lags = self.instance.parameters(), self.delay.parameters()
        k, horizon, serve = self.arms, int(marks[-1]), policy.purpose.serves
        priced = dict[int, Loss]()
        slots = [8]  # for the cohorts that are in flight at once, as far as runs have shown

        def single(run: int, streams: Streams, capacity: int = 64, room: int = 1024) -> Row:
            out, memory, state = self.empty(capacity, room), channel.memory(k), policy.init(k, self.aim)
            drawn: Any = streams.of(run)
            enough = slots[0]
            given = state, law, parameters, memory, world, lags, horizon, serve, marks, out, *drawn, enough
            try:
                status = loop.run(given, lambda: int(out.pulls.sum()) / horizon if serve else 1.0)
            except KernelError:
                check_whole(policy, state, law, drawn[3])
                raise
            if status == RUN_AGAIN:
                return single(run, streams, capacity, room)
            if status == MORE_SIZES:
                return single(run, streams, 8 * capacity, room)
            if status == MORE_RELEASES:
                return single(run, streams, capacity, 8 * room)
            if status == MORE_SLOTS:
                slots[0] = max(slots[0], 8 * enough)
                return single(run, streams, capacity, room)
            raise_for_status(status, int(out.last[0]), int(out.last[1]), policy, channel, memory)
            sizes: list[int] = out.sizes[out.sizes > 0].tolist()
            for n in sizes:
                if n not in priced:  # now, because a channel may refuse a size
                    priced[n] = channel.loss(n)
            recorded = out.recorded[: out.releases[0]].copy() if self.keep_releases else out.recorded
            out = out._replace(sizes=out.sizes[:0], recorded=recorded)
            return Row(
                out,
                {n: priced[n] for n in sizes},
                policy.findings(state),
                self.leader(out, state),
                self.selected(state),
            )

        return single

    def rehearsed(self, run: int, streams: Streams) -> Row:
        """A run with all parties of a protocol."""
        name, out, horizon = f"{self.study}, run {run}", self.empty(1), int(self.marks[-1])
        drawn: Any = streams.of(run)
        *others, of_policy, _ = drawn
        driver = Driver(self.policy, self.channel.law(), self.arms, self.aim, of_policy.bytes(32))
        with np.errstate(over="ignore"):  # the reward stream counts modulo 2^64
            spent = rehearse_run(driver, self.channel, self.instance, name, horizon, self.marks, out, *others)
        loss, thrown_away = spent
        if self.keep_releases:
            out = out._replace(recorded=np.array(driver.recorded(), np.float64).reshape(-1, 4))
        findings = self.policy.findings(driver.state) | {"thrown_away": thrown_away}
        return Row(out, {name: loss}, findings, self.leader(out, driver.state), self.selected(driver.state))

    def leader(self, out: Out, state: Any) -> int:
        """The arm of the highest mean, if a policy that has to name an arm was cut off before it did."""
        purpose = self.policy.purpose
        must = purpose.aim == "people" and not purpose.serves and out.last[1] != 0
        means = self.policy.means(state) if must else None
        return -1 if means is None or np.isnan(means).all() else int(np.nanargmax(means))

    def selected(self, state: Any) -> npt.NDArray[np.bool_]:
        """The arms that a policy names that is asked for all arms of a kind."""
        return self.policy.selected(state) if isinstance(self.policy, Selection) else np.zeros(self.arms, bool)

    @cached_property
    def arms(self) -> int:
        return len(self.instance.true_means())

    def empty(self, capacity: int, room: int = 0) -> Out:
        """The record of a run, with room for so many sizes of cohorts, and for so many releases if they are kept."""
        return blank_out(self.arms, self.marks, capacity, room if self.keep_releases else 0)


def drive_runs(policy: Policy, channel: Channel, instance: Instance, aim: float, marks: Any, how: Runs) -> Driven:
    """These runs of a policy with this aim; the last of the marks is the horizon."""
    refuse_unrehearsed(channel, instance, how.delay)
    parts: dict[str, Any] = {"policy": policy, "channel": channel, "instance": instance, "delay": how.delay}
    named: Any = {"seed": how.seed, "study": how.study, "keep_releases": how.keep_releases}
    rows = how.do(Drive(**parts, aim=aim, marks=np.array(marks), **named))
    outs = [row.out for row in rows]
    realised = np.array([out.realised for out in outs])
    rounded = channel.law().grid > 0 and not instance.bits and find_backend(channel) is None
    if rounded or not instance.tells_all:  # the rewards themselves are not known
        realised[:] = np.nan
    loss = ZERO
    for each in {name: each for row in rows for name, each in row.losses.items()}.values():
        loss |= each  # different cohorts are different users
    last, pulls = np.array([out.last for out in outs]), np.array([out.pulls for out in outs])
    return Driven(
        regret=np.array([out.regret for out in outs]),
        realised=realised,
        users=pulls.sum(axis=1),
        stopped=last[:, 1] == 0,
        answer=last[:, 0],
        leader=np.array([row.leader for row in rows]),
        selected=np.array([row.selected for row in rows]),
        shared={
            **parts,
            "pulls": pulls,
            "releases": np.array([out.releases[0] for out in outs]),
            "loss": policy.loss(loss, int(marks[-1])),
            "findings": {name: np.array([row.findings[name] for row in rows]) for name in rows[0].findings},
            "runs_from": how.runs_from,
            "recorded": tuple(out.recorded for out in outs) if how.keep_releases else None,
        },
    )


def bind_kernels(
    policy: Policy, channel: Channel, instance: Instance, delay: Delay = AT_ONCE, keep_releases: bool = False
) -> dict[str, Kernel[Any, Any]]:
    """The kernels that the names in the loop stand for."""
    names = {"ask": policy.ask, "tell": policy.tell, "perturb": channel.perturb, "noise": channel.draws}
    delays, expected = delay.parameters(), instance.expected
    earn = make_earn_kernel(instance.one, instance.many, delays.lost > 0)
    names |= {"one": instance.one, "many": instance.many, "earn": earn, "expected": expected}
    names |= {"late": delay.late, "deal": make_deal_kernel(earn, expected)}
    flags = {"moves": instance.moves, "delayed": delays.longest > 0, "loses": delays.lost > 0, "kept": keep_releases}
    names |= {name: always if holds else never for name, holds in flags.items()}
    return names | {"draws_of_one": draws_of_one, "steps": count_steps}
