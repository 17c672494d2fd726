"""A drawing as SVG: shapes and words with a class, whose colours and sizes the style sheet gives.

A picture is drawn twice, wide and narrow, and the style sheet shows the one that fits, so words keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from markupsafe import Markup, escape

WIDE, NARROW = 720, 328
LABEL, LINE = 13, 17  # the size of the letters of a label, and the height of its line


def draw_picture(name: str, title: str, about: str, draw: Callable[[Drawing], None]) -> Markup:
    """Both drawings of a picture, with a name that no other picture of the page has."""
    found = []
    for width, kind in ((WIDE, "wide"), (NARROW, "narrow")):
        drawing = Drawing(width)
        draw(drawing)
        found.append(drawing.svg(f"{name}-{kind}", kind, title, about))
    return Markup("").join(found)


class Drawing:
    """What was drawn so far; y grows downwards, to `height`."""

    def __init__(self, width: int) -> None:
        self.width, self.height, self._parts = width, 0.0, list[Markup]()

    @property
    def narrow(self) -> bool:
        """Whether it is the one for a telephone."""
        return self.width == NARROW

    def rect(self, kind: str, x: float, y: float, width: float, height: float, hint: str = "") -> None:
        """A rectangle; the hint is shown where the mouse rests."""
        shape = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
        self._add("rect", kind, shape, hint)

    def line(self, kind: str, x: float, y: float, to_x: float, to_y: float, hint: str = "") -> None:
        """A line."""
        self._add("line", kind, f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"', hint)

    def dot(self, kind: str, x: float, y: float, radius: float, hint: str = "") -> None:
        """A dot."""
        self._add("circle", kind, f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"', hint)

    def arrow(self, kind: str, x: float, y: float, hint: str = "") -> None:
        """A small triangle that points down, at its tip."""
        self._add("path", kind, f'd="M{x:.1f} {y:.1f}l-4 -7h8z"', hint)

    def arrow_right(self, kind: str, x: float, y: float) -> None:
        """The same, to the right."""
        self._add("path", kind, f'd="M{x:.1f} {y:.1f}l-7 -4v8z"', "")

    def text(self, kind: str, x: float, y: float, text: str) -> None:
        """Words, at the left end of their base line unless the class says otherwise."""
        self._parts.append(Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(kind, x, y, text))

    def lines(self, kind: str, x: float, y: float, lines: Sequence[str]) -> None:
        """Words in several lines, of which this is the base line of the first."""
        for i, line in enumerate(lines):
            self.text(kind, x, y + i * LINE, line)

    @contextmanager
    def group(self, kind: str) -> Iterator[None]:
        """Shapes that belong together."""
        self._parts.append(Markup('<g class="{}">').format(kind))
        yield
        self._parts.append(Markup("</g>"))

    def svg(self, name: str, kind: str, title: str, about: str) -> Markup:
        """The element."""
        start = Markup(
            '<svg class="{}" role="img" aria-labelledby="{}-title {}-about" viewBox="0 0 {} {:.0f}" '
            'xmlns="http://www.w3.org/2000/svg"><title id="{}-title">{}</title><desc id="{}-about">{}</desc>'
        ).format(kind, name, name, self.width, self.height, name, title, name, about)
        return start + Markup("").join(self._parts) + Markup("</svg>")

    def _add(self, shape: str, kind: str, where: str, hint: str) -> None:
        inside = Markup("<title>{}</title>").format(hint) if hint else ""
        self._parts.append(Markup(f'<{shape} class="{escape(kind)}" {where}>{inside}</{shape}>'))


def measure_text(text: str) -> float:
    """How wide a label is at most, in the widest of the usual fonts.

    >>> measure_text("WWW") > measure_text("nnn") > measure_text("iii")
    True
    """

    def wide(letter: str) -> float:
        if letter in "MW@%mw…":
            return 1.0
        if letter in "ijltfr.,:;|!'()- ":
            return 0.42
        return 0.78 if letter.isupper() else 0.65 if letter.isascii() else 1.0

    return LABEL * sum(map(wide, text))


def wrap_text(text: str, width: float) -> list[str]:
    """The lines of a label that is not to be wider than this; they end where names have a joint, if there is one.

    >>> wrap_text("a-long-name-of-an-arm", 100), wrap_text("abcdefghijklmnopqrstuvw", 100)
    (['a-long-name-', 'of-an-arm'], ['abcdefghijkl', 'mnopqrstuvw'])
    """
    lines = list[str]()
    while measure_text(text) > width and len(text) > 1:
        fits = max([1, *(i for i in range(1, len(text)) if measure_text(text[:i]) <= width)])
        joint = max(text.rfind(each, 0, fits) + 1 for each in "-._ ")
        cut = joint if joint > fits // 2 else fits
        lines.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*lines, text]


def round_ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers from low to high, about so many.

    >>> round_ticks(0, 1, 5), round_ticks(-0.1, 0.32, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [-0.1, 0.0, 0.1, 0.2, 0.3])
    """
    rough = (high - low) / about
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * each for each in (1, 2, 5, 10) if size * each >= rough * 0.75)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(each * step, 12) + 0.0 for each in range(first, last + 1)]


def round_times(start: int, end: int, about: int) -> list[tuple[int, str]]:
    """Round times from start to end, in milliseconds, about so many, and their names; the time zone is UTC.

    >>> round_times(0, 7_200_000, 4)
    [(0, '00:00'), (1800000, '00:30'), (3600000, '01:00'), (5400000, '01:30'), (7200000, '02:00')]
    """
    seconds = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200]
    seconds += [86_400 * days for days in (1, 2, 4, 7, 14, 28, 56, 112, 224, 448, 896)]
    step = next((each * 1000 for each in seconds if (end - start) <= each * 1000 * about), seconds[-1] * 1000)
    usual = "%H:%M:%S" if step < 60_000 else "%H:%M"
    days = step >= 86_400_000 or end - start > 86_400_000  # whether midnight is named by its day
    return [
        (at, datetime.fromtimestamp(at / 1000, UTC).strftime("%-d %b" if days and at % 86_400_000 == 0 else usual))
        for at in range(-(-start // step) * step, end + 1, step)
    ]
