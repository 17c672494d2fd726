"""The figure of counting queries: `python -m tools.figures.counting FILE` draws it."""

import sys

import numpy as np
from matplotlib.figure import Figure

from maskedbandit.privacy.counting import LaplaceMechanism, queries_limit
from tools.figures.saved import save

EPSILON, BETA = 1, "0.05"
ACCURACIES = {"errors below 0.05": (lambda n: "0.05", "#0072B2"), "errors below 1/√n": (lambda n: n**-0.5, "#D55E00")}
PEOPLE = np.geomspace(100, 10**8, 25).round().astype(int).tolist()
SIGMA, DATA = "0.01", (100, 1000)


def counting() -> Figure:
    """How many queries can be answered, over n / ln n; and how often an answer errs by more than alpha."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    limit, tail = figure.subplots(1, 2)
    for label, (accuracy, colour) in ACCURACIES.items():
        rows = queries_limit(PEOPLE, EPSILON, accuracy, BETA)
        limit.plot([row.n for row in rows], [row.ratio for row in rows], color=colour, linewidth=1.8, label=label)
    limit.axhline(0.05 * EPSILON, color="0.6", linewidth=1, linestyle=":")
    limit.annotate("εα ", (PEOPLE[-1], 0.05 * EPSILON), ha="right", va="top", color="0.4", fontsize="small")
    limit.set(xscale="log", xlabel="people, n", ylabel="affordable queries · ln(n) / n", ylim=(0, 0.13))
    limit.set_title(f"Queries at ε = {EPSILON} in all, β = {BETA}", loc="left", fontsize="medium")
    limit.legend(frameon=False, fontsize="small")
    mechanism = LaplaceMechanism(SIGMA)
    for n, colour in zip(DATA, ("#009E73", "#0072B2"), strict=True):
        alphas = [f"{steps}/{n}" for steps in range(1, n // 10 + 1)]
        x = [step / n for step in range(1, n // 10 + 1)]
        y = [mechanism.failure(alpha, n) for alpha in alphas]
        tail.plot(x, y, color=colour, linewidth=1.8, label=f"released, n = {n:,}")
    x = np.linspace(0.001, 0.1, 100).tolist()
    tail.plot(x, np.exp(-np.array(x) / float(SIGMA)), color="0.4", linewidth=1.2, linestyle="--", label="exp(−α/σ)")
    tail.set(yscale="log", xlabel="α", ylabel="probability of an error of α or more")
    tail.set_title(f"One query, σ = {SIGMA}", loc="left", fontsize="medium")
    tail.legend(frameon=False, fontsize="small")
    for plot in (limit, tail):
        plot.grid(which="major", alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    save(counting, sys.argv[1])
