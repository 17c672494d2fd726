"""Planning a study: how many people, how long, at which ε, under which trust?

    people = how many a policy for live studies needs, simulated: the mean, and what nine of ten studies need at most
    days   = people / people a day + the window of the last outcomes

Of the people, the difference and ε two are given, and the third is found: for it nine of ten studies suffice with the
people. What no policy can beat is `theory`'s lower bound, which knows nothing of delays. All arms but the best have the
baseline, which is the hardest instance with that difference. Ups and downs that all arms share cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.response import Response
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.checks import number
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.policies.identify.contemporaneous_elimination import ContemporaneousElimination
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.contemporaneous_klucb import ContemporaneousKLUCB
from maskedbandit.privacy.exact import whole
from maskedbandit.reports.compiled_ahead import compiled_ahead
from maskedbandit.reports.forecast import RUNS, Forecast, forecast
from maskedbandit.theory.bounds import lower_bound, positive
from maskedbandit.theory.samples import least_samples

TRUST: dict[str, Callable[[float, float], Channel]] = {
    "central": lambda epsilon, delta: Central(epsilon=epsilon),
    "two servers": lambda epsilon, delta: TwoServers(epsilon=epsilon),
    "distributed": lambda epsilon, delta: Distributed(epsilon=epsilon),
    "shuffled": lambda epsilon, delta: Shuffled(epsilon=epsilon, delta=delta),
    "local": lambda epsilon, delta: Response(epsilon=epsilon),
}
BOUND = {"local": "local"}  # of all others it is that of central trust
STEPS = 12  # of a search for what is unknown
LEAST_EPSILON, MOST_EPSILON = 0.01, 16.0


class Row(NamedTuple):
    """What is expected under a trust model."""

    trust: str
    difference: float
    epsilon: float
    expected: Forecast
    days: float
    days_most: float  # of nine in ten studies
    bound: float  # people that every search needs, or regret that every policy has, on average
    floor: float  # regret that no policy avoids, as nothing is known before the first outcome is there
    loss: str  # of each person


@dataclass(frozen=True)
class Question:
    """What is planned. Without `people` it is asked how many a search needs that is wrong with probability `delta`.

    `means` of all arms may be given in place of their number, the baseline and the difference; a `policy` in place of
    the goal, for which there is one for live studies.
    """

    arms: int = 2
    baseline: float = 0.3
    difference: float | None = 0.05
    epsilon: float | None = 1.0
    people: int | None = None
    delta: float = 0.05
    per_day: float = 1000.0
    window: float = 1.0  # days
    privacy_delta: float = 1e-6  # of trust models without a pure ε
    goal: str = "identify"  # or "regret": all people take part, and few should get a worse arm
    means: Sequence[float] | None = None
    policy: Policy | None = None

    def __post_init__(self) -> None:
        if self.means is not None:
            described = described_by(self.means)
            for name, value in zip(("arms", "baseline", "difference"), described, strict=True):
                object.__setattr__(self, name, value)
        if self.policy is not None and (not isinstance(self.policy, Policy) or self.policy.goal != self.goal):
            raise InvalidValue("policy", self.policy, f"a policy whose goal is {self.goal!r}")
        whole("arms", self.arms, 2, 1000)
        if self.goal not in ("identify", "regret"):
            raise UnknownName("goal", self.goal, ["identify", "regret"])
        if self.people is not None:
            whole("people", self.people, 2)
        missing = [name for name in ("difference", "epsilon") if getattr(self, name) is None]
        if len(missing) > 1 or (missing and (self.people is None or self.goal == "regret")):
            allowed = "at most one of difference and epsilon left out, and then people given, and no goal of regret"
            raise InvalidValue("what is left out", ", ".join(missing), allowed)
        if self.goal == "regret" and self.people is None:
            raise InvalidValue("people", self.people, "given if the goal is regret")
        for name, least, most in (
            ("baseline", 0.0, 1.0),
            ("difference", 0.0, 1.0 - self.baseline),
            ("epsilon", 0.0, math.inf),
            ("delta", 0.0, 0.5),
            ("per_day", 0.0, math.inf),
            ("window", 0.0, 3660.0),
        ):
            value = getattr(self, name)
            if value is not None and not (number(value) and least <= value <= most):
                raise InvalidValue(name, value, f"a number from {least:g} to {most:g}")
        for name in ("difference", "epsilon", "delta", "per_day"):
            if getattr(self, name) == 0:
                raise InvalidValue(name, 0, "above 0")

    @property
    def played(self) -> Policy:
        """The policy, by default one for live studies."""
        if self.policy is not None:
            return self.policy
        return ContemporaneousKLUCB() if self.goal == "regret" else ContemporaneousElimination()

    @property
    def late(self) -> int:
        """How many people come until an outcome is there."""
        return round(self.window * self.per_day)

    def under(self, trust: str, runs: int, advance: Callable[[], object]) -> Row:
        """What is expected under a trust model, if nothing is left out."""
        assert self.difference is not None
        assert self.epsilon is not None
        means = list(self.means or [self.baseline + self.difference] + [self.baseline] * (self.arms - 1))
        channel = TRUST[trust](self.epsilon, self.privacy_delta)
        aim = self.people if self.goal == "regret" and self.people is not None else self.delta
        found = forecast(self.played, channel, means, aim, self.late, runs, advance)
        name = BOUND.get(trust, "central")
        if self.goal == "regret":
            bound = float(lower_bound(name, means, [found.people], self.epsilon)[0])
        else:
            bound = least_samples(name, means, self.delta, self.epsilon)
        days, days_most = (people / self.per_day + self.window for people in (found.people, found.people_most))
        loss = str(channel.loss(max(round(found.people / self.arms), 1)))
        floor = min(self.late, found.people) * (max(means) - sum(means) / self.arms)
        return Row(trust, self.difference, self.epsilon, found, days, days_most, bound, floor, loss)


@dataclass(frozen=True)
class Plan:
    """A row for each trust model."""

    question: Question
    rows: tuple[Row, ...]
    runs: int

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything, for programs."""
        rows = [{**row._asdict(), "expected": row.expected._asdict()} for row in self.rows]
        question = {**self.question.__dict__, "policy": repr(self.question.played)}
        return {"question": question, "runs": self.runs, "rows": rows}


def described_by(means: Sequence[float]) -> tuple[int, float, float]:
    """How many arms have these means, the second best of them, and what the best one is better.

    >>> described_by([0.25, 0.5, 0.125])
    (3, 0.25, 0.25)
    """
    if isinstance(means, str) or len(means) < 2 or not all(number(mean) and 0 <= mean <= 1 for mean in means):
        raise InvalidValue("means", means, "two numbers or more from 0 to 1")
    second, best = sorted(means)[-2:]
    if second == best:
        raise InvalidValue("means", list(means), "such that one is the highest")
    return len(means), float(second), float(best - second)


def shared(budget: float, studies: int) -> float:
    """The ε of each of so many studies that share the budget of a person.

    >>> shared(2.0, 4)
    0.5
    """
    return float(positive("budget", budget) / whole("studies", studies, 1))


def plan(
    question: Question | None = None,
    *,
    trust: Sequence[str] = tuple(TRUST),
    budget: float | None = None,
    studies: int = 1,
    runs: int = RUNS,
    advance: Callable[[], object] = lambda: None,
    **changes: Any,
) -> Plan:
    """Plan a study, under each trust model; `changes` are those of the question.

    With the `budget` of a person in a period, and the number of studies that share it, ε is a part of that.

    >>> found = plan(baseline=0.2, difference=0.2, epsilon=1, per_day=500, trust=("central",), runs=20)
    >>> found.rows[0].bound < found.rows[0].expected.people < 2000
    True
    """
    if budget is not None:
        changes["epsilon"] = shared(budget, studies)
    if isinstance(policy := changes.get("policy"), Policy):
        changes.setdefault("goal", policy.goal)
    asked = replace(question or Question(), **changes)
    for each in trust:
        if each not in TRUST:
            raise UnknownName("trust", each, TRUST)
    with compiled_ahead(asked.goal, trust if asked.policy is None else ()):
        return Plan(asked, tuple(_row(asked, each, runs, advance) for each in trust), runs)


def _row(asked: Question, trust: str, runs: int, advance: Callable[[], object]) -> Row:
    """What is left out is found by bisection: the smallest for which nine of ten studies need no more people."""
    if asked.difference is not None and asked.epsilon is not None:
        return asked.under(trust, runs, advance)
    name = "difference" if asked.difference is None else "epsilon"
    least, most = (1e-4, 1 - asked.baseline) if name == "difference" else (LEAST_EPSILON, MOST_EPSILON)
    best: Row | None = None
    for guess in _halving(least, most):
        row = _with(asked, name, guess.at).under(trust, runs, advance)
        guess.enough = row.expected.people_most <= (asked.people or 0)
        best = row if guess.enough else best
    if best is None:
        raise InvalidValue("people", asked.people, f"more: under {trust} trust not even a {name} of {most:g} is enough")
    return best


def _with(asked: Question, name: str, value: float) -> Question:
    return replace(asked, difference=value) if name == "difference" else replace(asked, epsilon=value)


class _Guess:
    """A value that is tried, and whether it was enough."""

    def __init__(self, at: float) -> None:
        self.at, self.enough = at, True


def _halving(least: float, most: float) -> Iterator[_Guess]:
    """The largest value, and then those that halve the range in which the smallest that is enough lies."""
    guess = _Guess(most)
    yield guess
    if not guess.enough:
        return
    for _ in range(STEPS):
        guess = _Guess(math.sqrt(least * most))
        yield guess
        least, most = (least, guess.at) if guess.enough else (guess.at, most)


def _lines(plan: Plan) -> Iterator[str]:
    asked = plan.question
    search = asked.goal == "identify"
    bound = "at least" if search else "bound"
    yield (
        f"{'trust':12} {'difference':>10} {'ε':>7} {'people':>12} {'of nine in ten':>15} {'days':>7} {'regret':>10} "
        f"{'equal split':>12} {bound:>10} {'wrong':>7}"
    )
    for row in plan.rows:
        found = row.expected
        yield (
            f"{row.trust:12} {row.difference:>10.3g} {row.epsilon:>7.3g} {found.people:>12,.0f} "
            f"{found.people_most:>15,.0f} {row.days:>7,.1f} {found.regret:>10,.1f} {found.equal:>12,.0f} "
            f"{row.bound:>10,.0f} {found.wrong:>7.1%}"
        )
    error = max((row.expected.people_error / row.expected.people for row in plan.rows), default=0.0)
    yield (
        f"{plan.runs} simulated studies each; standard errors of the people are at most {error:.1%}. "
        f"Outcomes are {asked.late:,} people late."
    )
    if len({row.floor for row in plan.rows}) == 1 and (floor := plan.rows[0].floor) > 0:
        yield f"Of the regret {floor:,.0f} are theirs: no policy knows anything before the first outcome is there."
