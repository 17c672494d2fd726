"""The style of all figures: the looks of curves, the panels, and the places of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, cycle
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours: they can be distinguished with any colour vision
# seven lines for eight colours: no combination is repeated before the 57th curve
LINES = ("-", (0, (5, 2)), "-.", (0, (2, 1)), ":", (0, (3, 1, 1, 1, 1, 1)), (0, (10, 3)))
COLOURS = ("#000000", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#E69F00", "#999933")
THEORY = "#777777"
THIN = ((0, (4, 3)), (0, (1, 2)), (0, (8, 2, 1, 2)), (0, (12, 3)))
TEXT_STAYS_TEXT: Any = {"svg.hashsalt": "maskedbandit", "svg.fonttype": "none", "pdf.fonttype": 42}
CHARACTERS = 16  # of a caption, per inch
PLAIN: dict[str, Any] = {"parse_math": False}  # what a user wrote is text, also between dollars


def lines_of_labels(plot: Any, labels: list[str], colours: dict[str, Any]) -> dict[str, float]:
    """A line of the panel for each label, the first on top, with the label above it; returns their heights."""
    heights = {label: float(-i) for i, label in enumerate(labels)}
    for label, y in heights.items():
        place: dict[str, Any] = {"xy": (0.01, y + 0.37), "xycoords": ("axes fraction", "data"), "va": "center"}
        plot.annotate(label, **place, color=colours[label]["color"], fontsize="small", **PLAIN)
    plot.set(ylim=(-len(labels) + 0.5, 0.6), yticks=[])
    plot.grid(which="major", axis="x", alpha=0.3)
    plot.spines[["top", "right", "left"]].set_visible(False)
    return heights


def choose_looks(labels: list[str], drawn: list[str]) -> dict[str, Any]:
    """The look of each curve, the first on top; those of theory, which are `drawn`, are thin and grey."""
    styles = zip([each for each in labels if each not in drawn], count(3, -0.01), cycle(COLOURS), cycle(LINES))
    found: dict[str, Any] = {
        label: {"zorder": z, "color": colour, "linestyle": line, "linewidth": 1.8} for label, z, colour, line in styles
    }
    found |= {
        label: {"zorder": 2, "color": THEORY, "linestyle": line, "linewidth": 1}
        for label, line in zip(drawn, cycle(THIN))
    }
    return found


def list_panels(table: pl.DataFrame, name: str | None) -> list[Any]:
    """The values of an axis, in the order of the table; None for all of a table without one."""
    return table[name].drop_nulls().unique(maintain_order=True).to_list() if name else [None]


def make_panels(many: int, title: str, captions: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels in at most two columns, with captions below, and its panels."""
    from matplotlib.figure import Figure

    across = min(2, many)
    down = -(-many // across)
    text = "\n".join(fill(line, CHARACTERS * (1 + 6 * across)) for line in captions)
    size = 1 + 6 * across, 0.4 + 4 * down + 0.16 * (text.count("\n") + 1)
    figure = Figure(figsize=size, layout="constrained")
    plots = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in plots[many:]:
        unused.set_axis_off()
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", **PLAIN)
    figure.supxlabel(text, x=0.01, ha="left", fontsize="small", **PLAIN)
    return figure, plots[:many]


def select_at(table: pl.DataFrame, name: str | None, value: Any) -> pl.DataFrame:
    """Rows at a value; a curve without one (no privacy has no epsilon) belongs in every panel."""
    return table if name is None else table.filter(pl.col(name).is_null() | (pl.col(name) == value))


def join_equal(plot: Any, labels: Iterable[str]) -> dict[str, str]:
    """What to call each curve of a plot: the first of several that lie on one another hides the others, so it is named
    for all of them, in as many lines.

    >>> from matplotlib.figure import Figure
    >>> plot = Figure().subplots()
    >>> for label, y in {"central": 3, "local": 9, "distributed": 3}.items():
    ...     _ = plot.plot([1, 2], [y, y], label=label)
    >>> join_equal(plot, ["central", "local", "distributed"])
    {'central': 'central\\n= distributed', 'local': 'local'}
    """
    drawn, named = {line.get_label(): line.get_xydata() for line in plot.lines}, dict[str, str]()
    for label in labels:
        seen = (each for each in named if np.array_equal(drawn.get(each, np.nan), drawn.get(label, np.nan)))
        above = next(seen, label)
        named[above] = f"{named[above]}\n= {label}" if above in named else label
    return named


def name_ends(plot: Any, ends: Mapping[str, float], looks: Mapping[str, Any]) -> None:
    """Write the labels beside the right ends of the curves, moved where they would overlap, but not above the top."""
    named = join_equal(plot, ends)
    labels = sorted(named, key=lambda label: ends[label])
    scale: Any = np.log10 if plot.get_yscale() == "log" else np.asarray
    bottom, top = map(float, scale(plot.get_ylim()))
    half, heights = (top - bottom) / 40, list[float]()  # a line of text takes twice that
    sizes = [half * (1 + named[label].count("\n")) for label in labels]
    low, high = bottom - half, top + half
    for label, size in zip(labels, sizes, strict=True):
        heights.append(max(float(scale(ends[label])), low + size))
        low = heights[-1] + size
    for i in reversed(range(len(labels))):
        heights[i] = min(heights[i], high - sizes[i])
        high = heights[i] - sizes[i]
    for label, height in zip(labels, heights, strict=True):
        place: dict[str, Any] = {"xy": (1 + 1 / 70, (height - bottom) / (top - bottom)), "xycoords": "axes fraction"}
        said = {"color": looks[label]["color"], "va": "center", "fontsize": "small", "annotation_clip": False}
        plot.annotate(named[label], **place, **said, **PLAIN)
