"""The price of sites in people against one pooled trial: `python -m tools.figures.site_price FILE` draws it.

Two arms are compared, each with one release of n people, as `maskedbandit plan --protocol` does it.
"""

import sys
from collections.abc import Callable
from fractions import Fraction

from matplotlib.figure import Figure

from maskedbandit.channels.central import Central
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.reports.plan.sites import count_people
from tools.figures.saved import save

DIFFERENCE = 0.05
EPSILONS = tuple(round(0.01 * 10 ** (i / 8), 4) for i in range(17))
COUNTS = (3, 8, 20)  # of sites, all of one size
LINES: dict[str, tuple[str, Callable[[Fraction, int], float]]] = {
    "each site alone": ("#999999", lambda epsilon, sites: sites * count_people(Central(epsilon), DIFFERENCE)),
    "sites publish noisy sums": (
        "#CC79A7",
        lambda epsilon, sites: count_people(Central(epsilon), DIFFERENCE, draws=sites),
    ),
    "secure sum, half of the sites may be lost": (
        "#D55E00",
        lambda epsilon, sites: count_people(
            Distributed(epsilon, honest=Fraction(sites - sites // 2, sites)), DIFFERENCE
        ),
    ),
    "secure sum, one site may be lost": (
        "#0072B2",
        lambda epsilon, sites: count_people(Distributed(epsilon, honest=Fraction(sites - 1, sites)), DIFFERENCE),
    ),
}


def draw_site_price() -> Figure:
    """People that are needed, as a multiple of those of one trial that pools all outcomes."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    plots = figure.subplots(1, 3, sharey=True)
    for sites, plot in zip(COUNTS, plots, strict=True):
        for label, (colour, count) in LINES.items():
            times = [count(Fraction(str(each)), sites) / count_people(Central(each), DIFFERENCE) for each in EPSILONS]
            plot.plot(EPSILONS, times, color=colour, linewidth=2, label=label)
        plot.axhline(1, color="#222222", linewidth=1)
        plot.set(xscale="log", yscale="log", xlabel="ε", title=f"{sites} sites", yticks=[1, 2, 3, 5, 10, 20])
        plot.set_yticks([], minor=True)
        plot.set_yticklabels(["1", "2", "3", "5", "10", "20"])
        plot.grid(which="major", alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
    two = [count_people(TwoServers(each), DIFFERENCE) / count_people(Central(each), DIFFERENCE) for each in EPSILONS]
    plots[0].plot(EPSILONS, two, color="#009E73", linewidth=2, linestyle="--", label="two sites as two servers")
    plots[0].set_ylabel("people, times a pooled trial's")
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


if __name__ == "__main__":
    save(draw_site_price, sys.argv[1])
