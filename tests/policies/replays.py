"""What a policy knew at each decision of a run, and the checks that policies of batches share."""

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import numpy as np

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.core import WAIT
from maskedbandit.lab.worlds.named_means import STUDIED
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy
from tests.golden import Trail, interpreted
from tests.statistics import same_distribution_of_two

# the instances on which the literature compares private policies [SS19]
C1, C2, C3, C4 = STUDIED.values()
BROAD = 0.05  # of the tables: their numbers are means of some hundred runs
LEVELS = (*np.arange(1, 40) / 40, 0.99, 0.997)  # of quantiles: the last ones part the rare bad runs

Index = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # of means, users and the time, for every arm


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
    k, t, released = len(found.pulls), 1, iter(found.released)
    last, whole = [(0, 0.0)] * k, [(0, 0.0)] * k
    for i, (arm, n, close) in enumerate(found.decisions):
        if i < k:
            assert (n, close, whole[arm]) == (1, 1, (0, 0.0))
        else:
            yield Moment(t, list(last), list(whole), arm, n, close)
        t += n
        if close and t - 1 <= sum(found.pulls):
            arm, users, total = next(released)
            last[arm] = (users, total)
            whole[arm] = (whole[arm][0] + users, whole[arm][1] + total)
    assert next(released, None) is None


def largest(divergence: Callable[[float], float], level: float) -> float:
    """max{q in [0, 1] : divergence(q) <= level} of one that grows, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        q = (low + high) / 2
        low, high = (q, high) if divergence(q) <= level else (low, q)
    return low


def check_choice(index: list[float], arm: int) -> None:
    """No other arm has a higher index."""
    assert index[arm] >= max(index) - 1e-9, f"arm {arm} was chosen, though {index}"


def check_prefix(policy: Policy, channel: Channel, horizon: int = 10_000) -> None:
    """The horizon only cuts: half of it, a power of ten, gives the first half of the run."""
    for seed in range(3):
        short, long = (interpreted(policy, channel, mb.Bernoulli(C2), t, seed) for t in (horizon, 2 * horizon))
        assert long.decisions[: len(short.decisions)] == short.decisions
        assert long.released[: len(short.released)] == short.released
        assert long.regret[: len(short.regret)] == short.regret


def check_overlaps(policy: Policy, law: Law) -> None:
    """Nothing waits for a release: before the first one arms take turns, and then what is in flight counts as told.

    The turns are in any order. A state with cohorts in flight decides as one that was told that they had the mean that
    was released.
    """
    s, rng = policy.init(3, 1000), np.random.Generator(np.random.PCG64(1))
    early = [policy.ask(s, law, rng) for _ in range(12)]
    assert all(sorted(arm for arm, _, _ in early[i : i + 3]) == [0, 1, 2] for i in range(0, 12, 3))
    assert all(early[i].n == early[i - i % 3].n for i in range(12))
    s, mean = policy.init(3, 1000), (0.4, 0.71, 0.68)
    for arm, n, _ in [policy.ask(s, law, rng) for _ in range(3)]:
        policy.tell(s, arm, n, mean[arm] * n)
    flight, filled, arms = [], [0] * 3, set()
    for seed in range(40):
        one, other = (np.random.Generator(np.random.PCG64(seed)) for _ in range(2))
        told = deepcopy(s)
        for arm, n in flight:
            policy.tell(told, arm, n, mean[arm] * n)
        decision = policy.ask(s, law, one)
        if decision == WAIT:
            break
        assert decision == policy.ask(told, law, other), "what is in flight was not counted"
        arm, n, close = decision
        arms.add(arm)
        filled[arm] += n
        if close:
            flight.append((arm, filled[arm]))
            filled[arm] = 0
    assert len(arms) > 1, "what is in flight makes no difference"


@cache  # what a table is held against, its negative control is held against, too
def regrets(policy: Policy, channel: Channel, means: tuple[float, ...], horizon: float, runs: int) -> np.ndarray:
    """Regret of some runs."""
    return mb.simulate(policy, channel, mb.Bernoulli(means), int(horizon), runs=runs, seed=1).regret[:, -1]


def check_number(regret: np.ndarray, number: float, broad: float = BROAD) -> None:
    """The mean is a table's number, to 5 % and five standard errors; wrong with probability 6e-7 if means are normal.

    `broad`: another fraction of the number, where rare bad runs move the table's mean. They skew ours too, but not so
    as to matter: many of them widen the error, and `broad` is more than what all of them add to the mean. A number for
    which that would allow anything from nearly 0 up is refused, as it says nothing.
    """
    error = regret.std(ddof=1) / math.sqrt(regret.size)
    off = abs(regret.mean() - number)
    assert broad * number + 5 * error < 0.8 * number, f"{error:.0f} is too wide an error to say anything of {number}"
    assert off <= broad * number + 5 * error, f"{regret.mean():.0f} ± {error:.0f}, not {number}"


def plain(index: Index, epsilon: float, means: tuple[float, ...], horizon: float, runs: int) -> np.ndarray:
    """Regret of a policy whose batches double the users of the arm of the highest index, as a program of its own.

    All runs side by side, with numpy's draws; noise is the difference of two geometric draws, a new one each batch.
    """
    rng, q, each = np.random.Generator(np.random.PCG64(2)), np.array(means), np.arange(runs)

    def released(users: np.ndarray, mean: np.ndarray) -> np.ndarray:
        plus, minus = rng.geometric(-math.expm1(-epsilon), (2, *users.shape))
        return rng.binomial(users, mean) + plus - minus

    n, used, regret = np.ones((runs, q.size), int), np.full(runs, q.size), np.full(runs, (q.max() - q).sum())
    total = released(n, q)
    while used.min() < horizon:
        score = index(np.clip(total / n, 0, 1), n, used[:, None] + 1)
        equals = score == score.max(axis=1, keepdims=True)
        arm = np.where(equals, rng.random(score.shape), -1).argmax(axis=1)
        users = n[each, arm]
        regret += (q.max() - q[arm]) * np.minimum(users, horizon - used)
        used = np.minimum(used + users, int(horizon))
        total[each, arm] += released(users, q[arm])
        n[each, arm] += users
    return regret


def check_distribution(regret: np.ndarray, other: np.ndarray) -> None:
    """Two samples of regret have one law, in cells between quantiles of both; false alarms: ALPHA = 1e-9."""
    both = np.round(np.concatenate([regret, other]), 6)
    cells = np.searchsorted(np.unique(np.quantile(both, LEVELS, method="lower")), both)
    same_distribution_of_two(cells[: regret.size], cells[regret.size :])
