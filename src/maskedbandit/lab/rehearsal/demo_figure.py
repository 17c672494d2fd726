"""The figure of a round: devices on their ring, the pairs that share secrets, and which devices dropped out when."""

import numpy as np
import numpy.typing as npt
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from maskedbandit.lab.rehearsal.demo import Round

HERE, EDGE = "#0072B2", "#8FA9BF"
LOST = ("#000000", "#D55E00", "#E69F00", "#CC79A7", "#009E73")  # before each phase
DEPTH = 0.62  # how far the edges of a sparse graph bend to the middle


def drawn(round: Round) -> Figure:
    """Devices in the order of the ring; edges between those that sent keys, coloured where one end was lost."""
    plan, leaves, ring = round.plan, round.leaves, round.ring
    angle = dict(zip(ring.order, np.pi / 2 - 2 * np.pi * np.arange(plan.n) / plan.n, strict=True))
    edges: dict[str, list[npt.NDArray[np.float64]]] = {}
    pairs = [(user, other) for user in ring.order for other in ring.around(user) if user < other]
    for user, other in pairs:
        first = min(leaves.get(user, len(LOST)), leaves.get(other, len(LOST)))
        if first > 0:  # no device shares secrets with one that sent no keys
            colour = LOST[first] if first < len(LOST) else EDGE
            edges.setdefault(colour, []).append(bent(angle[user], angle[other], plan.neighbours, plan.n))
    figure = Figure(figsize=(8.6, 7.2), layout="constrained")
    plot = figure.subplots()
    crowded = min(1.0, 40 / sum(map(len, edges.values())) ** 0.5)
    for colour, lines in sorted(edges.items(), key=lambda item: item[0] != EDGE):
        look = {"linewidths": 0.3 + 0.5 * crowded, "alpha": crowded * (0.35 if colour == EDGE else 0.5)}
        plot.add_collection(LineCollection(lines, colors=colour, rasterized=True, **look))
    size, after = max(2.2, min(8.0, 110 / plan.n**0.5)), len(round.aggregate.phases)
    groups = [(after, "stayed to the end", HERE)]
    for phase, each in enumerate(round.aggregate.phases):
        groups.append((phase, f"lost before the {each.name}" + (": in the sum" if phase > 2 else ""), LOST[phase]))
    for phase, label, colour in groups:
        there = np.array([angle[user] for user in ring.order if leaves.get(user, after) == phase])
        if there.size:
            look = {"markersize": size if phase == after else 1.5 * size, "zorder": 3 if phase == after else 4}
            plot.plot(np.cos(there), np.sin(there), "o", color=colour, markeredgewidth=0, **look)
            plot.plot([], [], "o", color=colour, markersize=6, label=f"{there.size:,} {label}")
    plot.set(xlim=(-1.06, 1.06), ylim=(-1.06, 1.06), aspect="equal")
    plot.axis("off")
    complete = plan.neighbours == plan.n - 1
    graph = "each with all others" if complete else f"each with {plan.neighbours} neighbours"
    plot.set_title(
        f"Secure aggregation: {plan.n:,} devices share secrets, {graph}; any {plan.threshold} of them can rebuild one\n"
        f"{len(round.aggregate.survivors):,} values are in the sum; with {plan.least - 1:,} it would not be opened",
        fontsize="medium",
    )
    hollow = 3 * plan.neighbours < plan.n  # then the middle is free
    position = (
        {"loc": "center", "bbox_to_anchor": (0.5, 0.47)} if hollow else {"loc": "outside lower center", "ncols": 2}
    )
    figure.legend(frameon=False, **position)
    return figure


def bent(a: float, b: float, neighbours: int, n: int) -> npt.NDArray[np.float64]:
    """A curve between two angles of the ring: a chord on the complete graph; on a sparse graph it bends inwards."""
    ends = np.exp(1j * np.array([a, b]))
    if neighbours == n - 1:
        curve = ends
    else:
        apart = abs((a - b + np.pi) % (2 * np.pi) - np.pi)
        middle = ends.sum() / abs(ends.sum()) * (1 - DEPTH * apart / (np.pi * neighbours / n))
        t = np.linspace(0, 1, 13)
        curve = (1 - t) ** 2 * ends[0] + 2 * t * (1 - t) * middle + t**2 * ends[1]
    return np.column_stack([curve.real, curve.imag])
