"""The people that a study needs, its regret, or its wrong answers, against ε: a curve for each trust model.

If people are given to an answer, a curve ends where no simulated study is wrong, and its band goes on.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.plans import PEOPLE
from maskedbandit.lab.goals.style import choose_looks, name_ends
from maskedbandit.reports.plan.forecast import find_planned
from maskedbandit.reports.plan.plan import Question, plan

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
LEAST_SHARE = 1e-4  # the axis of wrong answers goes no lower


def save_plan_figure(question: Question, trust: Sequence[str], runs: int | None, path: Path) -> None:
    """Draw the plan at several ε, with the difference that was asked for."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    difference = question.difference if question.difference is not None else 0.05
    what = PEOPLE if question.unknown == "people" else find_planned(question.goal).curve
    curves: dict[str, list[tuple[float, float, float, float, float]]] = {each: [] for each in trust}
    for epsilon in EPSILONS:
        asked = replace(question, difference=difference, epsilon=epsilon)
        for each in trust:
            try:
                found = plan(asked, trust=(each,), runs=runs)
            except InvalidValue:
                continue  # more people than there are
            curves[each].append((epsilon, *what.values(found.rows[0], found.runs)))
    with plt.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42}):
        figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
        style, ends = choose_looks(list(curves), []), dict[str, float]()
        for name, points in curves.items():
            x, means, lows, highs, bounds = np.array(points).reshape(-1, 5).T
            line: dict[str, Any] = style[name]
            axes.plot(x, means, label=name, **line)
            axes.fill_between(x, lows, highs, color=line["color"], alpha=0.15, linewidth=0)
            axes.plot(x, bounds, color=line["color"], linewidth=0.8, linestyle=":")
            if points:
                ends[name] = float(means[-1]) if means[-1] > 0 else LEAST_SHARE
        axes.set(xscale="log", yscale="log", xlabel="ε of each person", ylabel=what.name)
        if what.share:
            axes.set_ylim(LEAST_SHARE, 1)
        axes.set_xticks(EPSILONS, [f"{each:g}" for each in EPSILONS], minor=False)
        axes.minorticks_off()
        axes.set_xlim(EPSILONS[0], EPSILONS[-1])
        axes.grid(alpha=0.25)
        said = f"{question.arms} arms, difference {difference:g}; {what.band}{what.dotted}".removesuffix("; ")
        axes.set_title(said, fontsize="small")
        name_ends(axes, ends, style)
        figure.savefig(path)
        plt.close(figure)
