"""The privacy region: how well tests tell two neighbours apart, and how well they may.

A test has false positives a and false negatives b. (epsilon, delta) promises of every test [KOV17]

    b >= max{1 - delta - e^epsilon a,  e^-epsilon (1 - delta - a)}.

A dot has both errors of the chosen test, at most: a promise that is kept has it above the line. The curve of samples
has no such margin.
"""

import math
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from maskedbandit.core import Floats
from maskedbandit.lab.goals.style import COLOURS, PLAIN, TEXT_STAYS_TEXT
from maskedbandit.reports.audit.audit import Audit, AuditPart, AuditPromise

PANELS_A_ROW = 3  # panels in a row


def promised_curve(promise: AuditPromise, positives: Floats) -> Floats:
    """The least false negatives that are allowed.

    >>> promised_curve(AuditPromise(0.0), np.array([0.0, 0.5, 1.0])).tolist()
    [1.0, 0.5, 0.0]
    """
    grown = math.exp(min(promise.epsilon, 700.0))
    rest = 1 - promise.delta
    return np.clip(np.maximum(rest - grown * positives, (rest - positives) / grown), 0.0, 1.0)


def draw_audit_part(axes: Any, part: AuditPart) -> None:
    """One part: what is promised, what was seen, and the broken twin."""
    rest = 1 - part.promised.delta
    x = np.array([0.0, rest / (1 + math.exp(min(part.promised.epsilon, 700.0))), rest, 1.0])  # straight between these
    allowed = promised_curve(part.promised, x)
    axes.fill_between(x, 0, allowed, color=COLOURS[3], alpha=0.12, linewidth=0)
    axes.plot(x, allowed, color=COLOURS[3], linewidth=1.2, label="as far as promised")
    axes.plot(*part.twin_curve, color=COLOURS[4], linewidth=1.2, linestyle=(0, (4, 2)), label="broken twin")
    axes.plot(*part.curve, color=COLOURS[1], linewidth=2.2, label="what was found")
    if part.corner is not None:
        axes.plot(*part.corner, color=COLOURS[1], marker="o", markersize=4.5, linestyle="")
    axes.plot([0, 1], [1, 0], color="#777777", linewidth=0.8, linestyle=":", label="guessing")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="false positives", ylabel="false negatives")
    shown = f"{'ε is' if part.method == 'exact' else 'ε is at least'} {part.lower_bound:.3g}"
    axes.set_title(f"{fill(part.part, 52)}\npromised: {part.promised}; {shown}", fontsize="small", **PLAIN)
    axes.grid(alpha=0.25)


def save_audit_figure(audit: Audit, path: Path) -> None:
    """A panel for each part."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    parts = audit.parts
    columns = 2 if len(parts) == 4 else min(len(parts), PANELS_A_ROW)
    rows = -(-len(parts) // columns)
    with plt.rc_context(TEXT_STAYS_TEXT):
        figure, grid = plt.subplots(
            rows, columns, figsize=(3.9 * columns, 4.1 * rows + 0.5), layout="constrained", squeeze=False
        )
        for part, axes in zip(parts, grid.flat, strict=False):
            draw_audit_part(axes, part)
        for axes in list(grid.flat)[len(parts) :]:
            axes.set_axis_off()
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
