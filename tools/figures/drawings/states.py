"""The states of a study, and the moves between them."""

from typing import NamedTuple

from tools.figures.drawings.card import CARD_WIDTH, LEADING, MARGIN, Card


class Box(NamedTuple):
    """A state, and what holds in it."""

    left: float
    top: float
    says: str


WIDE, HIGH = 132, 98
LEFT, MIDDLE, RIGHT = MARGIN, (CARD_WIDTH - WIDE) / 2, CARD_WIDTH - MARGIN - WIDE
UPPER, LOWER = 52, 240
STATES = {
    "draft": Box(LEFT, UPPER, "may be changed, and deleted"),
    "running": Box(MIDDLE, UPPER, "people get places"),
    "paused": Box(RIGHT, UPPER, "nobody gets a place"),
    "stopped": Box(MIDDLE, LOWER, "nobody gets a place any more"),
    "archived": Box(LEFT, LOWER, "all people's data is erased"),
}
MOVES = {  # from a state to another: what is asked for, how far the arrow is beside the middles, where its word stands
    ("draft", "running"): ("start", (0, 0), (0, -10)),
    ("running", "paused"): ("pause", (0, -18), (0, -10)),
    ("paused", "running"): ("resume", (0, 18), (0, 20)),
    ("running", "stopped"): ("stop", (0, 0), (-24, 5)),
    ("paused", "stopped"): ("stop", (0, 0), (32, 8)),
    ("stopped", "archived"): ("archive", (0, 0), (0, -10)),
}
NOTES = (
    "Where there is an officer of privacy, a draft starts only after the officer has approved it.",
    "A study is paused by itself when all of its arms were found harmful.",
    "A study that is running or paused is shown as finished once it gives nobody a place any more.",
)
ABOUT = "Five boxes: " + "; ".join(f"{name}: {each.says}" for name, each in STATES.items()) + ". Arrows: "
ABOUT += "; ".join(f"{verb}, from {before} to {after}" for (before, after), (verb, _, _) in MOVES.items()) + ". "
ABOUT += " ".join(NOTES)


def draw_states() -> str:
    """The drawing."""
    on = Card()
    on.text("soft", LEFT, UPPER - 18, "Each move is an entry of the study's ledger.")
    for name, box in STATES.items():
        on.rect("closed" if name in ("running", "paused") else "plain", box.left, box.top, WIDE, HIGH)
        on.text("name", box.left + 12, box.top + 26, name)
        on.write("does", box.left + 12, box.top + 26 + LEADING, box.says, WIDE - 14)
    for (before, after), (verb, beside, word) in MOVES.items():
        x, y, to_x, to_y = find_ends(STATES[before], STATES[after], beside)
        on.point(x, y, to_x, to_y, f"{before} → {after}")
        on.text("soft middle", (x + to_x) / 2 + word[0], (y + to_y) / 2 + word[1], verb)
    y = LOWER + HIGH + 34.0
    for note in NOTES:
        y = on.write("soft", LEFT, y, note, CARD_WIDTH - 2 * MARGIN) + 4
    on.height = y - LEADING
    return on.finish("states", "The states of a study", ABOUT)


def find_ends(start: Box, end: Box, beside: tuple[float, float]) -> tuple[float, float, float, float]:
    """Where an arrow leaves one box and meets another: at the sides, or at the bottom and the top."""
    right, down = (end.left > start.left) - (end.left < start.left), end.top > start.top
    if down:
        x = start.left + WIDE / 2
        return x, start.top + HIGH, end.left + WIDE * (0.5 + 0.35 * -right), end.top
    y = start.top + HIGH / 2 + beside[1]
    return start.left + WIDE * (right > 0), y, end.left + WIDE * (right < 0), y
