"""A plan as text: a table with a row for each trust model, and what its numbers are."""

from collections.abc import Iterator, Sequence

from maskedbandit.lab.goals.planned import Planned, Row


def table_lines(planned: Planned, rows: Sequence[Row], runs: int, late: int) -> Iterator[str]:
    """The table, and what its numbers are; `late` is how many people come until an outcome is there."""
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
