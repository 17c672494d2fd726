"""What a policy knew at each decision of a run, and the checks that policies of batches share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy
from tests.golden import Trail, interpreted

# the instances on which the literature compares private policies [SS19]
C1, C2 = (0.75, 0.7, 0.7, 0.7, 0.7), (0.75, 0.625, 0.5, 0.375, 0.25)
C3, C4 = (0.75, 0.53125, 0.375, 0.28125, 0.25), (0.75, 0.71875, 0.625, 0.46875, 0.25)
BROAD = 0.05  # of the tables: their numbers are means of some hundred runs


@dataclass(frozen=True)
class Moment:
    """A decision that was taken after every arm had a release."""

    t: int
    last: list[tuple[int, float]]  # users and total of each arm's last release
    whole: list[tuple[int, float]]  # of all its releases
    arm: int
    n: int
    close: int


def moments(found: Trail) -> Iterator[Moment]:
    """Replay a run, of which the first decisions are one user for each arm."""
    k, t, told = len(found.pulls), 1, iter(found.told)
    last, whole = [(0, 0.0)] * k, [(0, 0.0)] * k
    for i, (arm, n, close) in enumerate(found.decisions):
        if i < k:
            assert (arm, n, close) == (i, 1, 1)
        else:
            yield Moment(t, list(last), list(whole), arm, n, close)
        t += n
        if close and t - 1 <= sum(found.pulls):
            arm, users, total = next(told)
            last[arm] = (users, total)
            whole[arm] = (whole[arm][0] + users, whole[arm][1] + total)
    assert next(told, None) is None


def largest(law: Callable[[float], float], level: float) -> float:
    """max{q in [0, 1] : law(q) <= level} of a law that grows, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        q = (low + high) / 2
        low, high = (q, high) if law(q) <= level else (low, q)
    return low


def check_choice(index: list[float], arm: int) -> None:
    """No other arm has a higher index."""
    assert index[arm] >= max(index) - 1e-9, f"arm {arm} was chosen, though {index}"


def check_prefix(policy: Policy, channel: Channel, horizon: int = 10_000) -> None:
    """The horizon only cuts: half of it, a power of ten, gives the first half of the run."""
    for seed in range(3):
        short, long = (interpreted(policy, channel, mb.Bernoulli(C2), t, seed) for t in (horizon, 2 * horizon))
        assert long.decisions[: len(short.decisions)] == short.decisions
        assert long.told[: len(short.told)] == short.told
        assert long.regret[: len(short.regret)] == short.regret


def check_waits(policy: Policy, law: Law) -> None:
    """Nothing is asked while a release is awaited, and the first cohorts are open together."""
    s, rng = policy.init(3, 1000), np.random.Generator(np.random.PCG64(1))
    assert [policy.ask(s, law, rng) for _ in range(4)] == [(0, 1, 1), (1, 1, 1), (2, 1, 1), (-1, 0, 0)]
    for arm in (2, 0):
        policy.tell(s, arm, 1, 0.5 * arm)
        assert policy.ask(s, law, rng).arm == -1
    policy.tell(s, 1, 1, 0.0)
    for _ in range(20):
        arm, n, close = policy.ask(s, law, rng)
        while not close:
            arm, more, close = policy.ask(s, law, rng)
            n = more  # cohorts of several arms fill: the size is not looked at here
        assert policy.ask(s, law, rng).arm == -1
        policy.tell(s, arm, n, 0.5 * n)


def regrets(policy: Policy, channel: Channel, means: tuple[float, ...], horizon: float, runs: int) -> np.ndarray:
    """Regret of some runs."""
    return mb.simulate(policy, channel, mb.Bernoulli(means), int(horizon), runs=runs, seed=1).regret[:, -1]


def check_number(regret: np.ndarray, number: float, runs: float = math.inf) -> None:
    """The mean is a table's number, to 5 % and five standard errors; wrong with probability 6e-7.

    `runs`: of the table, where its own error is larger than that because single runs can be so bad.
    """
    error = regret.std(ddof=1) * math.sqrt(1 / regret.size + 1 / runs)
    off = abs(regret.mean() - number)
    assert off <= BROAD * number + 5 * error, f"{regret.mean():.0f} ± {error:.0f}, not {number}"
