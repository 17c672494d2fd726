"""Runs of the engine on a table of rewards, with everything that audits look at written down.

The engine's own loop plays them, as Python.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Decision, kernel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.engine.arm_loop import loop
from maskedbandit.lab.engine.checkpoints import checkpoints
from maskedbandit.lab.engine.outcomes import DONE, Out
from maskedbandit.lab.goals.drive import kernels
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from tests.golden import aim


class TableParameters(NamedTuple):
    """Rewards by user and arm, and the next user."""

    means: np.ndarray
    rewards: np.ndarray
    user: np.ndarray


@dataclass(frozen=True)
class Table(Instance):
    """The reward of every user for every arm: one row for each user, of bits. Regret counts the users of arm 1."""

    rows: tuple[tuple[float, ...], ...]
    bits = True

    def true_means(self):
        return np.array([1.0] + [0.0] * (len(self.rows[0]) - 1))

    def parameters(self):
        return TableParameters(self.true_means(), np.array(self.rows, dtype=float), np.zeros(1, np.int64))

    @staticmethod
    @kernel
    def one(i, arm, t, g, stream):
        i.user[0] += 1
        return max(g, 1.0) * i.rewards[t, arm]

    @staticmethod
    @kernel
    def many(i, arm, n, g, stream):
        total = 0.0
        for _ in range(n):
            total += i.rewards[i.user[0], arm]
            i.user[0] += 1
        return max(g, 1.0) * total


class Play(NamedTuple):
    """One run, and what the channel was given in it."""

    decisions: list[Decision]
    sums: list[tuple[int, int, float]]  # arm, n and sum of rewards of each release, before its noise
    draws: int  # calls of the kernel that draws noise
    releases: int  # what the engine says
    released: list[tuple[int, int, float]]


def play(
    policy: Policy,
    channel: Channel,
    rows: Sequence[Sequence[float]],
    rng: np.random.Generator,
    forced: Sequence[Decision] = (),
    engine: Any = loop,
) -> Play:
    """A run of as many users as there are rows; decisions are the policy's, unless they are forced."""
    k, horizon, instance, law = len(rows[0]), len(rows), Table(tuple(map(tuple, rows))), channel.law()
    names: dict[str, Any] = dict(kernels(policy, channel, instance))
    script, decisions, sums, released, draws = iter(forced), [], [], [], [0]

    def ask(*args: Any) -> Decision:
        decisions.append(next(script) if forced else Decision(*policy.ask(*args)))
        return decisions[-1]

    def tell(s: Any, arm: int, n: int, total: float) -> None:
        released.append((int(arm), int(n), float(total)))
        if not forced:
            policy.tell(s, arm, n, total)

    def noise(*args: Any) -> int:
        draws[0] += 1
        return int(channel.draws(*args))

    def perturb(parameters: Any, memory: Any, law: Any, arm: int, total: float, n: int, *rest: Any) -> float:
        sums.append((int(arm), int(n), float(total)))
        return float(channel.perturb(parameters, memory, law, arm, total, n, *rest))

    heard = {"ask": ask, "tell": tell, "noise": noise, "perturb": perturb}
    go = FunctionType(engine.__code__, {**engine.__globals__, **names, **heard})
    marks = checkpoints(horizon)
    counts = (np.zeros(size, np.int64) for size in (k, 1, 4096, 2))
    out = Out(np.zeros(marks.size), np.zeros(marks.size), *counts)
    parts = (
        policy.init(k, aim(policy, horizon)),
        law,
        channel.parameters(),
        channel.memory(k),
        instance.parameters(),
        AT_ONCE.parameters(),
    )
    assert go(*parts, horizon, True, marks, out, np.zeros(2, np.uint64), rng, rng, rng, rng) == DONE
    return Play(decisions, sums, draws[0], int(out.releases[0]), released)


def broken(old: str, new: str) -> Any:
    """The engine with one line changed."""
    source, scope = inspect.getsource(loop), dict(loop.__globals__)
    assert old in source
    exec(source.replace(old, new), scope)
    return scope["loop"]


def arms(decisions: Sequence[Decision], horizon: int) -> tuple[int, ...]:
    """The arm of every user."""
    served: list[int] = []
    for arm, n, _ in decisions:
        served += [arm] * (n if n > 0 else horizon)
    return tuple(served[:horizon])


def beginnings(runs: Sequence[tuple[int, ...]]) -> Counter[Hashable]:
    """How often each beginning of a sequence of arms occurred: the events of an audit."""
    found: Counter[Hashable] = Counter({None: len(runs)})
    for served in runs:
        found.update(served[:t] for t in range(1, len(served) + 1))
    return found
