"""Simulation of contextual policies, and what it shares with replay: a run, from its first user to its last."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.core import Floats, Integers
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.context_loop import EVENTS, USERS, ContextProgress, run_contexts
from maskedbandit.lab.engine.in_flight import in_flight
from maskedbandit.lab.engine.outcomes import RUN_AGAIN, raise_for_status
from maskedbandit.lab.engine.python_first import PythonFirst, is_own, watch_kernel
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.law import Law
from maskedbandit.policies.contextual_policy import Aim, ContextualPolicy
from maskedbandit.privacy.loss import ZERO, Loss

SIZES = 4096  # different sizes of cohorts in a run
CONTEXT_KERNELS = ("ask", "tell", "due", "direction", "factors", "arrived")


class Finished(NamedTuple):
    """The result of a run; the arrays are those of its `Progress`."""

    counts: Integers
    totals: Floats
    tallies: Floats
    regret: Floats
    reward: Floats
    pulls: Integers
    loss: Loss
    findings: dict[str, float]


def make_context_loop(
    policy: ContextualPolicy, channel: Channel, contexts: Contexts, delay: Delay, task: Any = None
) -> PythonFirst:
    """The loop of all runs of a policy over a channel, which are those of a task if it is given."""
    carried = channel.carrying(policy.statistics(contexts.d, contexts.signed))
    bound = {name: getattr(policy, name) for name in CONTEXT_KERNELS}
    bound |= {"perturb": carried.perturb, "noise": carried.draws}
    bound |= {"present": contexts.present, "answer": contexts.answer}
    may = all(is_own(type(each)) for each in (policy, channel, contexts, delay))
    return PythonFirst(run_contexts, bound, bound | {"ask": watch_kernel(bound["ask"])}, may, task)


class ContextPlay:
    """One run of a policy over a channel: `go` serves the users of some events, and may be called again."""

    def __init__(
        self, policy: ContextualPolicy, channel: Channel, contexts: Contexts, horizon: int, marks: Any, delay: Delay
    ) -> None:
        self.policy, self.contexts, self.horizon, self.marks = policy, contexts, horizon, marks
        statistics, m = policy.statistics(contexts.d, contexts.signed), policy.models(contexts.k)
        self.channel = channel.carrying(statistics)
        self.law, self.parameters = self.channel.law(), self.channel.parameters()
        self.memory = self.channel.memory(m * statistics.size)
        self.state, self.delay = policy.init(contexts.k, Aim(contexts.d, horizon)), delay.parameters()
        flight = in_flight(self.delay, horizon)
        slots = flight.heap.size
        self.progress = ContextProgress(
            counts=np.zeros(7, np.int64),
            totals=np.zeros(2),
            tallies=np.zeros(5),
            regret=np.zeros(len(marks)),
            reward=np.zeros(len(marks)),
            pulls=np.zeros(contexts.k, np.int64),
            sizes=np.zeros(SIZES, np.int64),
            open=np.zeros(m, np.int64),
            sums=np.zeros((m, statistics.size)),
            release=np.zeros(statistics.size),
            x=np.zeros((contexts.rows, contexts.d)),
            flight=flight,
            arm=np.zeros(slots, np.int64),
            pool=np.zeros(slots, np.int64),
            z=np.zeros((slots, contexts.d)),
            paid=np.zeros(slots),
        )

    def go(self, loop: PythonFirst, source: Any, events: int, least: float, streams: Any) -> bool:
        """Go through so many events of a source: the parameters of contexts, or a chunk of a log.

        False if that takes too long as Python: then the run has to be made again.
        """
        counts, horizon = self.progress.counts, self.horizon
        before = int(counts[EVENTS])

        def done() -> float:
            return float(max((counts[EVENTS] - before) / events, counts[USERS] / horizon))

        parts = self.state, self.law, self.parameters, self.memory, source, self.delay
        products, signed = float(self.policy.products), self.contexts.signed or self.policy.protects == "rewards"
        how = events, horizon, least, products, signed, self.marks, self.progress
        status = loop.run((*parts, *how, *streams), done)
        if status == RUN_AGAIN:
            return False
        fault = int(counts[-1])
        raise_for_status(status, fault, fault, self.policy, self.channel, self.memory)
        return True

    def finished(self) -> Finished:
        """The result of the run."""
        it = self.progress
        found = it.counts, it.totals, it.tallies, it.regret, it.reward, it.pulls
        return Finished(*found, self.loss, self.policy.findings(self.state))

    @property
    def loss(self) -> Loss:
        """The loss of one user, the worst over the cohorts that occurred; a user is in one cohort of each model."""
        worst = ZERO
        sizes = [*self.progress.sizes[self.progress.sizes > 0].tolist(), *set(self.progress.open.tolist()) - {0}]
        for n in sizes:  # those who are in an open cohort sent what they had, though nothing of it is released
            worst |= self.channel.loss(n)
        return self.policy.loss(worst, self.horizon)


def check_contextual_play(policy: Any, channel: Any, contexts: Any, delay: Any = AT_ONCE) -> None:
    """Raise unless each object has its type, and the policy can use the channel's releases."""
    for name, value, kind, allowed in (
        ("policy", policy, ContextualPolicy, "a policy for contexts, such as LinUCB()"),
        ("channel", channel, Channel, "a channel, such as Central()"),
        ("instance", contexts, Contexts, "one with contexts, such as LinearContexts()"),
        ("delay", delay, Delay, "a delay, such as Constant(100)"),
    ):
        if not isinstance(value, kind):
            raise InvalidValue(name, value, allowed)
    backend = find_backend(channel)
    if backend and policy.protects == "rewards":
        allowed = "one that protects users, such as LinUCB(), where a protocol carries the sums"
        raise InvalidValue("policy", policy, f"{allowed}: users have to agree to the size of a cohort before they come")
    if backend and contexts.pools:
        raise InvalidValue("backend", backend, "ideal where visits have pools of their own, as those of a log have")
    if lack := policy.needs(Law(*channel.law())):  # checked, also if it was made by hand
        raise InvalidValue("channel", channel, f"one that gives {type(policy).__name__} {lack}")
    if lack := policy.lacks(contexts.rows, contexts.fixed):
        raise InvalidValue("instance", contexts, f"one that gives {type(policy).__name__} {lack}")
    channel.carrying(policy.statistics(contexts.d, contexts.signed))  # or it refuses


def find_worst_loss(rows: Iterable[Finished]) -> Loss:
    """The loss of a user of any of these runs."""
    loss = ZERO
    for row in rows:
        loss |= row.loss
    return loss


def gather_last_states(rows: Sequence[Finished]) -> dict[str, Floats]:
    """Further results, from the last states of the runs."""
    return {name: np.array([row.findings[name] for row in rows]) for name in rows[0].findings}
