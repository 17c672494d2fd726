"""The figure of what secure aggregation costs a device: `python -m tools.figures.secagg_growth FILE` draws it.

A device does the same for each of its neighbours: two key agreements, two key shares, a seal and its opening. So its
cost is c k(n), with k(n) from the calculator and c measured once, at the largest cohort: on the complete graph k = n -
1, on a sparse one k grows with log n [BBG20]. On top come n hashes for the ring, which one process draws once for all
of its devices; they are shown on their own.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Literal, NamedTuple

from matplotlib.figure import Figure
from tqdm import tqdm

from maskedbandit.backends.secagg import SecAgg
from maskedbandit.lab.goals.style import THEORY
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.graph import Ring
from maskedbandit.secagg.masks import KEY
from tools.figures.saved import save

CORRUPTED = LOST = Fraction(1, 10)
SIZES: dict[Literal["complete", "sparse"], tuple[int, ...]] = {
    "complete": tuple(2**i for i in range(5, 10)),
    "sparse": tuple(2**i for i in range(6, 14)),
}
COLOURS = {"complete": "#D55E00", "sparse": "#0072B2"}


class Cost(NamedTuple):
    """What a cohort of n cost a device: neighbours, kilobytes sent, milliseconds of computing, and for the ring."""

    n: int
    k: int
    sent: float
    busy: float
    ring: float


def measured(graph: Literal["complete", "sparse"], n: int) -> Cost:
    """One round in which nobody is lost, so that all devices do all there is to do."""
    least = n - int(CORRUPTED * n) - int(LOST * n)
    backend, bits = SecAgg(corrupted=CORRUPTED, graph=graph, smallest=1), Bits()
    k = backend.rules.find_neighbourhood(n, least).k
    phases = backend.sum([0] * n, 2**20, least, b"", bits).phases
    sent, busy = sum(phase.up for phase in phases), sum(phase.seconds for phase in phases)
    start = time.process_time()
    Ring(bytes(KEY), range(n), k)
    ring = time.process_time() - start
    return Cost(n, k, sent / n / 1000, 1000 * busy / n, 1000 * ring)


def growth(costs: Mapping[str, Sequence[Cost]]) -> Figure:
    """Bytes and time per device against the size of the cohort, measured and by the theory."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    for plot, field, label in zip(
        figure.subplots(1, 2),
        ("sent", "busy"),
        ("kB that a device sends", "ms of computing, a device's share"),
        strict=True,
    ):
        for graph, found in costs.items():
            values, last = [getattr(cost, field) for cost in found], found[-1]
            theory = [getattr(last, field) * cost.k / last.k for cost in found]
            sizes, colour = [cost.n for cost in found], COLOURS[graph]
            plot.plot(sizes, theory, color=colour, linewidth=1)
            plot.plot(sizes, values, "o", color=colour, markersize=5)
            plot.annotate(f"  {graph} graph", (last.n, values[-1]), color=colour, fontsize="small", va="center")
        if field == "busy":
            rings = [(cost.n, cost.ring) for cost in costs["sparse"]]
            n, last_ring = rings[-1]
            plot.plot(*zip(*[(m, last_ring * m / n) for m, _ in rings], strict=True), color=THEORY, linewidth=1)
            plot.plot(*zip(*rings, strict=True), "o", color=THEORY, markersize=4)
            below = {"textcoords": "offset points", "xytext": (6, -4), "va": "top"}
            plot.annotate("n hashes for the ring", rings[len(rings) // 2], color=THEORY, fontsize="small", **below)
        plot.set(xscale="log", yscale="log", xlabel="devices in the cohort, n", ylabel=label, xlim=(25, 60_000))
        plot.grid(which="major", alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        "Secure aggregation, a tenth corrupted and a tenth lost: dots measured, lines c k(n)", fontsize="medium"
    )
    return figure


if __name__ == "__main__":
    path = sys.argv[1]  # at once, before minutes are spent
    cases = [(graph, n) for graph, sizes in SIZES.items() for n in sizes]
    found: dict[str, list[Cost]] = {graph: [] for graph in SIZES}
    for graph, n in tqdm(cases, unit="round"):
        found[graph].append(measured(graph, n))
    save(partial(growth, found), path)
