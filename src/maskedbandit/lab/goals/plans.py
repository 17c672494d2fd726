"""How a goal is planned: the results of its simulated studies, the lower bound for every policy, and the columns of a
plan.

Under privacy, a lower bound is proved only for a pure ε: no bound of `theory` knows a δ, and with a δ a study may end
with fewer people.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.core import Integers
from maskedbandit.lab.goals.interval import binomial_interval
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import INF


class Played(NamedTuple):
    """The results of simulated studies."""

    people: npt.NDArray[Any]  # [runs]
    pulls: Integers  # [runs, k]
    wrong: float  # the share of studies that end with another arm than the best, or with a wrong selection
    at_most: float | None = None  # what is proved of that


class Forecast(NamedTuple):
    """Means over simulated studies with their standard errors, and the people that nine of ten studies need at most."""

    people: float
    people_error: float
    people_most: float
    regret: float
    regret_error: float
    equal: float  # the regret if as many people got all arms in equal shares
    wrong: float
    at_most: float | None = None  # what is proved of that, for policies of phases of fixed sizes, if nobody drops out


class Row(NamedTuple):
    """The expected results under a trust model."""

    trust: str
    difference: float
    epsilon: float
    expected: Forecast
    days: float
    days_most: float  # of nine in ten studies
    bound: float | None  # people that every search needs, or a share of wrong answers that every policy has, if proved
    floor: float  # regret that no policy avoids, as nothing is known before the first outcome is there
    loss: str  # of each person


class Column(NamedTuple):
    """A column of a plan, which is `width` characters wide, and begins at the left if that is below zero."""

    head: str
    width: int
    form: str
    value: Callable[[Row, int], Any]  # of a row, and of the number of simulated studies

    def cell(self, row: Row, runs: int) -> str:
        """The text of a cell; empty, if there is no such number."""
        return "" if (value := self.value(row, runs)) is None else format(value, self.form)


class Curve(NamedTuple):
    """A curve of a plan's figure: its name, the meanings of its band and its dotted line, and how they are computed."""

    name: str
    band: str
    dotted: str
    values: Callable[[Row, int], tuple[float, float, float, float]]  # the curve, both ends of its band, the dotted line
    share: bool = False  # of 1


FIRST = (
    Column("trust", -12, "", lambda row, runs: row.trust),
    Column("difference", 10, ".3g", lambda row, runs: row.difference),
    Column("ε", 7, ".3g", lambda row, runs: row.epsilon),
    Column("people", 12, ",.0f", lambda row, runs: row.expected.people),
)
MOST_PEOPLE = Column("of nine in ten", 15, ",.0f", lambda row, runs: row.expected.people_most)
DAYS = Column("days", 7, ",.1f", lambda row, runs: row.days)
LOST_REWARDS = (
    Column("regret", 10, ",.1f", lambda row, runs: row.expected.regret),
    Column("equal split", 12, ",.0f", lambda row, runs: row.expected.equal),
)
LEAST = Column("at least", 10, ",.0f", lambda row, runs: row.bound)
WRONG = Column("wrong", 7, ".1%", lambda row, runs: row.expected.wrong)
SEARCH = (*FIRST, MOST_PEOPLE, DAYS, *LOST_REWARDS, LEAST, WRONG)


def bound_wrong_share(row: Row, runs: int) -> tuple[float, float]:
    """A confidence interval for the probability of a wrong answer."""
    return binomial_interval(round(row.expected.wrong * runs), runs)


def people_alone(row: Row, runs: int) -> tuple[float, float, float, float]:
    """The people of a row, without anything else."""
    return (*(row.expected.people,) * 2, row.expected.people_most, np.nan)


def people_and_bound(row: Row, runs: int) -> tuple[float, float, float, float]:
    """The people, and how few every search needs."""
    return *people_alone(row, runs)[:3], np.nan if row.bound is None else row.bound


PEOPLE = Curve("people", "", "", people_alone)
SEARCHED = Curve(
    "people", "bands: up to what nine of ten studies need; ", "dotted: lower bounds of a pure ε", people_and_bound
)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """How a goal is planned. What its policies are told is in their purpose."""

    play: Callable[..., Played]  # studies of a policy over a channel on a world, for an aim, with options of runs
    columns: tuple[Column, ...] = SEARCH
    curve: Curve = SEARCHED  # named after a mean of `Forecast`, whose errors are stated, if outcomes are late
    bound: Callable[..., float] | None = None  # of a policy, a trust model, means, the aim and ε, if there is a proof
    unbounded: str = ""  # why there is none
    runs: int = 200  # simulated studies
    finds: bool = True  # whether a difference or an ε that is enough can be found
    delayed: bool = True  # whether outcomes are late in the simulation; if not, a study waits for them after each phase
    finish: str = "; in nine of ten studies by {late}"  # what is said of the day on which a study ends
    wrong: str = ""  # what wrong ends are called, if trust models are compared by them

    def prove_least(self, policy: Policy, trust: str, means: Sequence[float], aim: float, loss: Loss) -> float | None:
        """The lower bound for every policy at this loss of a person, if one is proved."""
        if self.bound is None or loss.delta > 0 or loss.pure_epsilon == INF:
            return None
        return self.bound(policy, trust, means, aim, float(loss.pure_epsilon))
