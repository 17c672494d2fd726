"""The picture of two operators, who sees what: `python -m tools.figures.two_operators FILE` draws it."""

import sys

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from tools.figures.saved import save

INK, SEALED, NOISY, OUTSIDE = "#222222", "#0072B2", "#D55E00", "#777777"
BOXES = (  # left end, bottom, width, height, title, what it has
    (
        -0.2,
        2.1,
        2.9,
        2.2,
        "a person's device",
        "the outcome x\nits book: what was sent, when\nboth operators' pinned keys",
    ),
    (
        5.0,
        3.4,
        3.3,
        2.0,
        "leader, who runs the study",
        "people, arms, times of contact\none share of each x: uniform\nits own draw of noise",
    ),
    (
        5.0,
        0.2,
        3.3,
        2.0,
        "helper",
        "places of cohorts, no people\nthe other share of each x: uniform\nits own draw of noise",
    ),
    (9.9, 3.4, 2.3, 2.0, "everybody", "sum of x of a cohort\n+ noise of the leader\n+ noise of the helper"),
)
ARROWS = (  # from, to, colour, words, where they stand
    ((2.7, 3.4), (5.0, 4.3), SEALED, "one report: two shares,\neach sealed for one operator", (3.1, 4.75)),
    ((6.0, 3.4), (6.0, 2.2), SEALED, "the helper's sealed shares,\nwhat the proofs show", (4.45, 2.8)),
    ((7.4, 2.2), (7.4, 3.4), NOISY, "the helper's total,\nnoisy and signed", (8.45, 2.8)),
    ((8.3, 4.4), (9.9, 4.4), NOISY, "release", (9.1, 4.62)),
)


def draw_box(plot: Axes, left: float, bottom: float, width: float, height: float, title: str, has: str) -> None:
    """A party, and what it has."""
    shape = FancyBboxPatch((left, bottom), width, height, boxstyle="round,pad=0,rounding_size=0.12", fc="white", ec=INK)
    plot.add_patch(shape)
    plot.text(left + width / 2, bottom + height - 0.35, title, ha="center", va="center", color=INK, weight="bold")
    plot.text(left + width / 2, bottom + height / 2 - 0.28, has, ha="center", va="center", color=INK, size="small")


def draw_two_operators() -> Figure:
    """Who sends what to whom, and what each of them sees."""
    figure = Figure(figsize=(10, 4.7), layout="constrained")
    plot = figure.subplots()
    plot.set(xlim=(-0.4, 12.4), ylim=(-0.75, 5.7), aspect="equal")
    plot.axis("off")
    for box in BOXES:
        draw_box(plot, *box)
    for start, end, colour, words, at in ARROWS:
        plot.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0})
        plot.text(*at, words, ha="center", va="center", color=colour, size="small")
    below = (
        "One operator alone, whatever it does, learns of x what one draw of noise lets through: ε.  "
        "Both together learn x."
    )
    plot.text(6, -0.45, below, ha="center", va="center", color=OUTSIDE)
    return figure


if __name__ == "__main__":
    save(draw_two_operators, sys.argv[1])
