"""What happens to a person in a live study, from coming to the release."""

from typing import NamedTuple

from tools.figures.drawings.card import CARD_WIDTH, LEADING, MARGIN, Card

LINE_AT, TEXT_AT = MARGIN + 12, 52  # where the line of time is, and where words begin
GAP = 14  # between two steps


class Step(NamedTuple):
    """What happens, and what happens otherwise."""

    name: str
    does: str
    otherwise: str


STEPS = (
    Step(
        "assign",
        "The person gets a place in a cohort, an arm and a secret ticket, and is charged for the privacy it costs.",
        "If the budget is spent, or nobody is asked for: an arm, but no place.",
    ),
    Step(
        "expose",
        "The person sees the arm, and the window of the outcome begins.",
        "If it is not seen in time, the place goes to somebody else.",
    ),
    Step(
        "report",
        "The outcome is stored. Nobody else is told that it came, or what it says.",
        "If none comes, the default counts instead.",
    ),
    Step(
        "window",
        "The window ends, and with it the time to report.",
        "With a grace in the protocol, reports are taken a while longer.",
    ),
    Step(
        "release",
        "When the last window of the cohort is over, the sum of its outcomes is published, with noise, once for ever.",
        "Never earlier because all have reported: that would tell who did.",
    ),
)
WINDOW = ("expose", "window")  # the steps between which an outcome counts
ABOUT = "Five steps, from above to below. " + " ".join(f"{each.name}: {each.does} {each.otherwise}" for each in STEPS)


def draw_life_of_a_person() -> str:
    """The drawing."""
    on, at, y = Card(), dict[str, float](), float(MARGIN)
    for step in STEPS:
        at[step.name] = y + 12
        on.text("name", TEXT_AT, y + 17, step.name)
        y = on.write("does", TEXT_AT, y + 17 + LEADING, step.does, CARD_WIDTH - TEXT_AT - MARGIN)
        y = on.write("soft", TEXT_AT, y, step.otherwise, CARD_WIDTH - TEXT_AT - MARGIN) + GAP - LEADING + 5
    on.line("window", LINE_AT, at[WINDOW[0]], LINE_AT, at[WINDOW[1]])
    on.line("way", LINE_AT, at["assign"], LINE_AT, at["release"])
    for height in at.values():
        on.dot("step", LINE_AT, height, 6)
    on.height = y - GAP + 2
    return on.finish("life-of-a-person", "What happens to a person in a live study", ABOUT)
