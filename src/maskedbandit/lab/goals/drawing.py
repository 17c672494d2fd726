"""Figures of results as papers print them: one or two columns wide, with text that stays text."""

from pathlib import Path
from textwrap import fill
from typing import Any

import polars as pl
from matplotlib import pyplot, rc_context
from matplotlib.lines import Line2D

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.files import whole_file
from maskedbandit.lab.goals import find_goal
from maskedbandit.lab.goals.style import PLAIN, TEXT_STAYS_TEXT, join_equal, name_ends

WIDTHS = {1: 3.4, 2: 7.0}  # inches
ENTRY = 0.15  # inches of a line of a legend
HANDLE = 7.1  # its line, in sizes of the text: the longest dashes are there twice
CHARACTERS = 15  # of a note, per inch
PAPER: Any = {"font.size": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}
DATES = {"pdf": "CreationDate", "svg": "Date"}  # left out: the same figure is the same file


def draw_result(goal: str, table: pl.DataFrame, columns: int, axes: Any, file: str | Path | None) -> Any:
    """The figure of the table of a result, in axes that are given or in new ones; returns the axes."""
    if columns not in WIDTHS:
        raise InvalidValue("columns", columns, "1 or 2")
    with rc_context(PAPER):
        own = axes is None
        if own:
            axes = pyplot.figure(figsize=(WIDTHS[columns], 3), layout="constrained").subplots()
        found = find_goal(goal).shown.plot(axes, with_labels(table))
        named = join_equal(axes, found.look)
        figure = axes.figure
        if own:
            lines_of_legend = sum(1 + text.count("\n") for text in named.values())
            figure.set_figheight(found.height + (ENTRY * lines_of_legend if columns == 1 else 0))
        if own and columns == 2:
            name_ends(axes, found.ends, found.look)
        elif found.look:
            lines = [Line2D([], [], **found.look[label], label=text) for label, text in named.items()]
            where: Any = {"loc": "outside lower left"} if own else {}
            style: Any = {"frameon": False, "fontsize": "small", "handlelength": HANDLE}
            (figure if own else axes).legend(handles=lines, **style, **where)
        width = figure.get_figwidth() * (1 if own else axes.get_position().width)
        axes.set_xlabel(f"{axes.get_xlabel()}\n{fill(found.note, round(CHARACTERS * width))}", **PLAIN)
    if file is not None:
        save_result_figure(figure, Path(file))
    return axes


def with_labels(table: pl.DataFrame) -> pl.DataFrame:
    """The table with a label of each curve."""
    label = pl.concat_str("policy", "channel", separator=", ").alias("label")
    return table if "label" in table.columns else table.select(label, pl.all())


def save_result_figure(figure: Any, path: Path) -> None:
    """Write a figure, in the format that the end of its name says."""
    format = path.suffix[1:].lower()
    if format not in figure.canvas.get_supported_filetypes():
        raise InvalidValue("file", str(path), "a name that ends with .pdf, .svg, .png or another format of matplotlib")
    metadata = {DATES[format]: None} if format in DATES else None
    with rc_context(TEXT_STAYS_TEXT), whole_file(path) as draft:
        figure.savefig(draft, format=format, metadata=metadata, dpi=300)
