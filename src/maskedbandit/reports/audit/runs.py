"""Whole runs on a table of rewards, with everything that audits look at written down.

The engine's own loop plays them, as Python. A broken twin of it calls other functions: it is a function that gets those
that the loop calls, by name, and returns what is called in their place.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Decision, Floats, Integers, kernel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.arm_loop import run_arms
from maskedbandit.lab.engine.books import open_books
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.engine.compiler import bind_hooks
from maskedbandit.lab.engine.outcomes import DONE, Out, blank_out
from maskedbandit.lab.goals.drive import bind_kernels
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy

Hooks: TypeAlias = dict[str, Any]  # functions, by the names that the loop has for them
Twin: TypeAlias = Callable[[Hooks], Hooks]

RUN_DELTA = 0.1  # for policies that search, and whose horizon cuts them off


def choose_aim(policy: Policy, horizon: int) -> float:
    """The aim that a policy is told: a number of users, or a probability of error."""
    return RUN_DELTA if policy.purpose.aim == "delta" else horizon


class TableParameters(NamedTuple):
    """Rewards by user and arm, and who was served what."""

    means: np.ndarray
    rewards: np.ndarray
    arms: np.ndarray  # by user; -1: nobody came yet


@dataclass(frozen=True)
class Table(Instance):
    """The reward of every user for every arm: one row for each user, of bits. Regret counts the users of arm 1."""

    rows: tuple[tuple[float, ...], ...]
    bits = True
    moves = True  # users are told apart, so they are dealt one by one

    def true_means(self) -> Floats:
        return np.array([1.0] + [0.0] * (len(self.rows[0]) - 1))

    def parameters(self) -> TableParameters:
        return TableParameters(self.true_means(), np.array(self.rows, dtype=float), np.full(len(self.rows), -1))

    @staticmethod
    @kernel
    def one(i: TableParameters, arm: int, t: int, g: float, stream: Any) -> float:
        i.arms[t] = arm
        return max(g, 1.0) * i.rewards[t, arm]

    @staticmethod
    @kernel
    def many(i: TableParameters, arm: int, n: int, g: float, stream: Any) -> float:
        return np.nan


class AuditedRun(NamedTuple):
    """One run, and what the channel was given in it."""

    decisions: list[Decision]
    starts: list[int]  # users who came before each decision
    arms: tuple[int, ...]  # of every user
    sums: list[tuple[int, int, float]]  # arm, n and sum of rewards of each release, before its noise
    draws: int  # calls of the kernel that draws noise
    releases: int  # what the engine says
    released: list[tuple[int, int, float]]


def break_nothing(calls: Hooks) -> Hooks:
    """The engine as it is."""
    return {}


def run_loop(
    state: Any,
    channel: Channel,
    world: Any,
    delay: Delay,
    serve: bool,
    marks: Integers,
    out: Out,
    streams: Sequence[Any],
    hooks: Hooks,
    twin: Twin = break_nothing,
) -> int:
    """One run of the engine's loop with these hooks, as Python, up to the last of the marks; how it ended."""
    k, horizon, lags = out.pulls.size, int(marks[-1]), delay.parameters()
    parts = state, channel.law(), channel.parameters(), channel.memory(k), world, lags
    books = open_books(k, k + min(horizon, lags.longest))
    calls = run_arms.__globals__ | hooks
    with np.errstate(over="ignore"):  # the reward stream counts modulo 2^64
        return bind_hooks(run_arms, calls | twin(calls))(*parts, horizon, serve, marks, out, *streams, books)


def keep_sums(calls: Hooks) -> Hooks:
    """A sum is kept after its release, and enters the next one of its arm."""
    perturb, kept = calls["perturb"], defaultdict[int, float](float)

    def broken(parameters: Any, memory: Any, law: Any, arm: int, total: float, *rest: Any) -> float:
        kept[arm] += total
        return float(perturb(parameters, memory, law, arm, kept[arm], *rest))

    return {"perturb": broken}


def count_twice(calls: Hooks) -> Hooks:
    """A reward counts twice."""
    perturb = calls["perturb"]

    def broken(parameters: Any, memory: Any, law: Any, arm: int, total: float, *rest: Any) -> float:
        return float(perturb(parameters, memory, law, arm, 2 * total, *rest))

    return {"perturb": broken}


def play_audited_run(
    policy: Policy,
    channel: Channel,
    rows: Sequence[Sequence[float]],
    rng: np.random.Generator,
    forced: Sequence[Decision] = (),
    twin: Twin = break_nothing,
    delay: Delay = AT_ONCE,
) -> AuditedRun:
    """A run of as many users as there are rows; decisions are the policy's, unless they are forced."""
    k, horizon, instance = len(rows[0]), len(rows), Table(tuple(map(tuple, rows)))
    marks, table, script = list_checkpoints(horizon), instance.parameters(), iter(forced)
    decisions, starts, sums, released, draws, out = [], [], [], [], [0], blank_out(k, marks)

    def ask(*args: Any) -> Decision:
        starts.append(int(out.pulls.sum()))
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
        return float(total if forced else channel.perturb(parameters, memory, law, arm, total, n, *rest))

    heard = {"ask": ask, "tell": tell, "noise": noise, "perturb": perturb}
    hooks = {**bind_kernels(policy, channel, instance, delay), **heard}
    dealer = np.random.Generator(np.random.PCG64(rng.integers(2**32)))  # of its own, so that noise does not move users
    streams = np.zeros(2, np.uint64), rng, rng, rng, dealer
    state = policy.init(k, choose_aim(policy, horizon))
    assert run_loop(state, channel, table, delay, True, marks, out, streams, hooks, twin) == DONE
    return AuditedRun(decisions, starts, tuple(table.arms.tolist()), sums, draws[0], int(out.releases[0]), released)
