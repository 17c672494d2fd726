"""All trust models: who sees outcomes, and where outcomes end."""

from maskedbandit.statement.trust_picture import STATIONS, Station
from tools.figures.drawings.card import CARD_WIDTH, LEADING, MARGIN, Card

PROTECTS = {  # in the order of the drawing: who is trusted less and less
    "none": "Nobody is protected.",
    "central": "The server sees every outcome, and adds the noise.",
    "shuffled": "A shuffler hides who sent what; devices add the noise.",
    "distributed": "The server sees the sum of a cohort; devices add the noise.",
    "sites": "Each site sees its own people's outcomes; all add the noise.",
    "two servers": "Neither server alone sees an outcome; each adds noise.",
    "local": "Nobody else sees an outcome; the device adds the noise.",
}
WIDE, HIGH = 110, 34  # of a box
COLUMNS = 4
STEP = (CARD_WIDTH - 2 * MARGIN - WIDE) / (COLUMNS - 1)
ABOUT = "One row for each trust model, in which an outcome goes from left to right. " + " ".join(
    f"{trust}: {says} The way: {', '.join(each.name.lower() for each in STATIONS[trust])}."
    for trust, says in PROTECTS.items()
)


def draw_trust() -> str:
    """The drawing."""
    on, y = Card(), MARGIN + 4.0
    y = write_legend(on, y)
    for trust, says in PROTECTS.items():
        on.text("name", MARGIN, y + 14, trust)
        on.write("does", MARGIN, y + 14 + LEADING, says, CARD_WIDTH - 2 * MARGIN)
        y += 24 + LEADING
        draw_way(on, y, STATIONS[trust])
        y += HIGH + 26
    on.height = y - 26
    return on.finish("trust", "Trust models: who sees outcomes, and where outcomes end", ABOUT)


def write_legend(on: Card, y: float) -> float:
    """What the colours mean; where the rows begin."""
    on.rect("open", MARGIN, y, 18, 18)
    on.text("soft", MARGIN + 26, y + 14, "sees whose outcome is what")
    on.rect("closed", MARGIN + 252, y, 18, 18)
    on.text("soft", MARGIN + 278, y + 14, "does not")
    on.line("border", MARGIN + 358, y - 2, MARGIN + 358, y + 20)
    on.text("soft", MARGIN + 370, y + 14, "outcomes end here")
    return y + 44


def draw_way(on: Card, y: float, stations: tuple[Station, ...]) -> None:
    """Through whose hands an outcome goes; everybody stands at the right end."""
    places = [MARGIN + STEP * i for i in range(len(stations) - 1)] + [MARGIN + STEP * (COLUMNS - 1)]
    for i, (x, each) in enumerate(zip(places, stations, strict=True)):
        on.rect("open" if each.trusted else "closed", x, y, WIDE, HIGH)
        on.text("middle", x + WIDE / 2, y + 22, each.name)
        if i + 1 < len(stations):
            on.point(x + WIDE, y + HIGH / 2, places[i + 1], y + HIGH / 2, each.sends)
            if each.trusted and not stations[i + 1].trusted:
                on.line("border", x + WIDE + 14, y - 3, x + WIDE + 14, y + HIGH + 6)
