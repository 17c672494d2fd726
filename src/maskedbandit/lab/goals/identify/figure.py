"""Figures of sample complexity: mean samples against what varies, or the mean over the lower bound.

A panel for each instance that has a name. Bands lie between the 5 % and 95 % quantiles of runs. A triangle means that
some runs did not stop, and shows how many did: the mean is at least that high. A curve without the parameter that
varies (no privacy has no epsilon) is horizontal. A dotted line marks the epsilon below which privacy costs samples.

Where nothing varies there are boxes of stopping times: what runs needed until they stopped, one box for each curve.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import polars as pl

from maskedbandit.lab.goals.columns import label_curves, list_axes
from maskedbandit.lab.goals.goal import UNLABELLED, Labels, Plotted, Shown
from maskedbandit.lab.goals.identify.rows import cells, summary, tabulate_curve
from maskedbandit.lab.goals.style import (
    PLAIN,
    THEORY,
    choose_looks,
    lines_of_labels,
    list_panels,
    make_panels,
    name_ends,
    select_at,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def samples(table: pl.DataFrame, labels: Labels = UNLABELLED) -> Figure:
    """Mean samples, with the lower bounds that the table holds."""
    return stopping(table, "mean", "sample complexity", labels)


def cost(table: pl.DataFrame, labels: Labels = UNLABELLED) -> Figure:
    """Mean samples over the lower bound of each trust model."""
    return stopping(table, "ratio", "mean samples / lower bound", labels)


def stopping(table: pl.DataFrame, column: str, ylabel: str, said: Labels) -> Figure:
    """A column of the summary, in panels."""
    rows, varied = summary(table), list_axes(table)
    against = next((name for name in varied if name.endswith(".epsilon")), "delta")
    down = "instance.means" if "instance.means" in varied else None
    varied += ["delta"] if rows["delta"].n_unique() > 1 else []
    rows = rows.with_columns(label_curves(name for name in varied if name not in (against, down)))
    rows = rows.filter(pl.col(column).is_not_null())
    labels = rows["label"].unique(maintain_order=True).to_list()
    still = rows.filter(pl.col("runs") == 0)["label"].unique(maintain_order=True).to_list()
    look = choose_looks(labels, still)
    marks = rows.filter(pl.col("trust") == "published")["label"].unique(maintain_order=True).to_list()
    for label, mark in zip(marks, cycle("x+*1"), strict=False):
        look[label] |= {"marker": mark, "linestyle": "none", "clip_on": False}
    shown = list_panels(table, down)
    captions = *said.caption.strip().splitlines(), key(rows, table, column)
    figure, plots = make_panels(len(shown), said.title, captions)
    for plot, instance in zip(plots, shown, strict=True):
        ends = panel(plot, select_at(rows, down, instance), column, against, look)
        if against != "delta":
            regimes(plot, select_at(table, down, instance))
        plot.set_title("" if instance is None else f"{instance}", **PLAIN)
        plot.set_ylabel(ylabel, **PLAIN)
        plot.set_xlabel("ε" if against != "delta" else "δ", **PLAIN)
        name_ends(plot, ends, look)
    return figure


def key(rows: pl.DataFrame, table: pl.DataFrame, column: str) -> str:
    """The meaning of lines, bands and marks."""
    text = "Lines are means of runs" + (", bands hold 90 % of them." if column == "mean" else ".")
    if rows.select((pl.col("stopped") < pl.col("runs")).any()).item():
        text += " A triangle says how many runs stopped before they were cut off: their mean is at least that."
    if (rows["trust"] == "theory").any():
        text += " Thin grey lines are bounds, which are computed."
    if (rows["trust"] == "published").any():
        text += " Lone marks were read off a published figure."
    if "critical" in table.columns:
        text += " Dotted: ε from which on privacy costs nothing, by a lower bound."
    return text


def regimes(plot: Any, table: pl.DataFrame) -> None:
    """A line for each lower bound, where privacy begins to cost."""
    if "critical" in table.columns:
        left, right = plot.get_xlim()
        for epsilon in table["critical"].drop_nulls().unique(maintain_order=True):
            if left < epsilon < right:
                plot.axvline(epsilon, color=THEORY, linestyle=":", linewidth=1, zorder=1)


def panel(plot: Any, shown: pl.DataFrame, column: str, against: str, look: dict[str, Any]) -> dict[str, float]:
    """Draw one panel; returns the ends of its curves."""
    ends: dict[str, float] = {}
    values = shown[against].drop_nulls().to_list() or [0.1, 1.0]
    left, right = min(values), max(values)
    plot.set(xscale="log", yscale="log", xlim=(left, right) if right > left else (left / 3, 3 * left))
    marks = sorted({value for value in values if value > 0})
    if right < 100 * left and len(marks) <= 8:  # powers of ten would be too few
        plot.set_xticks(marks, [f"{value:g}" for value in marks])
        plot.set_xticks([], minor=True)
    if column == "ratio":
        plot.axhline(1, color=THEORY, linewidth=1, zorder=1)
    for label in shown["label"].unique(maintain_order=True):
        mine = shown.filter(pl.col("label") == label).sort(against)
        points = mine.drop_nulls(against)
        if points.height == 0:  # horizontal
            points = pl.concat([mine.with_columns(pl.lit(x).alias(against)) for x in plot.get_xlim()])
        x, y, colour = points[against].to_numpy(), points[column].to_numpy(), look[label]["color"]
        plot.plot(x, y, **{"marker": "." if mine["runs"][0] else "", "label": label} | look[label])
        if column == "mean" and mine["runs"][0] > 1:
            plot.fill_between(x, points["low"], points["high"], color=colour, alpha=0.15, linewidth=0)
        for row in points.filter(pl.col("stopped") < pl.col("runs")).iter_rows(named=True):
            point = row[against], row[column]
            plot.plot(*point, "^", markersize=8, markerfacecolor="white", color=colour, zorder=4, clip_on=False)
            beside: dict[str, Any] = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center"}
            plot.annotate(f"{row['stopped']}/{row['runs']}", point, **beside, color=colour, fontsize="x-small")
        ends[label] = float(y[-1])
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    return ends


def boxes(plot: Axes, table: pl.DataFrame) -> Plotted:
    """Quartiles, 5 % and 95 % quantiles, the mean and the lower bound of results on one instance."""
    rows = summary(table)
    labels = rows["label"].to_list()
    look = choose_looks(labels, [])
    plot.set_xscale("log")
    heights = lines_of_labels(plot, labels, look)
    note = "Boxes are quartiles, whiskers reach from 5 % to 95 % of runs, points are means."
    for row in rows.iter_rows(named=True):
        label, y, colour = row["label"], heights[row["label"]], look[row["label"]]["color"]
        mine = table.filter(pl.col("label") == label)
        lines: dict[str, Any] = {
            part: {"color": colour, "linewidth": 1} for part in ("boxprops", "whiskerprops", "capprops")
        }
        place: dict[str, Any] = {"positions": [y], "widths": 0.3, "orientation": "horizontal", "manage_ticks": False}
        middle = {"color": colour, "linewidth": 1.6}
        samples = mine["samples"].to_numpy()
        plot.boxplot(samples, whis=(5, 95), showfliers=False, medianprops=middle, **place, **lines)
        plot.plot(row["mean"], y, marker=">" if row["stopped"] < row["runs"] else "o", markersize=3.5, color=colour)
        bound = mine["bound"][0]
        if bound is not None:
            plot.plot([bound, bound], [y - 0.2, y + 0.2], color=THEORY, linestyle=":", linewidth=1.2)
    if table["bound"].drop_nulls().len():
        note += " Dotted: lower bounds on means."
    if (rows["stopped"] < rows["runs"]).any():
        note += " A triangle: some runs were cut off, and the mean is at least that."
    plot.set_xlabel("samples until it stops", **PLAIN)
    return Plotted(note, 0.7 + 0.4 * len(labels))


SHOWN = Shown(tabulate_curve, summary, cells, {"samples": samples, "cost": cost}, boxes)
