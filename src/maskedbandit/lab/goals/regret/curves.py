"""Figures of curves, each a pure function of a results table: regret, its time average, or other columns.

A panel for each instance that has a name (down) and each epsilon (across); other parameters that vary give curves of
their own. Curves of theory are thin and grey. Bands are standard errors over independent runs, or over instances.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.columns import axes, observed
from maskedbandit.lab.goals.style import PLAIN, Plotted, at, looks, name_ends, panels


def regret(table: pl.DataFrame, title: str = "") -> Figure:
    """Mean pseudo-regret against users, with bands of two standard errors."""
    return curves(table.with_columns(pl.col("regret").alias("y")), "cumulative pseudo-regret", 2, title)


def average(table: pl.DataFrame, title: str = "") -> Figure:
    """Mean pseudo-regret for each user so far, with bands of one standard error [CZ23, Fig. 1-4]."""
    return curves(table.with_columns((pl.col("regret") / pl.col("t")).alias("y")), "time-average regret", 1, title)


def values(table: pl.DataFrame, names: Mapping[str, str], title: str = "") -> Figure:
    """Means of columns, by their labels, at the end of a run against the horizon; bands of two standard errors."""
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
    return curves(long, next(iter(names)) if len(names) == 1 else "value", 2, title, "horizon")


def plot(axes: Axes, table: pl.DataFrame) -> Plotted:
    """Mean pseudo-regret of results on one instance."""
    labels = table["label"].unique(maintain_order=True).to_list()
    look = looks(labels, [])
    table = table.with_columns(y=pl.col("regret"), observed=pl.col("regret"))
    ends = panel(axes, table, labels, look, 2, "t")
    if lines := [np.asarray(curve.get_ydata()) for curve in axes.lines]:
        axes.set_ylim(bottom=0.7 * min(float(each.min()) for each in lines))
    axes.set_ylabel("cumulative pseudo-regret", **PLAIN)
    bands = ", bands ± 2 standard errors" * (table["run"].n_unique() > 1)
    return Plotted(f"Lines are means of runs{bands}.", 3.0, look, ends)


def curves(table: pl.DataFrame, ylabel: str, errors: float, title: str, against: str = "t") -> Figure:
    """Mean of y against users, in panels; a policy that ran to several horizons is shown at the end of each run."""
    varied = axes(table)
    across = next((name for name in varied if name.endswith(".epsilon")), None)
    down = "instance.means" if "instance.means" in varied else None
    others = [pl.format(", {} {}", pl.lit(n.rpartition(".")[2]), n) for n in varied if n not in (across, down)]
    # a parameter that a curve does not have is left out of its name
    names = pl.concat_str("label", *(pl.coalesce(other, pl.lit("")) for other in others))
    table = observed(table.with_columns(names.alias("label")), "y")
    labels = table["label"].unique(maintain_order=True).to_list()
    drawn = table.filter(pl.col("trust") == "theory")["label"].unique(maintain_order=True).to_list()
    look = looks(labels, drawn)
    rows, columns = panels(table, down), panels(table, across)
    figure = Figure(figsize=(1.5 + 5.5 * len(columns), 0.4 + 4 * len(rows)), layout="constrained")
    plots = figure.subplots(len(rows), len(columns), sharey="row", squeeze=False)
    for line, row in zip(plots, rows, strict=True):
        line[0].set_ylabel(ylabel, **PLAIN)
        ends: list[dict[str, float]] = []
        for plot, column in zip(line, columns, strict=True):
            ends.append(panel(plot, at(at(table, down, row), across, column), labels, look, errors, against))
            named = ([] if row is None else [f"{row}"]) + ([] if column is None else [f"ε = {column}"])
            plot.set_title(", ".join(named), **PLAIN)
        seen = [curve.get_ydata().min() for plot in line for curve in plot.lines]
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
        plot.plot(t, mean, marker="." if points.height < 3 else "", **look[label])
        low = np.maximum(mean - errors * error, mean / 10)  # a band must stay positive on a logarithmic axis
        if error.any():
            plot.fill_between(t, low, mean + errors * error, color=look[label]["color"], alpha=0.2, linewidth=0)
        ends[label] = float(mean[-1])
    plot.set(xscale="log", yscale="log", xlabel="users", xlim=(left, right if right > left else 10 * left))
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    return ends
