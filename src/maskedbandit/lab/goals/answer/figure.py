"""Figures of wrong answers: their share against users, a panel for each instance or value that varies.

Bands are confidence intervals. Where no run was wrong an open triangle that points down is at the upper end of the
interval, and the curve ends before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from maskedbandit.lab.goals.answer.rows import cells, summary, tabulate_curve
from maskedbandit.lab.goals.columns import label_curves, list_axes
from maskedbandit.lab.goals.goal import UNLABELLED, Labels, Plotted, Shown
from maskedbandit.lab.goals.interval import LEVEL
from maskedbandit.lab.goals.style import PLAIN, choose_looks, list_panels, make_panels, name_ends, select_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST = 1e-4  # the axis of shares goes no lower


def wrong(table: pl.DataFrame, labels: Labels = UNLABELLED) -> Figure:
    """Shares of wrong answers, in panels."""
    varied = [name for name in list_axes(table) if table[name].drop_nulls().n_unique() > 1]
    down = varied[0] if varied else None
    table = table.with_columns(label_curves(varied[1:]))
    shown = list_panels(table, down)
    captions = *labels.caption.strip().splitlines(), note(table)
    figure, plots = make_panels(len(shown), labels.title, captions)
    for axes_of, value in zip(plots, shown, strict=True):
        curves = plot(axes_of, select_at(table, down, value))
        name_ends(axes_of, curves.ends, curves.look)
        named = "" if down is None else f"{down.split('.')[-1]} {value}".removeprefix("means ")
        axes_of.set_title(named.replace("epsilon", "ε ="), **PLAIN)
    return figure


def note(table: pl.DataFrame) -> str:
    """The meaning of bands and marks."""
    text = f"Bands are {LEVEL:.0%} confidence intervals."
    if summary(table).filter(pl.col("runs") > 0)["wrong"].min() == 0:
        text += " A triangle: no run was wrong, and the interval ends there."
    return text


def plot(axes_of: Axes, table: pl.DataFrame) -> Plotted:
    """Shares against users, on one instance."""
    rows = summary(table)
    labels = rows["label"].unique(maintain_order=True).to_list()
    theory = rows.filter(pl.col("runs") == 0)["label"].unique(maintain_order=True).to_list()
    look, ends = choose_looks(labels, theory), dict[str, float]()
    positive = rows.filter(pl.col("share") > 0)["share"]
    floor = max(LEAST, min(positive.to_list(), default=LEAST) / 2)
    axes_of.set(xscale="log", yscale="log", ylim=(floor, 1.0))
    users = rows["horizon"].unique().sort().to_list()
    if len(users) > 1:
        axes_of.set_xlim(users[0], users[-1])
    if len(users) <= 8:
        axes_of.set_xticks(users, [f"{each:,}" for each in users])
        axes_of.set_xticks([], minor=True)
    for label in labels:
        mine = rows.filter(pl.col("label") == label).sort("horizon")
        some = mine.filter(pl.col("share") > 0)
        marker = "." if label not in theory else ""
        axes_of.plot(some["horizon"], some["share"], **{"marker": marker, "label": label} | look[label])
        if label not in theory:
            where = some["horizon"], some["low"], some["high"]
            axes_of.fill_between(*where, color=look[label]["color"], alpha=0.12, linewidth=0)
        for row in mine.filter(pl.col("wrong") == 0, pl.col("runs") > 0).head(1).iter_rows(named=True):
            mark = {"markerfacecolor": "white", "markersize": 7, "color": look[label]["color"], "clip_on": False}
            axes_of.plot(row["horizon"], row["high"], "v", zorder=4, **mark)
        last = some["share"].to_list()[-1:] if some.height == mine.height else []
        ends[label] = max([floor, *last])
    axes_of.set_ylabel("wrong answers", **PLAIN)
    axes_of.set_xlabel("people", **PLAIN)
    axes_of.grid(which="major", alpha=0.3)
    axes_of.spines[["top", "right"]].set_visible(False)
    return Plotted(note(table), 3.0, look, ends)


SHOWN = Shown(tabulate_curve, summary, cells, {"wrong": wrong}, plot)
