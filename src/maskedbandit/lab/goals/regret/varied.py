"""Regret at the horizon against what varies: a delay, or a number of the instance such as an amplitude.

A panel for each value of what else varies in the instance (down) and each epsilon (across). Lines are means of runs,
with bands of two standard errors; dotted lines are the largest runs, if there are few curves.
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.columns import axes
from maskedbandit.lab.goals.regret.rows import summary
from maskedbandit.lab.goals.style import PLAIN, at, looks, name_ends, panels

TITLES = {"delay": "delay, in users", "instance.every": "users between changes"}
WIDE = 30  # from the least to the largest value: a logarithmic axis
FEW = 6  # curves of which the largest run is drawn too


def varied(table: pl.DataFrame, title: str = "") -> Figure:
    """Mean and largest regret at the horizon."""
    names = axes(table)
    if "delay" in names:  # its column holds titles; those of constant delays are numbers
        table = table.with_columns(pl.col("delay").cast(float, strict=False))
    numbers = [name for name in names if table.schema[name].is_numeric() and not name.endswith(".epsilon")]
    if len(numbers) != 1 or table[numbers[0]].null_count():
        allowed = "given if one number varies besides epsilon: a constant delay, or a number of an instance"
        raise InvalidValue("figure", "varied", allowed)
    (against,), rows = numbers, summary(table)
    across = next((name for name in names if name.endswith(".epsilon")), None)
    down = next((name for name in names if name not in (across, against)), None)
    look = looks(rows["label"].unique(maintain_order=True).to_list(), [])
    heights, widths = panels(rows, down), panels(rows, across)
    figure = Figure(figsize=(1.5 + 5.5 * len(widths), 0.4 + 4 * len(heights)), layout="constrained")
    plots = figure.subplots(len(heights), len(widths), sharey="row", squeeze=False)
    for line, height in zip(plots, heights, strict=True):
        line[0].set_ylabel("cumulative pseudo-regret", **PLAIN)
        ends: list[dict[str, float]] = []
        for plot, width in zip(line, widths, strict=True):
            ends.append(panel(plot, at(at(rows, down, height), across, width), against, look))
            named = ([] if height is None else [f"{height}"]) + ([] if width is None else [f"ε = {width}"])
            plot.set_title(", ".join(named), **PLAIN)
            plot.set_xlabel(TITLES.get(against, against.rpartition(".")[2]), **PLAIN)
        seen = [mean for mean in at(rows, down, height)["mean"] if mean > 0]
        line[0].set_ylim(bottom=0.7 * min(seen, default=1.0))
        for plot, each in zip(line, ends, strict=True):  # once the common scale of all panels is known
            name_ends(plot, each, look)
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", **PLAIN)
    key = "Lines are means of runs" + (", dotted ones the largest run." if len(look) <= FEW else ".")
    figure.supxlabel(key, x=0.01, ha="left", fontsize="small", **PLAIN)
    return figure


def panel(plot: Any, rows: pl.DataFrame, against: str, look: dict[str, Any]) -> dict[str, float]:
    """Draw one panel; returns the ends of its curves."""
    ends: dict[str, float] = {}
    values = rows[against].unique().sort().to_list()
    positive = [value for value in values if value > 0]
    if positive and positive[-1] >= WIDE * positive[0]:
        plot.set_xscale("symlog", linthresh=positive[0], linscale=0.5)  # with a place for 0
    for label in rows["label"].unique(maintain_order=True):
        mine, colour = rows.filter(pl.col("label") == label).sort(against), look[label]["color"]
        x, mean, error = (mine[name].fill_null(0).to_numpy() for name in (against, "mean", "error"))
        plot.plot(x, mean, marker=".", **look[label])
        low = np.maximum(mean - 2 * error, mean / 10)  # a band must stay positive on a logarithmic axis
        plot.fill_between(x, low, mean + 2 * error, color=colour, alpha=0.2, linewidth=0)
        if len(look) <= FEW:
            plot.plot(x, mine["worst"].to_numpy(), color=colour, linestyle=":", linewidth=1)
        ends[label] = float(mean[-1])
    plot.set(yscale="log", xlim=(values[0], values[-1]))
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    return ends
