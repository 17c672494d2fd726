"""What several rewards of one person cost: `python -m tools.figures.several_rewards FILE` draws it.

People come eight times on average, and each visit pays with a probability of .2, .15, .15 or .1. Compared are ways to
count their rewards, all by the regret of as many people, in rewards:

* capped sums: a person adds min(S, cap) / cap to one release, at ε;
* a place for each visit, up to `cap` of them, each at ε / cap: together they cost a person ε. Later visits are not
  counted, but lose as much, as a person keeps the arm;
* a place for each visit, each at ε: that protects a reward, and a person loses ε times the number of visits;
* a place for each visit, without privacy.

Places of one person are taken for those of different people, which favours the last three a little.
"""

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.lab.goals.style import name_ends
from tools.figures.saved import save

MEANS, VISITS, PEOPLE = (0.2, 0.15, 0.15, 0.1), 8, 50_000
CAPS, EPSILONS, RUNS = (1, 2, 3, 4, 6, 8, 12, 16, 32), (Fraction(1, 10), Fraction(1)), 200
TRUSTS: dict[str, Callable[[Fraction], Channel]] = {
    "central trust": lambda epsilon: mb.channels.Central(epsilon=epsilon),
    "local trust": lambda epsilon: mb.channels.Response(epsilon=epsilon),
}
LOOKS: dict[str, dict[str, Any]] = {
    "capped sums": {"color": "#0072B2", "linewidth": 2, "marker": "."},
    "capped sums, policy of live studies": {"color": "#009E73", "linewidth": 2, "marker": "."},
    "ε / cap for each visit": {"color": "#D55E00", "linewidth": 1.8, "marker": "."},
    "ε for each visit: protects no person": {"color": "#777777", "linestyle": "--", "linewidth": 1.2},
    "no privacy": {"color": "#000000", "linestyle": ":", "linewidth": 1.2},
}


class Mean(NamedTuple):
    """A mean over runs, and its standard error."""

    mean: float
    error: float


def counted(visits: float, most: int) -> float:
    """The mean number of visits of a person, of whom at most so many count.

    >>> counted(1, 5), round(counted(8, 1000), 9), round(counted(3, 2), 3)
    (1.0, 8.0, 1.865)
    """
    total, chance = float(most), math.exp(1 - visits)  # of one visit, then of each one more
    for v in range(1, most):
        total -= (most - v) * chance
        chance *= (visits - 1) / v
    return total


def regret(policy: Any, channel: Channel, cap: int, people: int, runs: int) -> Mean:
    """With capped sums."""
    found = mb.simulate(policy, channel, mb.Visits(MEANS, VISITS, cap), people, runs, seed=1).regret[:, -1]
    return Mean(float(found.mean()), float(found.std() / math.sqrt(runs)))


def apart(channel: Channel, cap: int, people: int, runs: int) -> Mean:
    """With a place for each of the first visits, or for all."""
    each = counted(VISITS, cap)
    found = mb.simulate(
        mb.policies.NoiseAwareKLUCB(), channel, mb.Bernoulli(MEANS), round(people * each), runs, seed=1
    ).regret[:, -1]
    return Mean(float(found.mean() * VISITS / each), float(found.std() * VISITS / each / math.sqrt(runs)))


def lines(trust: str, epsilon: Fraction, caps: Sequence[int], people: int, runs: int) -> dict[str, list[Mean]]:
    """The curves of a panel."""
    made, everything = TRUSTS[trust], 1000
    noise_aware, live = mb.policies.NoiseAwareKLUCB(), mb.policies.ContemporaneousKLUCB()
    capped, lively, naive, each, raw = LOOKS
    return {
        capped: [regret(noise_aware, made(epsilon), cap, people, runs) for cap in caps],
        lively: [regret(live, made(epsilon), cap, people, runs) for cap in caps],
        naive: [apart(made(epsilon / cap), cap, people, runs) for cap in caps],
        each: [apart(made(epsilon), everything, people, runs)] * len(caps),
        raw: [apart(mb.channels.Raw(), everything, people, runs)] * len(caps),
    }


def cost(caps: Sequence[int] = CAPS, people: int = PEOPLE, runs: int = RUNS) -> Figure:
    """Regret against the cap, a panel for each trust model and ε."""
    figure = Figure(figsize=(13, 8.4), layout="constrained")
    plots = figure.subplots(len(TRUSTS), len(EPSILONS), sharey="row")
    for row, trust in zip(plots, TRUSTS, strict=True):
        ends: list[dict[str, float]] = []
        for plot, epsilon in zip(row, EPSILONS, strict=True):
            found = lines(trust, epsilon, caps, people, runs)
            for label, means in found.items():
                mean, error = np.array(means).T
                plot.plot(caps, mean, label=label, **LOOKS[label])
                plot.fill_between(caps, mean - 2 * error, mean + 2 * error, color=LOOKS[label]["color"], alpha=0.15)
            ends.append({label: means[-1].mean for label, means in found.items()})
            plot.set(xscale="log", yscale="log", xlim=(caps[0], caps[-1]), xlabel="cap: rewards of a person that count")
            plot.set_xticks(caps, [str(cap) for cap in caps])
            plot.set_xticks([], minor=True)
            plot.set_title(f"{trust}, ε = {float(epsilon):g}", fontsize="medium")
            plot.grid(which="major", alpha=0.3)
            plot.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel("regret, in rewards")
        for plot, each in zip(row, ends, strict=True):
            name_ends(plot, each, LOOKS)
    sums = ", ".join(f"{VISITS * mean:.1f}" for mean in MEANS)
    title = f"Several rewards of one person: {people:,} people who have {sums} rewards on average, by arm"
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    key = f"Lines are means of {runs} runs, with bands of two standard errors. "
    key += "ε is that of a person, but in the grey line that of a reward."
    figure.supxlabel(key, x=0.01, ha="left", fontsize="small")
    return figure


if __name__ == "__main__":
    save(cost, sys.argv[1])
