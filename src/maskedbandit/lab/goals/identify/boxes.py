"""Box plots of stopping times: what runs needed until they stopped, one box for each curve."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes

from maskedbandit.lab.goals.identify.rows import summary
from maskedbandit.lab.goals.style import PLAIN, THEORY, Plotted, lines_of_labels, looks


def boxes(plot: Axes, table: pl.DataFrame) -> Plotted:
    """Quartiles, 5 % and 95 % quantiles, the mean and the lower bound of results on one instance."""
    rows = summary(table)
    labels = rows["label"].to_list()
    look = looks(labels, [])
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
