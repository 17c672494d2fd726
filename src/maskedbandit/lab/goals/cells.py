"""Tables as text that fits a terminal, and as HTML for notebooks: lines of cells by their headings."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

Cells = dict[str, str]  # cells by column heading

CELL = 24  # longer text on the left goes over several lines
VARIED = ("policy.", "channel.", "instance.", "delay")  # prefixes of the columns of what may vary


def widths(lines: list[Cells]) -> dict[str, int]:
    """The widths of the columns."""
    return {
        name: max(map(len, [name, *(each for line in lines for each in line[name].split("\n"))])) for name in lines[0]
    }


def span(lines: list[Cells]) -> int:
    """The width of all columns together, with two spaces between them."""
    found = widths(lines).values()
    return sum(found) + 2 * max(len(found) - 1, 0)


def format_table(lines: list[Cells], left: int) -> str:
    """Lines below their headings; the first `left` columns are text."""
    wide = widths(lines)
    pad = [str.ljust if i < left else str.rjust for i in range(len(wide))]
    rows = [[[name] for name in wide], [["─" * width] for width in wide.values()]]
    rows += [[line[name].split("\n") for name in wide] for line in lines]
    physical = [cells for row in rows for cells in zip_longest(*row, fillvalue="")]
    return "\n".join(
        "  ".join(each(cell, width) for each, cell, width in zip(pad, cells, wide.values(), strict=True)).rstrip()
        for cells in physical
    )


def format_html(lines: list[Cells], caption: str) -> str:
    """Lines below their headings as HTML, for a notebook.

    >>> format_html([{"curve": "a < b", "mean": "7"}], "two")
    '<table><caption>two</caption><tr><th>curve</th><th>mean</th></tr><tr><td>a &lt; b</td><td>7</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in lines[0])
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in line.values()) for line in lines]
    return f"<table><caption>{escape(caption)}</caption>{''.join(f'<tr>{row}</tr>' for row in (head, *rows))}</table>"


def format_summary(rows: pl.DataFrame, cells: Callable[[dict[str, Any]], Cells], width: int = 80) -> str:
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
        tables.append(format_table([a | b for a, b in zip(left, chosen, strict=True)], len(left[0])))
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
