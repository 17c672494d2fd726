"""A summary as text that fits a terminal."""

import textwrap
from collections.abc import Callable
from typing import Any

import polars as pl

from maskedbandit.lab.goals.cells import Cells, span, table
from maskedbandit.lab.goals.columns import VARIED

CELL = 24  # longer text on the left goes over several lines


def text(rows: pl.DataFrame, cells: Callable[[dict[str, Any]], Cells], width: int = 80) -> str:
    """The summary as a table, and below it the trust model of each curve; `cells` are those of the goal.

    If a table is too wide, columns that are the same in all rows are stated once, and rows are split over several
    lines.
    """
    varied = [name for name in rows.columns if name.startswith(VARIED)]
    varied += [name for name in ("horizon", "delta", "max_pulls") if name in rows.columns and rows[name].n_unique() > 1]
    left, right, about = list[Cells](), list[Cells](), list[str]()
    for row in rows.iter_rows(named=True):
        where = {name: "" if row[name] is None else str(row[name]) for name in varied}
        left.append({name: textwrap.fill(each, CELL) for name, each in {"curve": row["label"], **where}.items()})
        right.append({"ε of a user": epsilon(row), **cells(row)})
        about.append(f"{row['label']}: {row['policy']}, {trust(row)}; {row['sees']}")
    said = []
    if span(left) + 2 + span(right) > width and len(right) > 1:
        same = [name for name, value in right[0].items() if value and all(line[name] == value for line in right)]
        said = [textwrap.fill("In all rows: " + ", ".join(f"{name} {right[0][name]}" for name in same) + ".", width)]
        right = [{name: each for name, each in line.items() if name not in same} for line in right]
        said = said if same else []
    tables, names = list[str](), list(right[0])
    while names or not tables:
        fitting = names[:1]
        for name in names[1:]:
            if span(left) + 2 + span([{each: line[each] for each in (*fitting, name)} for line in right]) > width:
                break
            fitting.append(name)
        chosen = [{name: line[name] for name in fitting} for line in right]
        tables.append(table([a | b for a, b in zip(left, chosen, strict=True)], len(left[0])))
        names = names[len(fitting) :]
    below = [textwrap.fill(each, width, subsequent_indent="  ") for each in dict.fromkeys(about)]
    return "\n\n".join([*tables, *said, "\n".join(below)])


def trust(row: dict[str, Any]) -> str:
    """The trust model of a row, in words."""
    return {"none": "no privacy", "theory": "theory"}.get(row["trust"], f"{row['trust']} trust")


def epsilon(row: dict[str, Any]) -> str:
    """The loss of a user, as text that fits a cell."""
    name = next(name for name in row if name.startswith("epsilon_at_"))
    if row["pure_epsilon"] < float("inf"):
        return f"{row['pure_epsilon']:g}"
    if row[name] < float("inf"):
        return f"{row[name]:.3g} (δ = {name.removeprefix('epsilon_at_')})"
    return "no limit"
