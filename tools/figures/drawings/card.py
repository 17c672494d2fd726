"""A drawing on a card of its own: it can be read on light and dark pages, and on a phone, where it shrinks."""

import math

from maskedbandit.drawing import LABEL, Drawing, measure_text

CARD_WIDTH, MARGIN = 560, 16
LETTERS, LEADING = 15, 20  # the size of the letters, and the height of a line
HEAD = 7  # the length of the head of an arrow
LIGHT = {"card": "#fdfcfa", "text": "#1c1b19", "soft": "#5d5a54", "rule": "#d9d5cd"}
LIGHT |= {"open": "#fbe3d3", "open-edge": "#b4581c", "closed": "#d7e6f2", "closed-edge": "#2f6f9f"}
DARK = {"card": "#15171a", "text": "#eceae6", "soft": "#b4b0a8", "rule": "#3a3d42"}
DARK |= {"open": "#55301a", "open-edge": "#d98a55", "closed": "#1f3d56", "closed-edge": "#6aa7d6"}
STYLE = """\
text { font: 15px system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: var(--text); }
.name { font-weight: 650; }
.soft { fill: var(--soft); }
.middle { text-anchor: middle; }
.card { fill: var(--card); stroke: var(--rule); }
.open { fill: var(--open); stroke: var(--open-edge); }
.closed { fill: var(--closed); stroke: var(--closed-edge); }
.plain { fill: none; stroke: var(--soft); }
.way { stroke: var(--text); stroke-width: 1.5; }
.head, .step { fill: var(--text); }
.border { stroke: var(--open-edge); stroke-width: 2; stroke-dasharray: 6 4; }
.window { stroke: var(--closed-edge); stroke-width: 8; }
"""


def say_colours(colours: dict[str, str]) -> str:
    """The colours as a rule of a style sheet."""
    return f"svg {{ {' '.join(f'--{name}: {colour};' for name, colour in colours.items())} }}"


class Card(Drawing):
    """What was drawn so far, with words in lines, and arrows."""

    def __init__(self) -> None:
        super().__init__(CARD_WIDTH)

    def write(self, kind: str, x: float, y: float, text: str, width: float) -> float:
        """Words in lines no wider than this, from this base line on; where the next line would be."""
        for line in wrap_words(text, width):
            self.text(kind, x, y, line)
            y += LEADING
        return y

    def point(self, x: float, y: float, to_x: float, to_y: float, says: str = "") -> None:
        """An arrow, and what it says where the mouse rests."""
        angle = math.atan2(to_y - y, to_x - x)
        self.line("way", x, y, to_x - HEAD * math.cos(angle), to_y - HEAD * math.sin(angle), says)
        corners = [(0, 0), (-HEAD - 1, -4), (-HEAD - 1, 4)]
        turned = [
            (to_x + a * math.cos(angle) - b * math.sin(angle), to_y + a * math.sin(angle) + b * math.cos(angle))
            for a, b in corners
        ]
        self._add("polygon", "head", f'points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in turned)}"', "")

    def finish(self, name: str, title: str, about: str) -> str:
        """The file, with words about the drawing for whoever cannot see it."""
        self.height += MARGIN
        ground = Drawing(CARD_WIDTH)
        ground.rect("card", 0.5, 0.5, CARD_WIDTH - 1, self.height - 1)
        self._parts[:0] = ground._parts
        size = f'width="{CARD_WIDTH}" height="{self.height:.0f}" viewBox="0 0 {CARD_WIDTH} {self.height:.0f}"'
        dark = f"@media (prefers-color-scheme: dark) {{ {say_colours(DARK)} }}"
        style = f"<style>\n{say_colours(LIGHT)}\n{dark}\n{STYLE}</style>"
        inside = str(self.svg(name, "drawing", title, about)).replace("><", ">\n<")
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{style}\n{inside}\n</svg>\n'


def wrap_words(text: str, width: float) -> list[str]:
    """The lines of words that are not to be wider than this."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and measure_text(longer) * LETTERS / LABEL > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
