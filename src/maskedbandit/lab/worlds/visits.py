"""People who come several times and keep their arm: of each person's rewards at most `cap` count.

A person comes once, and then again, a Poisson number of times with mean `visits` − 1. Each visit pays 0 or 1. What
enters a cohort is the person's capped sum, in units of the cap:

    S = reward of the first visit + Poisson((visits − 1) mean),        what is told = min(S, cap) / cap

Regret counts all rewards, E S = visits * mean, though the policy is told only capped sums. If the cap hides more
rewards of one arm than of another, the arm that looks best may not be the best one.

There may be several kinds of people, each with a share of all, a number of visits and means of its own: then those who
come often can have other tastes than those who come once.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maskedbandit.checks import is_number
from maskedbandit.core import Floats, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, draw_binomial, draw_uniform
from maskedbandit.lab.worlds.instance import Instance, check_means
from maskedbandit.privacy.statistics import Statistics, capped_sum

MOST_VISITS = 10**6


class VisitsParameters(NamedTuple):
    """Means of all rewards, those of what is told, and the chances of capped sums of 0, ..., cap."""

    means: Floats
    told: Floats
    chances: Floats  # [k, cap + 1]
    up_to: Floats  # [k, cap + 1] of a sum that is no larger


@dataclass(frozen=True)
class Visits(Instance):
    """People with several rewards of 0 or 1, of which at most `cap` count.

    `means` are those of a visit, and `visits` is how often a person comes on average, at least once. If there are
    several kinds of people, each has a list of means, a number of visits, and its share of all people in `shares`.

    >>> world = Visits([0.5, 0.25], visits=4, cap=2)
    >>> world.true_means(), world.told_means().round(3), world.statistics.cap
    (array([2., 1.]), array([0.749, 0.454]), 2)
    """

    means: Sequence[Any]
    visits: Any
    cap: int
    shares: Sequence[float] = (1.0,)
    bits = False
    example: ClassVar = {
        "means": [[0.5, 0.25, 0.0], [0.1, 0.4, 1.0]],
        "visits": [1, 6.5],
        "shares": [0.75, 0.25],
        "cap": 4,
    }

    def __post_init__(self) -> None:
        shares, visits, means = (list_numbers(name, getattr(self, name)) for name in ("shares", "visits", "means"))
        nested = len(means) > 0 and not is_number(means[0])
        rows = [check_means("means", row) for row in (means if nested else [means])]
        if not all(is_number(each) and each > 0 for each in shares) or abs(sum(shares) - 1) > 1e-9:
            raise InvalidValue("shares", self.shares, "numbers above 0 that add up to 1, one for each kind of people")
        if len(visits) != len(shares) or not all(is_number(each) and 1 <= each <= MOST_VISITS for each in visits):
            allowed = f"numbers from 1 to {MOST_VISITS}, one for each kind of people: {len(shares)}"
            raise InvalidValue("visits", self.visits, allowed)
        if len(rows) != len(shares) or len({row.size for row in rows}) > 1:
            allowed = f"for each kind of people a list of a number for each arm: {len(shares)}"
            raise InvalidValue("means", self.means, allowed)
        object.__setattr__(self, "means", tuple(tuple(row.tolist()) for row in rows))
        object.__setattr__(self, "visits", tuple(float(each) for each in visits))
        object.__setattr__(self, "shares", tuple(float(each) for each in shares))
        object.__setattr__(self, "cap", self.statistics.cap)

    @property
    def statistics(self) -> Statistics:
        return capped_sum(self.cap)

    def true_means(self) -> Floats:
        answer: Floats = (np.array(self.shares) * np.array(self.visits)) @ np.array(self.means)
        return answer

    def told_means(self) -> Floats:
        return self.parameters().told

    def parameters(self) -> VisitsParameters:
        chances = np.zeros((len(self.means[0]), self.cap + 1))
        for share, visits, means in zip(self.shares, self.visits, self.means, strict=True):
            chances += [share * capped_sums(visits, mean, self.cap) for mean in means]
        told = chances @ np.arange(self.cap + 1) / self.cap
        return VisitsParameters(self.true_means(), np.minimum(told, 1.0), chances, chances.cumsum(axis=1))

    @staticmethod
    @kernel
    def one(i: VisitsParameters, arm: int, t: int, g: int, stream: Rewards) -> float:
        cap, u, x = i.chances.shape[1] - 1, draw_uniform(stream, t), 0
        while x < cap and u >= i.up_to[arm, x]:
            x += 1
        if g == 0:
            return x / cap
        left = x * g % cap
        return float(x * g // cap + (left > 0 and stream.generator.random() * cap < left))

    @staticmethod
    @kernel
    def many(i: VisitsParameters, arm: int, n: int, g: int, stream: Rewards) -> float:
        if g == 1:
            return float(draw_binomial(n, i.told[arm], stream.generator))
        cap, total = i.chances.shape[1] - 1, 0.0
        for x in range(cap, 0, -1):  # of those who have no larger sum, how many have this one
            if n > 0 and i.chances[arm, x] > 0:
                users = draw_binomial(n, min(1.0, i.chances[arm, x] / i.up_to[arm, x]), stream.generator)
                n -= users
                if g == 0:
                    total += users * (x / cap)
                else:
                    total += users * (x * g // cap)
                    if x * g % cap > 0:
                        total += draw_binomial(users, (x * g % cap) / cap, stream.generator)
        return total


def list_numbers(name: str, values: Any) -> Sequence[Any]:
    """A number as a list of one."""
    if is_number(values):
        return (values,)
    if not isinstance(values, Iterable):
        raise InvalidValue(name, values, "a number or a list")
    return tuple(values)


def capped_sums(visits: float, mean: float, cap: int) -> Floats:
    """The chances of capped sums of 0, ..., cap for one kind of people."""
    found, rate = np.zeros(cap + 1), (visits - 1) * mean
    for x in range(cap):
        chance = poisson_chance(rate, x)  # of x rewards after the first visit
        found[x] += (1 - mean) * chance
        found[x + 1] += mean * chance
    found[cap] = max(0.0, 1 - found[:cap].sum())
    return found


def poisson_chance(rate: float, x: int) -> float:
    """The chance of x, by its logarithm: e^-rate alone may be below the smallest number where the chance is not."""
    return math.exp(x * math.log(rate) - rate - math.lgamma(x + 1)) if rate > 0 else float(x == 0)
