"""A league as a figure: a line for each curve and a column for each epsilon, one block below the other by instance.

A cell holds the mean regret at the horizon, its standard error and the worst run. The least mean of a column is bold,
and the colour is the ratio to the lower bound, or to the least mean where none is drawn.
"""

import math
from functools import partial
from typing import Any

import polars as pl
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from maskedbandit import theory
from maskedbandit.lab.goals.columns import axes
from maskedbandit.lab.goals.regret.rows import summary

LABEL, CELL, HEIGHT = 2.4, 1.75, 0.24  # inches
DARKEST = 100.0  # a ratio of this or more


def league(table: pl.DataFrame, title: str = "") -> Figure:
    """The league table of an experiment."""
    rows = summary(table)
    varied = axes(table)
    across = next((name for name in varied if name.endswith(".epsilon")), None)
    down = [name for name in varied if name.startswith("instance.")] + ["horizon"]
    columns: list[Any] = sorted(rows[across].drop_nulls().unique()) if across else [None]
    others = [pl.format(", {} {}", pl.lit(n.rpartition(".")[2]), n) for n in varied if n not in (across, *down)]
    names = pl.concat_str("label", *(pl.coalesce(other, pl.lit("")) for other in others))
    blocks = rows.with_columns(names.alias("label")).partition_by(down, maintain_order=True)
    lines = sum(block["label"].n_unique() + 2 for block in blocks) + 2
    figure = Figure(figsize=(LABEL + CELL * len(columns), HEIGHT * lines))
    plot = figure.add_axes((0, 0, 1, 1))
    plot.set(xlim=(0, LABEL + CELL * len(columns)), ylim=(lines, 0))
    plot.axis("off")
    write = partial(plot.text, va="center", parse_math=False)
    write(0.1, 0.6, title, weight="bold", fontsize=9)
    legend = "mean regret ± standard error (worst run); bold: least mean; colour: from 1 to 100 times the lower bound"
    write(0.1, 1.5, legend, fontsize=7.5, color="#555555")
    y = 2.5
    for block in blocks:
        where = [str(block[name][0]) for name in down if name != "horizon"]
        heading = ", ".join([*where, f"{block['horizon'][0]:,} users"])
        write(0.1, y, heading, weight="bold", fontsize=8.5)
        for i, column in enumerate(columns):
            if column is not None:
                x = LABEL + CELL * (i + 0.5)
                write(x, y, f"ε = {column}", ha="center", weight="bold", fontsize=8.5)
        labels = block["label"].unique(maintain_order=True).to_list()
        for j, label in enumerate(labels):
            write(0.1, y + 1 + j, label, fontsize=8)
        for i, column in enumerate(columns):
            here = block if across is None else block.filter(pl.col(across).is_null() | (pl.col(across) == column))
            fill(plot, list(here.iter_rows(named=True)), labels, LABEL + CELL * i, y + 1)
        y += len(labels) + 2
    return figure


def fill(plot: Any, rows: list[dict[str, Any]], labels: list[str], x: float, y: float) -> None:
    """One column of a block; the last row of a label is its cell."""
    write = partial(plot.text, va="center", ha="center", fontsize=8, parse_math=False)
    run = [row["mean"] for row in rows if row["trust"] != "theory"]
    bounds = [row["mean"] for row in rows if row["policy"] in theory.LOWER]
    least = min(run, default=1.0)
    base = bounds[0] if bounds else least
    for row in rows:
        at = y + labels.index(row["label"])
        if row["trust"] == "theory":
            write(x + CELL / 2, at, f"{row['mean']:,.0f}", style="italic")
            continue
        colour = colormaps["YlOrRd"](0.6 * shade(row["mean"], base))
        plot.add_patch(Rectangle((x, at - 0.5), CELL, 1, facecolor=colour, edgecolor="white", linewidth=1))
        text = f"{row['mean']:,.0f} ± {row['error'] or 0:,.0f} ({row['worst']:,.0f})"
        weight = "bold" if row["mean"] == least else "normal"
        write(x + CELL / 2, at, text, weight=weight)


def shade(mean: float, base: float) -> float:
    """0 at the bound, 1 at a hundred times the bound, logarithmic between them."""
    ratio = mean / base if base > 0 else 1.0
    return min(1.0, math.log(max(1.0, ratio)) / math.log(DARKEST))
