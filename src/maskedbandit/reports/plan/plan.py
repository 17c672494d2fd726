"""Planning a study: how many people, how long, at which ε, under which trust?

    people = how many a policy for live studies needs, simulated: the mean, and what nine of ten studies need at most
    days   = people / people a day + the window of the last outcomes

Of the people, the difference and ε two are given, and the third is found: with it the people suffice in nine of ten
studies, or, if the number of people is fixed, at most `delta` of the studies give a wrong answer. The lower bound for
every policy is that of `theory`, where one is proved; it does not know delays. All arms but the best have the baseline,
which is the hardest instance with that difference. A drift that all arms share costs nothing.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.response import Response
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.checks import is_number
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.goals.plans import Forecast, Planned, Row
from maskedbandit.lab.goals.search import MOST
from maskedbandit.policies import room
from maskedbandit.policies.parts.purposes import find_purpose
from maskedbandit.policies.parts.selection import Above, Top
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_whole
from maskedbandit.reports.plan.compiled_ahead import compiled_ahead
from maskedbandit.reports.plan.fixed_test import say_fixed_test
from maskedbandit.reports.plan.forecast import count_waits, find_planned, forecast_study
from maskedbandit.reports.plan.means import described_by, find_hardest_means, question_of
from maskedbandit.reports.plan.visits import CONCENTRATED, concentrate_noise, say_visits, share_budget
from maskedbandit.reports.plan.windows import Spread, find_spread, say_spread
from maskedbandit.study.reward import MILLISECONDS
from maskedbandit.words import say_duration

TRUST: dict[str, Callable[[float, float], Channel]] = {
    "central": lambda epsilon, delta: Central(epsilon=epsilon),
    "two servers": lambda epsilon, delta: TwoServers(epsilon=epsilon),
    "distributed": lambda epsilon, delta: Distributed(epsilon=epsilon),
    "shuffled": lambda epsilon, delta: Shuffled(epsilon=epsilon, delta=delta),
    "local": lambda epsilon, delta: Response(epsilon=epsilon),
}
BOUND = {"local": "local"}  # of all others with a pure ε it is that of central trust
STEPS = 12  # of a search for what is unknown
LEAST_EPSILON, MOST_EPSILON = 0.01, 16.0
AN = {"difference": "a difference", "epsilon": "an ε"}


@dataclass(frozen=True)
class Question:
    """The question of a plan. Without `people` it asks for them, if a study may be wrong with probability `delta`.

    `means` of all arms may be given in place of their number, the baseline and the difference; a `policy` in place of
    the goal, for which there is one for live studies. A selection has none: its policy says which arms are asked for.
    If these are the m best, they are all better than the baseline by the difference.
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
    goal: str = "identify"  # or "regret": all people take part, and few should get a worse arm; "answer" or "select"
    means: Sequence[float] | None = None
    policy: Policy | None = None
    visits: int = 1  # such studies in which each person takes part; ε is what one of them may cost

    def __post_init__(self) -> None:
        if self.policy is not None and (not isinstance(self.policy, Policy) or self.policy.goal != self.goal):
            raise InvalidValue("policy", self.policy, f"a policy whose goal is {self.goal!r}")
        finds = self.planned.finds
        if self.means is not None:
            described = described_by(self.means, self.played)
            for name, value in zip(("arms", "baseline", "difference"), described, strict=True):
                object.__setattr__(self, name, value)
        question = question_of(self.played)
        if self.means is None and isinstance(question, Above):
            raise InvalidValue("means", None, "given: the people needed depend on how far each mean is from theta")
        to_whole("arms", self.arms, question.m + 1 if isinstance(question, Top) else 1, 1000)
        if self.people is not None:
            to_whole("people", self.people, 2)
        missing = [name for name in ("difference", "epsilon") if getattr(self, name) is None]
        if len(missing) > 1 or (missing and (self.people is None or not finds)):
            allowed = "at most one of difference and epsilon left out, and then people given, and no goal of regret"
            raise InvalidValue("what is left out", ", ".join(missing), allowed)
        if not finds and self.people is None:
            raise InvalidValue("people", self.people, f"given if the goal is {self.goal}")
        for name, least, most in (
            ("baseline", 0.0, 1.0),
            ("difference", 0.0, 1.0 - self.baseline),
            ("epsilon", 0.0, math.inf),
            ("delta", 0.0, 0.5),
            ("per_day", 0.0, math.inf),
            ("window", 0.0, 3660.0),
        ):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and least <= value <= most):
                scaled = ", as outcomes are scaled to [0, 1]" if name in ("baseline", "difference") else ""
                raise InvalidValue(name, value, f"a number from {least:g} to {most:g}{scaled}")
        for name in ("difference", "epsilon", "delta", "per_day"):
            if getattr(self, name) == 0:
                raise InvalidValue(name, 0, "above 0")

    @property
    def planned(self) -> Planned:
        """How its goal is planned."""
        return find_planned(self.goal)

    @property
    def played(self) -> Policy:
        """The policy, by default one for live studies."""
        if self.policy is not None:
            return self.policy
        if not (live := find_purpose(self.goal).live):
            raise InvalidValue("policy", None, f"given if the goal is {self.goal}: it says which arms are asked for")
        found: Policy = room[live]()
        return found

    @property
    def searches(self) -> bool:
        """Whether a study ends by itself."""
        return find_purpose(self.goal).aim == "delta"

    @property
    def unknown(self) -> str | None:
        """The parameter that was left out, to be found by trying values."""
        names = ("difference", "epsilon") if self.searches else ("people", "difference", "epsilon")
        return next((name for name in names if getattr(self, name) is None), None)

    def enough(self, found: Forecast) -> bool:
        """Whether so many people are enough, or wrong answers are rare enough."""
        return found.people_most <= (self.people or 0) if self.searches else found.wrong <= self.delta

    @property
    def late(self) -> int:
        """The number of people who come until an outcome is known."""
        return round(self.window * self.per_day)

    def channel_of(self, trust: str, epsilon: float) -> Channel:
        """The channel of a trust model, if one study may cost so much."""
        if trust == CONCENTRATED:
            return concentrate_noise(epsilon, self.visits, self.privacy_delta)
        return TRUST[trust](epsilon, share_budget(self.privacy_delta, self.visits))

    def under(self, trust: str, runs: int, advance: Callable[[], object]) -> Row:
        """The expected results under a trust model, if nothing is left out."""
        assert self.difference is not None
        assert self.epsilon is not None
        planned, policy = self.planned, self.played
        means = list(self.means or find_hardest_means(policy, self.arms, self.baseline, self.difference))
        channel, aim = self.channel_of(trust, self.epsilon), getattr(self, policy.purpose.aim)
        found = forecast_study(policy, channel, means, aim, self.late, runs, advance)
        loss = channel.loss(max(round(found.people / self.arms), 1))
        bound = planned.prove_least(policy, BOUND.get(trust, "central"), means, aim, loss)
        windows = self.window * count_waits(policy, channel, self.arms, aim)
        days, days_most = (people / self.per_day + windows for people in (found.people, found.people_most))
        early = min(self.late, found.people) if planned.delayed else 0  # who takes part before the first outcome
        floor = early * (max(means) - sum(means) / self.arms)
        return Row(trust, self.difference, self.epsilon, found, days, days_most, bound, floor, str(loss))

    def spread(self, row: Row, runs: int, advance: Callable[[], object]) -> Spread | None:
        """Over how many windows the people of a row are to be spread, if most come within one."""
        policy = self.played
        means = list(self.means or find_hardest_means(policy, self.arms, self.baseline, row.difference))
        channel, aim = self.channel_of(row.trust, row.epsilon), getattr(self, policy.purpose.aim)
        return find_spread(policy, channel, means, aim, self.late, row.expected, runs, advance)


@dataclass(frozen=True)
class Plan:
    """A row for each trust model."""

    question: Question
    rows: tuple[Row, ...]
    runs: int
    spreads: tuple[Spread | None, ...] = ()  # of each row in which most people come within one window

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [*table_lines(self.question.planned, self.rows, self.runs, self.question.late)]
        window = say_duration(round(self.question.window * MILLISECONDS["day"]))
        for row, spread in zip(self.rows, self.spreads, strict=False):
            if spread is not None:
                lines.append(f"{row.trust}: {say_spread(spread, self.question.goal, window)}")
        lines += say_fixed_test(self.question, self.rows)
        lines += say_visits(self.rows, self.question.visits, self.question.privacy_delta)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for programs."""
        expected = [
            {key: each for key, each in row.expected._asdict().items() if each is not None} for row in self.rows
        ]
        rows = [{**row._asdict(), "expected": each} for row, each in zip(self.rows, expected, strict=True)]
        question = {**self.question.__dict__, "policy": repr(self.question.played)}
        spreads = [None if each is None else each._asdict() for each in self.spreads]
        return {"question": question, "runs": self.runs, "rows": rows, "spreads": spreads}


def plan(
    question: Question | None = None,
    *,
    trust: Sequence[str] | None = None,
    budget: float | None = None,
    studies: int = 1,
    runs: int | None = None,
    advance: Callable[[], object] = lambda: None,
    **changes: Any,
) -> Plan:
    """Plan a study, under each trust model or those named in `trust`; `changes` are those of the question.

    With the `budget` of a person in a period, and the number of studies that share it, ε is a part of this budget, and
    there is one more trust model: "concentrated" adds up Rényi curves. A plan simulates so many `runs` for each row, by
    default as many as its goal needs.

    >>> found = plan(baseline=0.2, difference=0.2, epsilon=1, per_day=500, trust=("central",), runs=20)
    >>> found.rows[0].bound < found.rows[0].expected.people < 2000
    True
    """
    if budget is not None:
        changes |= {"epsilon": share_budget(budget, studies), "visits": studies}
    if isinstance(policy := changes.get("policy"), Policy):
        changes.setdefault("goal", policy.goal)
    asked = replace(question or Question(), **changes)
    known = (*TRUST, CONCENTRATED)
    trust = (known if asked.visits > 1 and asked.unknown is None else tuple(TRUST)) if trust is None else trust
    for each in trust:
        if each not in known:
            raise UnknownName("trust", each, known)
    runs = asked.planned.runs if runs is None else runs
    with compiled_ahead(asked.goal, trust if asked.policy is None else ()):
        rows = tuple(_row(asked, each, runs, advance) for each in trust)
        return Plan(asked, rows, runs, tuple(asked.spread(row, runs, advance) for row in rows))


def _row(asked: Question, trust: str, runs: int, advance: Callable[[], object]) -> Row:
    """Find the parameter that was left out by bisection: the smallest value that is enough."""
    if (name := asked.unknown) is None:
        return asked.under(trust, runs, advance)
    least, most = {
        "people": (asked.arms, MOST),
        "difference": (1e-4, 1 - asked.baseline),
        "epsilon": (LEAST_EPSILON, MOST_EPSILON),
    }[name]

    def row_at(guess: float) -> Row:
        tried: dict[str, Any] = {name: round(guess) if name == "people" else guess}
        return replace(asked, **tried).under(trust, runs, advance)

    best = row_at(most)
    if not asked.enough(best.expected):
        tried_most = f"{most:.0e} people are" if name == "people" else f"{AN[name]} of {most:g} is"
        more = "difference" if name == "people" else "people"
        raise InvalidValue(more, getattr(asked, more), f"more: under {trust} trust not even {tried_most} enough")
    for _ in range(STEPS):
        guess = math.sqrt(least * most)
        row = row_at(guess)
        if asked.enough(row.expected):
            best, most = row, guess
        else:
            least = guess
    return best


def table_lines(planned: Planned, rows: Sequence[Row], runs: int, late: int) -> Iterator[str]:
    """The table and what its numbers mean; `late` is the number of people who come until an outcome is known."""
    heads = [(each.head, each.width) for each in planned.columns]
    cells = [[(each.cell(row, runs), each.width) for each in planned.columns] for row in rows]
    for line in (heads, *cells):
        yield " ".join(text.ljust(-width) if width < 0 else text.rjust(width) for text, width in line)
    if planned.unbounded:
        yield planned.unbounded
    elif without := [row.trust for row in rows if row.bound is None]:
        yield f"Under {' and '.join(without)} trust nothing is known to be the least: proofs are of an ε without a δ."
    if not planned.delayed:
        yield (
            f"{runs} simulated studies each; {late:,} people come while the outcomes of a phase are awaited: they have "
            "no place and do not count."
        )
        return
    what = planned.curve.name
    found = [(getattr(row.expected, f"{what}_error"), getattr(row.expected, what)) for row in rows]
    error = max((error / mean for error, mean in found if mean > 0), default=0.0)
    yield (
        f"{runs} simulated studies each; standard errors of the {what} are at most {error:.1%}. "
        f"Outcomes are {late:,} people late."
    )
    if len({row.floor for row in rows}) == 1 and (floor := rows[0].floor) > 0:
        yield f"Of the regret {floor:,.0f} are theirs: no policy knows anything before the first outcome is there."
