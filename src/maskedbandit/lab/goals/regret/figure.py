"""Figures of regret, each a pure function of a results table: curves against users, against what varies, and leagues.

A panel for each instance that has a name (down) and each epsilon (across); other parameters that vary give curves of
their own. Curves of theory are thin and grey. Bands are standard errors over independent runs, or over instances.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from maskedbandit import theory
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.columns import label_curves, list_axes, with_observations
from maskedbandit.lab.goals.goal import UNLABELLED, Labels, Plotted, Shown
from maskedbandit.lab.goals.regret.rows import cells, summary, tabulate_curve
from maskedbandit.lab.goals.style import PLAIN, choose_looks, list_panels, name_ends, select_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"delay": "delay, in users", "instance.every": "users between changes"}
WIDE = 30  # from the least to the largest value: a logarithmic axis
FEW = 6  # curves of which the largest run is drawn too
LABEL, CELL, HEIGHT = 2.4, 1.75, 0.24  # inches
DARKEST = 100.0  # a ratio of this or more


def regret(table: pl.DataFrame, labels: Labels = UNLABELLED) -> Figure:
    """Mean pseudo-regret against users, with bands of two standard errors."""
    return curves(table.with_columns(pl.col("regret").alias("y")), "cumulative pseudo-regret", 2, labels)


def average(table: pl.DataFrame, labels: Labels = UNLABELLED) -> Figure:
    """Mean pseudo-regret for each user so far, with bands of one standard error [CZ23, Fig. 1-4]."""
    return curves(table.with_columns((pl.col("regret") / pl.col("t")).alias("y")), "time-average regret", 1, labels)


def values(table: pl.DataFrame, labels: Labels) -> Figure:
    """Means of columns, by their labels, at the end of a run against the horizon; bands of two standard errors."""
    names = labels.columns
    numbers = [name for name, kind in table.schema.items() if kind.is_numeric()]
    for name in names.values():
        if name not in numbers:
            raise InvalidValue("value", name, f"a column of numbers: {', '.join(numbers)}")
    final = table.filter(pl.col("t") == pl.col("horizon"))
    parts = [
        final.with_columns(pl.col(name).cast(float).alias("y"), pl.lit(label).alias("value"))
        for label, name in names.items()
    ]
    long = pl.concat(parts).drop_nulls("y")
    if len(names) > 1:  # a curve for each
        alone = long["label"].n_unique() == 1
        both = pl.col("value") if alone else pl.concat_str("label", "value", separator=", ")
        long = long.with_columns(both.alias("label"))
    return curves(long, next(iter(names)) if len(names) == 1 else "value", 2, labels, "horizon")


def plot(axes: Axes, table: pl.DataFrame) -> Plotted:
    """Mean pseudo-regret of results on one instance."""
    labels = table["label"].unique(maintain_order=True).to_list()
    look = choose_looks(labels, [])
    table = table.with_columns(y=pl.col("regret"), observed=pl.col("regret"))
    ends = panel(axes, table, labels, look, 2, "t")
    if lines := [np.asarray(curve.get_ydata()) for curve in axes.lines]:
        axes.set_ylim(bottom=0.7 * min(float(each.min()) for each in lines))
    axes.set_ylabel("cumulative pseudo-regret", **PLAIN)
    bands = ", bands ± 2 standard errors" * (table["run"].n_unique() > 1)
    return Plotted(f"Lines are means of runs{bands}.", 3.0, look, ends)


def curves(table: pl.DataFrame, ylabel: str, errors: float, said: Labels, against: str = "t") -> Figure:
    """Mean of y against users, in panels; a policy that ran to several horizons is shown at the end of each run."""
    varied = list_axes(table)
    across = next((name for name in varied if name.endswith(".epsilon")), None)
    down = "instance.means" if "instance.means" in varied else None
    names = label_curves(name for name in varied if name not in (across, down))
    table = with_observations(table.with_columns(names), "y")
    labels = table["label"].unique(maintain_order=True).to_list()
    drawn = table.filter(pl.col("trust") == "theory")["label"].unique(maintain_order=True).to_list()
    look = choose_looks(labels, drawn)

    def draw(plot: Any, shown: pl.DataFrame) -> dict[str, float]:
        return panel(plot, shown, labels, look, errors, against)

    return grid(table, down, across, draw, look, ylabel, said.title)


def grid(
    rows: pl.DataFrame,
    down: str | None,
    across: str | None,
    draw: Callable[[Any, pl.DataFrame], dict[str, float]],
    look: dict[str, Any],
    ylabel: str,
    title: str,
) -> Figure:
    """A figure with a panel for each pair of values, and a common scale in each line; `draw` returns ends of curves."""
    from matplotlib.figure import Figure

    heights, widths = list_panels(rows, down), list_panels(rows, across)
    figure = Figure(figsize=(1.5 + 5.5 * len(widths), 0.4 + 4 * len(heights)), layout="constrained")
    plots = figure.subplots(len(heights), len(widths), sharey="row", squeeze=False)
    for line, height in zip(plots, heights, strict=True):
        line[0].set_ylabel(ylabel, **PLAIN)
        ends: list[dict[str, float]] = []
        for plot, width in zip(line, widths, strict=True):
            ends.append(draw(plot, select_at(select_at(rows, down, height), across, width)))
            named = ([] if height is None else [f"{height}"]) + ([] if width is None else [f"ε = {width}"])
            plot.set_title(", ".join(named), **PLAIN)
        seen = [least for plot in line for curve in plot.lines if (least := min(curve.get_ydata())) > 0]
        if seen:  # otherwise no policy has regret: all arms are equal
            line[0].set_ylim(bottom=0.7 * min(seen))
        for plot, each in zip(line, ends, strict=True):  # once the common scale of all panels is known
            name_ends(plot, each, look)
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", **PLAIN)
    return figure


def panel(
    plot: Any, shown: pl.DataFrame, labels: list[str], look: dict[str, Any], errors: float, against: str
) -> dict[str, float]:
    """Draw one panel; returns the ends of its curves."""
    ends: dict[str, float] = {}
    horizons = shown["horizon"].to_numpy()
    right, several = float(horizons.max()), shown["horizon"].n_unique() > 1
    # before the first ten-thousandth, every policy is still exploring
    left = float(horizons.min()) if several else max(1, right / 1e4)
    for label in labels:
        mine = shown.filter(pl.col("label") == label)
        if mine["horizon"].n_unique() > 1:
            mine = mine.filter(pl.col("t") == pl.col("horizon"))
        points = (
            mine.group_by(against)
            .agg(
                pl.col("y").mean().alias("mean"),
                # theory is exact, but differs between instances
                pl.when(pl.col("trust").first() != "theory")
                .then(pl.col("observed").std() / pl.col("observed").count().sqrt())
                .otherwise(0)
                .fill_null(0)
                .alias("error"),
            )
            .filter((pl.col("mean") > 0) & (pl.col(against) >= left))
            .sort(against)
        )
        if points.height == 0:
            continue
        t, mean, error = (points[name].to_numpy() for name in (against, "mean", "error"))
        plot.plot(t, mean, marker="." if points.height < 3 else "", label=label, **look[label])
        low = np.maximum(mean - errors * error, mean / 10)  # a band must stay positive on a logarithmic axis
        if error.any():
            plot.fill_between(t, low, mean + errors * error, color=look[label]["color"], alpha=0.2, linewidth=0)
        ends[label] = float(mean[-1])
    plot.set(xscale="log", yscale="log", xlabel="users", xlim=(left, right if right > left else 10 * left))
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    return ends


def varied(table: pl.DataFrame, labels: Labels = UNLABELLED) -> Figure:
    """Mean and largest regret at the horizon against what varies: a delay, or a number of the instance.

    Dotted lines are the largest runs, if there are few curves.
    """
    names = list_axes(table)
    if "delay" in names:  # its column holds titles; those of constant delays are numbers
        table = table.with_columns(pl.col("delay").cast(float, strict=False))
    numbers = [name for name in names if table.schema[name].is_numeric() and not name.endswith(".epsilon")]
    if len(numbers) != 1 or table[numbers[0]].null_count():
        allowed = "given if one number varies besides epsilon: a constant delay, or a number of an instance"
        raise InvalidValue("figure", "varied", allowed)
    (against,), rows = numbers, summary(table)
    across = next((name for name in names if name.endswith(".epsilon")), None)
    down = next((name for name in names if name not in (across, against)), None)
    look = choose_looks(rows["label"].unique(maintain_order=True).to_list(), [])
    draw = partial(varied_panel, against=against, look=look)
    figure = grid(rows, down, across, draw, look, "cumulative pseudo-regret", labels.title)
    key = "Lines are means of runs" + (", dotted ones the largest run." if len(look) <= FEW else ".")
    figure.supxlabel(key, x=0.01, ha="left", fontsize="small", **PLAIN)
    return figure


def varied_panel(plot: Any, rows: pl.DataFrame, *, against: str, look: dict[str, Any]) -> dict[str, float]:
    """Draw one panel; returns the ends of its curves."""
    ends: dict[str, float] = {}
    values = rows[against].unique().sort().to_list()
    positive = [value for value in values if value > 0]
    if positive and positive[-1] >= WIDE * positive[0]:
        plot.set_xscale("symlog", linthresh=positive[0], linscale=0.5)  # with a place for 0
    for label in rows["label"].unique(maintain_order=True):
        mine, colour = rows.filter(pl.col("label") == label).sort(against), look[label]["color"]
        x, mean, error = (mine[name].fill_null(0).to_numpy() for name in (against, "mean", "error"))
        plot.plot(x, mean, marker=".", label=label, **look[label])
        low = np.maximum(mean - 2 * error, mean / 10)  # a band must stay positive on a logarithmic axis
        plot.fill_between(x, low, mean + 2 * error, color=colour, alpha=0.2, linewidth=0)
        if len(look) <= FEW:
            plot.plot(x, mine["worst"].to_numpy(), color=colour, linestyle=":", linewidth=1)
        ends[label] = float(mean[-1])
    plot.set(yscale="log", xlim=(values[0], values[-1]))
    plot.set_xlabel(TITLES.get(against, against.rpartition(".")[2]), **PLAIN)
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    return ends


def league(table: pl.DataFrame, labels: Labels = UNLABELLED) -> Figure:
    """A league: a line for each curve and a column for each epsilon, one block below the other by instance.

    A cell holds the mean regret at the horizon, its standard error and the worst run. The least mean of a column is
    bold, and the colour is the ratio to the lower bound, or to the least mean where none is drawn.
    """
    from matplotlib.figure import Figure

    rows = summary(table)
    varied = list_axes(table)
    across = next((name for name in varied if name.endswith(".epsilon")), None)
    down = [name for name in varied if name.startswith("instance.")] + ["horizon"]
    columns: list[Any] = sorted(rows[across].drop_nulls().unique()) if across else [None]
    names = label_curves(name for name in varied if name not in (across, *down))
    blocks = rows.with_columns(names).partition_by(down, maintain_order=True)
    lines = sum(block["label"].n_unique() + 2 for block in blocks) + 2
    figure = Figure(figsize=(LABEL + CELL * len(columns), HEIGHT * lines))
    plot = figure.add_axes((0, 0, 1, 1))
    plot.set(xlim=(0, LABEL + CELL * len(columns)), ylim=(lines, 0))
    plot.axis("off")
    write = partial(plot.text, va="center", parse_math=False)
    write(0.1, 0.6, labels.title, weight="bold", fontsize=9)
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
        curves_of = block["label"].unique(maintain_order=True).to_list()
        for j, label in enumerate(curves_of):
            write(0.1, y + 1 + j, label, fontsize=8)
        for i, column in enumerate(columns):
            here = block if across is None else block.filter(pl.col(across).is_null() | (pl.col(across) == column))
            fill(plot, list(here.iter_rows(named=True)), curves_of, LABEL + CELL * i, y + 1)
        y += len(curves_of) + 2
    return figure


def fill(plot: Any, rows: list[dict[str, Any]], labels: list[str], x: float, y: float) -> None:
    """One column of a block; the last row of a label is its cell."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

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


FIGURES = {"regret": regret, "average": average, "value": values, "league": league, "varied": varied}
SHOWN = Shown(tabulate_curve, summary, cells, FIGURES, plot)
