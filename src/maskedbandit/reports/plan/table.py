"""A plan as text: a table with a row for each trust model, and what its numbers are."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from maskedbandit.lab.goals.interval import LEVEL, interval
from maskedbandit.reports.plan.forecast import Forecast


class Row(NamedTuple):
    """What is expected under a trust model."""

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
    """A column, which is `width` characters wide, and begins at the left if that is below zero."""

    head: str
    width: int
    form: str
    value: Callable[[Row], Any]

    def cell(self, row: Row) -> str:
        """What is said of a row: nothing, if there is no such number."""
        return "" if (value := self.value(row)) is None else format(value, self.form)


FIRST = (
    Column("trust", -12, "", lambda row: row.trust),
    Column("difference", 10, ".3g", lambda row: row.difference),
    Column("ε", 7, ".3g", lambda row: row.epsilon),
    Column("people", 12, ",.0f", lambda row: row.expected.people),
)
MOST = Column("of nine in ten", 15, ",.0f", lambda row: row.expected.people_most)
DAYS = Column("days", 7, ",.1f", lambda row: row.days)
LOST = (
    Column("regret", 10, ",.1f", lambda row: row.expected.regret),
    Column("equal split", 12, ",.0f", lambda row: row.expected.equal),
)
LEAST = Column("at least", 10, ",.0f", lambda row: row.bound)
WRONG = Column("wrong", 7, ".1%", lambda row: row.expected.wrong)
SEARCH = (*FIRST, MOST, DAYS, *LOST, LEAST, WRONG)
COLUMNS = {
    "identify": SEARCH,
    "select": SEARCH,
    "regret": (*FIRST, MOST, DAYS, *LOST, WRONG),
}


def between(row: Row, runs: int) -> tuple[float, float]:
    """A confidence interval for the probability of a wrong answer."""
    return interval(round(row.expected.wrong * runs), runs)


def columns(goal: str, runs: int) -> tuple[Column, ...]:
    """What is said of each row: of studies with a fixed number of people, how often they are wrong."""
    if goal != "answer":
        return COLUMNS[goal]

    def ends(row: Row) -> str:
        low, high = between(row, runs)
        return f"{low:.2%}-{high:.2%}"

    return (
        *FIRST,
        DAYS,
        Column("wrong", 8, ".2%", lambda row: row.expected.wrong),
        Column(f"{LEVEL:.0%} interval", 14, "", ends),
        LEAST._replace(form=".2%"),
        Column("at most", 8, ".2%", lambda row: row.expected.at_most),
        *LOST,
    )


def lines(goal: str, rows: Sequence[Row], runs: int, late: int) -> Iterator[str]:
    """The table, and what its numbers are; `late` is how many people come until an outcome is there."""
    shown = columns(goal, runs)
    heads = [(each.head, each.width) for each in shown]
    cells = [[(each.cell(row), each.width) for each in shown] for row in rows]
    for line in (heads, *cells):
        yield " ".join(text.ljust(-width) if width < 0 else text.rjust(width) for text, width in line)
    if goal == "regret":
        yield "No lower bound is stated: those on regret are proved of ever more people, and not of so many."
    elif without := [row.trust for row in rows if row.bound is None]:
        yield f"Under {' and '.join(without)} trust nothing is known to be the least: proofs are of an ε without a δ."
    if goal == "answer":
        yield (
            f"{runs} simulated studies each; {late:,} people come while the outcomes of a phase are awaited: they have "
            "no place and do not count."
        )
        return
    what = "regret" if goal == "regret" else "people"
    found = [(getattr(row.expected, f"{what}_error"), getattr(row.expected, what)) for row in rows]
    error = max((error / mean for error, mean in found if mean > 0), default=0.0)
    yield (
        f"{runs} simulated studies each; standard errors of the {what} are at most {error:.1%}. "
        f"Outcomes are {late:,} people late."
    )
    if len({row.floor for row in rows}) == 1 and (floor := rows[0].floor) > 0:
        yield f"Of the regret {floor:,.0f} are theirs: no policy knows anything before the first outcome is there."
