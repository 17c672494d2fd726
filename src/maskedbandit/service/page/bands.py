"""A picture with a row for each name: a dot, and one or two bands around it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from maskedbandit.drawing import Drawing, ticks
from maskedbandit.theory.sequences import Interval
from maskedbandit.words import decimal, fixed


class Row(NamedTuple):
    """A row, in units of the outcome; without `outer` nothing is known."""

    name: str
    dot: float
    outer: Interval | None
    inner: Interval | None = None


def bands(rows: Sequence[Row], short: Callable[[str, Drawing], str]) -> Callable[[Drawing], None]:
    """What draws the rows, the first on top."""
    ends = [end for row in rows if row.outer for end in (row.dot, *row.outer)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)

    def draw(on: Drawing) -> None:
        tall, label = (44, 0) if on.narrow else (34, 150)
        left, right, top = label + 8, on.width - (16 if on.narrow else 116), 6
        bottom = top + tall * len(rows)

        def x(value: float) -> float:
            return left + (value - low) / (high - low) * (right - left)

        for tick in ticks(low, high, 4 if on.narrow else 8):
            on.line("zero" if tick == 0 and low < 0 else "grid", x(tick), top, x(tick), bottom)
            on.text("middle", x(tick), bottom + 17, decimal(tick, 4))
        for i, row in enumerate(rows):
            y = top + tall * i + (tall - 11 if on.narrow else tall / 2)
            on.text("label", 0, y - 13 if on.narrow else y + 4, short(row.name, on))
            if row.outer is None:
                on.text("quiet", left, y + 4, "nothing released yet")
                continue
            half, hint = row.outer.width / 2, f"{row.name}: {decimal(row.dot)}"
            number = f"{fixed(row.outer.low, half)} to {fixed(row.outer.high, half)}"
            on.text("value end", on.width, y - 13 if on.narrow else y + 4, number)
            for kind, band in (("outer", row.outer), ("inner", row.inner)):
                if band is not None:
                    on.rect(kind, x(band.low), y - 4, x(band.high) - x(band.low), 8, hint)
            on.dot("mean", x(row.dot), y, 5, hint)
        on.height = bottom + 24

    return draw


def told(rows: Sequence[Row]) -> str:
    """The same in words."""
    known = [(row, row.outer) for row in rows if row.outer]
    said = [f"{row.name} {decimal(row.dot)}, from {decimal(band.low)} to {decimal(band.high)}" for row, band in known]
    return "; ".join(said) or "Nothing was released."
