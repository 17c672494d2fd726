"""The figure of estimates: the mean of each arm, and beside it the difference of each arm from one of them."""

import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from matplotlib import pyplot, rc_context

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.drawing import CHARACTERS, PAPER, WIDTHS, save_result_figure
from maskedbandit.lab.goals.style import COLOURS, PLAIN

ROW, MARGINS_OF_ROWS = 0.28, 1.1  # inches of a row, and of all else
BLACK, BLUE, ORANGE = COLOURS[0], COLOURS[1], COLOURS[3]
NOTE = "lines: intervals valid at any time; bands: without the noise; dots: plain, diamonds: corrected for adaptivity"
NamedRows = Sequence[tuple[str, Any]]  # means or differences, by name


def draw_estimate(means: NamedRows, differences: NamedRows, columns: int, axes: Any, file: str | Path | None) -> Any:
    """Draw means and differences into two given axes, or means into one, or both into new axes; returns the axes."""
    if columns not in WIDTHS:
        raise InvalidValue("columns", columns, "1 or 2")
    with rc_context(PAPER):
        if axes is None:
            panels = 2 if differences else 1
            height = MARGINS_OF_ROWS + ROW * (len(means) if columns == 2 else len(means) + len(differences) + 2)
            figure = pyplot.figure(figsize=(WIDTHS[columns], height), layout="constrained")
            grid = (1, panels) if columns == 2 else (panels, 1)
            axes = figure.subplots(*grid, squeeze=False).ravel()
            figure.supxlabel(fill(NOTE, round(CHARACTERS * WIDTHS[columns])), fontsize="small", **PLAIN)
        panels_of = list(axes) if hasattr(axes, "__len__") else [axes]
        intervals(panels_of[0], means)
        panels_of[0].set_xlabel("mean", **PLAIN)
        if len(panels_of) > 1 and differences:
            intervals(panels_of[1], differences)
            panels_of[1].axvline(0, color="#777777", linewidth=0.6)
            panels_of[1].set_xlabel("difference", **PLAIN)
    if file is not None:
        save_result_figure(panels_of[0].figure, Path(file))
    return axes


def intervals(axes: Any, rows: NamedRows) -> None:
    """A line for each row, the first on top: the interval, in it that without noise, and the estimates."""
    for i, (_, row) in enumerate(rows):
        axes.plot(row.interval, [-i, -i], color=BLUE, linewidth=1.2, solid_capstyle="butt")
        if hasattr(row, "without_noise"):
            axes.plot(row.without_noise, [-i, -i], color=BLUE, linewidth=4, alpha=0.45, solid_capstyle="butt")
        if not math.isnan(row.estimate):
            axes.plot([row.estimate], [-i], "o", color=BLACK, markersize=3.5)
        if not math.isnan(row.corrected):
            axes.plot([row.corrected], [-i], "D", color=ORANGE, markersize=3, fillstyle="none")
    axes.set_yticks([-i for i in range(len(rows))], [name for name, _ in rows], **PLAIN)
    axes.set_ylim(0.6 - len(rows), 0.6)
    axes.grid(axis="x", alpha=0.25)
