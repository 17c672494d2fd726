"""Figures, each a pure function of a results table."""

from __future__ import annotations

from itertools import count, cycle
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from maskedbandit.lab.table import axes

# Okabe and Ito's colours: told apart by readers with any colour vision
LINES = ("-", (0, (5, 2)), "-", (0, (2, 1)), "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 2)))  # and on paper without colours
COLOURS = ("#000000", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#E69F00", "#999933")


def regret(table: pl.DataFrame, title: str = "") -> Figure:
    """Mean pseudo-regret against users, with bands of two standard errors; a panel for each value of epsilon.

    Curves are named at their right end, in the order of the table.
    """
    epsilon = next((name for name in axes(table) if name.endswith("epsilon")), None)
    # a curve that takes no epsilon (no privacy) belongs in every panel
    panels: list[Any] = sorted(table[epsilon].drop_nulls().unique()) if epsilon else [None]
    figure = Figure(figsize=(1.5 + 5.5 * len(panels), 4.4), layout="constrained")
    plots = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    labels = table["label"].unique(maintain_order=True).to_list()
    styles = zip(labels, count(3, -0.01), cycle(COLOURS), cycle(LINES))  # first curves on top
    looks = {label: {"zorder": z, "color": colour, "linestyle": line} for label, z, colour, line in styles}
    for plot, value in zip(plots, panels, strict=True):
        shown = table if epsilon is None else table.filter(pl.col(epsilon).is_null() | (pl.col(epsilon) == value))
        ends: list[tuple[float, str]] = []
        for label in labels:
            points = (
                shown.filter(pl.col("label") == label)
                .group_by("t")
                .agg(
                    pl.col("regret").mean().alias("mean"),
                    (pl.col("regret").std() / pl.len().sqrt()).fill_null(0).alias("error"),
                )
                .filter(pl.col("mean") > 0)
                .sort("t")
            )
            if points.height == 0:
                continue
            t, mean, error = (points[name].to_numpy() for name in ("t", "mean", "error"))
            plot.plot(t, mean, linewidth=1.8, **looks[label])
            low = np.maximum(mean - 2 * error, mean / 10)  # a band must stay positive on a logarithmic axis
            plot.fill_between(t, low, mean + 2 * error, color=looks[label]["color"], alpha=0.2, linewidth=0)
            ends.append((float(mean[-1]), label))
        right = float(shown["horizon"].max())  # type: ignore[arg-type]  # a column of numbers
        plot.set(xlim=(max(1, right / 1e4), right))  # before, every policy is still exploring
        plot.set(xscale="log", yscale="log", xlabel="users", title="" if value is None else f"ε = {value}")
        plot.grid(which="major", alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
        name_ends(plot, ends, looks, right)
    plots[0].set_ylabel("cumulative pseudo-regret")
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    return figure


def name_ends(plot: Any, ends: list[tuple[float, str]], looks: dict[str, Any], right: float) -> None:
    """Write the labels beside the right ends of the curves, moved up where they would overlap."""
    if not ends:  # nobody lost anything: all arms are equal
        return
    seen = [line.get_ydata()[line.get_xdata() >= plot.get_xlim()[0]] for line in plot.lines]
    plot.set_ylim(bottom=0.7 * min(heights.min() for heights in seen))
    bottom, top = np.log10(plot.get_ylim())
    gap, last = (top - bottom) / 20, -np.inf
    for height, label in sorted(ends):
        last = max(np.log10(height), last + gap)
        at = (right * 1.15, 10**last)
        plot.annotate(label, at, color=looks[label]["color"], va="center", fontsize="small", annotation_clip=False)
