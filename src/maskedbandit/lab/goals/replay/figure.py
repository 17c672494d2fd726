"""Figures of replays: click rates over that of random choice, by delay or against privacy, with intervals of 95 %."""

from __future__ import annotations

from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any

import polars as pl

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.columns import list_axes
from maskedbandit.lab.goals.goal import UNLABELLED, Labels, Plotted, Shown
from maskedbandit.lab.goals.replay.rows import cells, summary
from maskedbandit.lab.goals.setting import PublishedPoint, TheoryCurve
from maskedbandit.lab.goals.style import PLAIN, THEORY, choose_looks, lines_of_labels, name_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = "os^Dv<>pP*"


def rates(table: pl.DataFrame, labels: Labels = UNLABELLED, kind: str = "delays") -> Figure:
    """Points for each delay [MT15, Fig. 2], or lines against the loss of a user."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.5), layout="constrained")
    plot = figure.subplots()
    {"delays": delays, "privacy": privacy}[kind](plot, summary(table), list_axes(table))
    plot.axhline(1, color=THEORY, linewidth=1, zorder=1)
    plot.set_ylabel("click rate / that of random choice", **PLAIN)
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    figure.suptitle(labels.title, x=0.01, ha="left", fontsize="medium", **PLAIN)
    bars = "Bars" if kind == "delays" else "Bands"
    text = fill(f"{labels.caption} {bars} are intervals of 95 %.".strip(), 150)
    figure.supxlabel(text, x=0.01, ha="left", fontsize="small", **PLAIN)
    return figure


def points(plot: Axes, table: pl.DataFrame) -> Plotted:
    """A point for each curve, of results on one log."""
    rows = summary(table)
    labels = rows["label"].to_list()
    look = choose_looks(labels, [])
    plot.axvline(1, color=THEORY, linewidth=1, zorder=1)
    heights = lines_of_labels(plot, labels, look)
    for row in rows.iter_rows(named=True):
        place = row["relative"], heights[row["label"]]
        plot.errorbar(*place, xerr=row["interval"], color=look[row["label"]]["color"], marker="o", capsize=3)
    plot.set_xlabel("click rate / that of random choice", **PLAIN)
    return Plotted("Bars are intervals of 95 %.", 0.7 + 0.34 * len(labels))


def named(rows: pl.DataFrame, varied: list[str]) -> pl.DataFrame:
    """The rows, with what varied under a label as a part of their labels."""
    parts = [
        pl.when(pl.col(name).n_unique().over("label") > 1)
        .then(pl.format(", {} {}", pl.lit(name.rpartition(".")[2]), name))
        .otherwise(pl.lit(""))
        for name in varied
    ]
    return rows.with_columns(pl.concat_str("label", *(pl.coalesce(each, pl.lit("")) for each in parts)))


def delays(plot: Any, rows: pl.DataFrame, varied: list[str]) -> None:
    """A group of points for each delay."""
    rows = named(rows, [name for name in varied if name != "delay"])
    if "delay" not in rows.columns:
        rows = rows.with_columns(pl.lit("0").alias("delay"))
    groups, labels = (rows[name].unique(maintain_order=True).to_list() for name in ("delay", "label"))
    look = choose_looks(labels, [])
    for position, label in enumerate(labels):
        mine = rows.filter(pl.col("label") == label)
        shift = 0.8 * ((position + 0.5) / len(labels) - 0.5)
        x = [groups.index(each) + shift for each in mine["delay"]]
        style = {"color": look[label]["color"], "marker": MARKS[position % len(MARKS)], "linestyle": "none"}
        plot.errorbar(x, mine["relative"], mine["interval"], label=label, capsize=3, **style)
    plot.set_xticks(range(len(groups)), groups)
    plot.set_xlabel("delay: users who come before a click is known", **PLAIN)
    plot.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def privacy(plot: Any, rows: pl.DataFrame, varied: list[str]) -> None:
    """A line for each curve, against the loss of a user: the pure epsilon, or that at the delta of the table."""
    rows = named(rows, [name for name in varied if not name.endswith(".epsilon")])
    loss = next(name for name in rows.columns if name.startswith("epsilon_at_"))
    rows = rows.with_columns(
        pl.when(pl.col("pure_epsilon").is_finite()).then("pure_epsilon").otherwise(loss).alias("x")
    )
    look = choose_looks(rows["label"].unique(maintain_order=True).to_list(), [])
    seen, ends = rows.filter(pl.col("x").is_finite() & (pl.col("x") > 0))["x"], dict[str, float]()
    values = seen.to_list() or [0.1, 1.0]
    low, high = min(values), max(values)
    plot.set(xscale="log", xlim=(low, high) if high > low else (low / 3, 3 * low))
    for label in look:
        mine = rows.filter(pl.col("label") == label).sort("x")
        if not mine["x"].is_finite().all():  # without privacy: a horizontal line
            mine = pl.concat([mine.with_columns(pl.lit(x).alias("x")) for x in plot.get_xlim()])
        x, y, error = (mine[name].to_numpy() for name in ("x", "relative", "interval"))
        plot.plot(x, y, **{"marker": ".", "label": label} | look[label])
        band = y - error, y + error
        plot.fill_between(x, *band, color=look[label]["color"], alpha=0.15, linewidth=0)
        ends[label] = float(y[-1])
    plot.set_xlabel(f"ε of a user (at δ = {loss.removeprefix('epsilon_at_')} where it is not pure)", **PLAIN)
    name_ends(plot, ends, look)


def refuse_theory(curve: TheoryCurve | PublishedPoint) -> Any:
    """Raise: there are no curves of theory for a log."""
    raise InvalidValue("curve", curve.label, "a curve of a policy: there are no curves of theory for a log")


SHOWN = Shown(refuse_theory, summary, cells, {"delays": rates, "privacy": partial(rates, kind="privacy")}, points)
