"""The figure of what returning users cost: `python -m tools.figures.returning_users FILE` draws it."""

import sys

import numpy as np
from matplotlib.figure import Figure

from maskedbandit.privacy.repeated_batches import by_batches
from tools.figures.saved import save

EPSILON, DELTA = "1/2", 1e-6
NAMES = {
    "advanced": ("advanced composition", "#D55E00"),
    "basic": ("basic composition, pure ε", "#009E73"),
    "concentrated": ("concentrated (Rényi) composition", "#0072B2"),
}


def returning() -> Figure:
    """Standard deviation of the noise in each batch against the number of batches that a user may be in."""
    rows = by_batches(np.unique(np.geomspace(1, 300, 19).round().astype(int)).tolist(), EPSILON, DELTA)
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    plot = figure.subplots()
    for field, (label, colour) in NAMES.items():
        y = [getattr(row, field) for row in rows]
        plot.plot([row.batches for row in rows], y, color=colour, linewidth=1.8)
        plot.annotate(f" {label}", (rows[-1].batches, y[-1]), color=colour, va="center", fontsize="small")
    plot.set(xscale="log", yscale="log", xlim=(1, 300))
    plot.set(xlabel="batches that a user takes part in", ylabel="standard deviation of the noise in a batch")
    plot.set_title(f"Noise for users who come back: ε = {EPSILON}, δ = {DELTA:g} in all", loc="left", fontsize="medium")
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    save(returning, sys.argv[1])
