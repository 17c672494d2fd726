"""The figure of intervals at any time: `python -m tools.figures.estimate FILE` draws it."""

import math
import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import maskedbandit as mb
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.theory.sequences import Sums, mean_evidence, mean_interval, noise_moments, sum_failures
from tools.figures.saved import save

RUNS, ALPHA, PEOPLE = 1000, 0.05, 100_000
TRUST: dict[str, tuple[Any, str]] = {
    "central, two servers": (lambda epsilon: mb.channels.Central(epsilon=epsilon), "#0072B2"),
    "distributed, .7 honest": (lambda epsilon: mb.channels.Distributed(epsilon=epsilon, honest="0.7"), "#009E73"),
    "shuffled, δ = 1e-6": (lambda epsilon: mb.channels.Shuffled(epsilon=epsilon, delta=1e-6), "#D55E00"),
    "local": (lambda epsilon: mb.channels.Response(epsilon=epsilon), "#CC79A7"),
}


def first_misses(rows: np.ndarray, law: Law, mean: float) -> dict[str, float]:
    """With how many people of an arm each kind of interval first missed its mean."""
    n, total, m = rows[:, 1].cumsum(), rows[:, 2].cumsum(), np.arange(1, len(rows) + 1)
    moments = np.stack([noise_moments(law, int(each)) for each in rows[:, 1]]).cumsum(axis=0)
    known = Sums(total, n, moments)
    both = np.maximum(mean_evidence(law, known, mean), mean_evidence(law, sum_failures(known), 1 - mean))
    out = {
        "normal": np.abs(total - n * mean) > 1.959964 * np.sqrt(n * mean * (1 - mean) + 2 * law.scale**2 * m),
        "at any time": both >= math.log(2 / ALPHA),
    }
    return {name: float(n[each][0]) if each.any() else math.inf for name, each in out.items()}


def ever_missed() -> dict[str, np.ndarray]:
    """With how many people intervals of an arm first missed, of each run of a policy over arms that are equal."""
    channel = mb.channels.Central(epsilon=1)
    world = mb.Bernoulli([0.5, 0.5, 0.5])
    run = mb.simulate(mb.policies.NoiseAwareKLUCB(), channel, world, PEOPLE, RUNS, 1, keep_releases=True)
    found = [first_misses(rows[rows[:, 0] == 0], channel.law(), 0.5) for rows in run.recorded or ()]
    return {name: np.sort([each[name] for each in found]) for name in found[0]}


def relative_width(law: Law, n: int) -> float:
    """The width for so many people in cohorts that grow by 1.3, over that of the same without noise."""
    sizes, size = list[int](), 50.0
    while sum(sizes) + size < n:
        sizes.append(int(size))
        size *= 1.3
    sizes.append(n - sum(sizes))
    known = [mb.Release(0, each, 0.4 * each) for each in sizes]
    return mean_interval(law, known).width / mean_interval(Law(NO_NOISE), known).width


def intervals() -> Figure:
    """How often intervals ever missed, and how much wider noise makes them."""
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (name, first), colour in zip(ever_missed().items(), ("#D55E00", "#0072B2"), strict=True):
        reached = first[np.isfinite(first)]
        share = 100 * np.arange(1, reached.size + 1) / first.size
        left.step([10, *reached, PEOPLE], [0, *share, share[-1]], where="post", color=colour, linewidth=1.8)
        left.annotate(
            f" {name}", (PEOPLE, share[-1]), color=colour, va="center", fontsize="small", annotation_clip=False
        )
    left.axhline(100 * ALPHA, color="#777777", linewidth=0.8, linestyle=":")
    left.set(
        xscale="log",
        xlim=(10, PEOPLE),
        ylim=(0, None),
        xlabel="people of the arm",
        ylabel="% of runs that missed so far",
    )
    left.set_title("95 % intervals that are looked at always", loc="left", fontsize="medium")
    n = np.unique(np.geomspace(100, 10**7, 16).round().astype(int))
    for name, (made, colour) in TRUST.items():
        for epsilon, line in ((1, "-"), ("0.1", "--")):
            y = [relative_width(made(epsilon).law(), int(each)) for each in n]
            right.plot(n, y, line, color=colour, linewidth=1.6, label=name if epsilon == 1 else None)
    right.axhline(1.5, color="#777777", linewidth=0.8, linestyle=":")
    right.set(xscale="log", yscale="log", xlim=(n[0], n[-1]), ylim=(0.95, 30), xlabel="people of the arm")
    right.set_yticks([1, 1.5, 2, 5, 10, 20], ["1", "1.5", "2", "5", "10", "20"])
    right.minorticks_off()
    right.set_title("width, over that without privacy", loc="left", fontsize="medium")
    right.legend(frameon=False, fontsize="small", title="ε = 1; dashed: ε = 0.1", title_fontsize="small")
    for plot in (left, right):
        plot.grid(which="major", alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    save(intervals, sys.argv[1])
