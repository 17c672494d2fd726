"""The people that a study needs, or its regret, against ε: a curve for each trust model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.style import looks, name_ends
from maskedbandit.reports.plan import Question, plan

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)


def save(question: Question, trust: Sequence[str], runs: int, path: Path) -> None:
    """Draw the plan at several ε, with the difference that was asked for."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    difference = question.difference if question.difference is not None else 0.05
    search = question.goal == "identify"
    curves: dict[str, list[tuple[float, float, float, float]]] = {each: [] for each in trust}
    for epsilon in EPSILONS:
        asked = replace(question, difference=difference, epsilon=epsilon)
        for each in trust:
            try:
                (row,) = plan(asked, trust=(each,), runs=runs).rows
            except InvalidValue:
                continue  # more people than there are
            found = row.expected
            mean, most = (found.people, found.people_most) if search else (found.regret, found.regret)
            curves[each].append((epsilon, mean, most, row.bound))
    with plt.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42}):
        figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
        style, ends = looks(list(curves), []), dict[str, float]()
        for name, points in curves.items():
            x, means, mosts, bounds = np.array(points).reshape(-1, 4).T
            line: dict[str, Any] = style[name]
            axes.plot(x, means, **line)
            axes.fill_between(x, means, mosts, color=line["color"], alpha=0.15, linewidth=0)
            axes.plot(x, bounds, color=line["color"], linewidth=0.8, linestyle=":")
            if points:
                ends[name] = float(means[-1])
        axes.set(xscale="log", yscale="log", xlabel="ε of each person", ylabel="people" if search else "regret")
        axes.set_xticks(EPSILONS, [f"{each:g}" for each in EPSILONS], minor=False)
        axes.minorticks_off()
        axes.set_xlim(EPSILONS[0], EPSILONS[-1])
        axes.grid(alpha=0.25)
        band = "bands: up to what nine of ten studies need; " if search else ""
        axes.set_title(f"{question.arms} arms, difference {difference:g}; {band}dotted: lower bounds", fontsize="small")
        name_ends(axes, ends, style)
        figure.savefig(path)
        plt.close(figure)
