"""Pictures with a row for each name: a dot with bands, or a bar. Names are whole, however long they are."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from maskedbandit.drawing import LINE, Drawing, measure_text, round_ticks, wrap_text
from maskedbandit.theory.sequences import Interval
from maskedbandit.words import say_decimal, say_fixed

BESIDE, NUMBER = 150, 116  # the widths of the columns of names and of numbers


class RowName(NamedTuple):
    """What a row is called; `kind` is a class of the style sheet, for what is to be told apart from the others."""

    text: str
    kind: str = ""


class RowPlace(NamedTuple):
    """Where a row is: the lines of its name, the base line of the first, and the middle of its shape."""

    lines: list[str]
    base: float
    middle: float


class RowPlaces(NamedTuple):
    """Where the rows of a picture are, and between which ends their shapes are drawn."""

    left: float
    right: float
    top: float
    bottom: float
    rows: list[RowPlace]


def place_rows(on: Drawing, names: Sequence[RowName]) -> RowPlaces:
    """Names stand beside the shapes, with the numbers on the other side, if all of them fit; or else above."""
    beside, top, rows = (
        not on.narrow and all(measure_text(each.text) <= BESIDE for each in names),
        6.0,
        list[RowPlace](),
    )
    y = top
    for name in names:
        if beside:
            rows.append(RowPlace([name.text], y + 21, y + 17))
            y += 34
        else:
            lines = wrap_text(name.text, on.width - NUMBER)
            rows.append(RowPlace(lines, y + 13, y + LINE * len(lines) + 12))
            y += LINE * len(lines) + 28
    left, right = (BESIDE + 8, on.width - NUMBER) if beside else (8, on.width - 16)
    return RowPlaces(left, right, top, y, rows)


def write_row(on: Drawing, name: RowName, place: RowPlace, number: str) -> None:
    """The name of a row, and its number at the end of the same line."""
    on.lines(f"label {name.kind}".strip(), 0, place.base, place.lines)
    on.text("value end", on.width, place.base, number)


class Band(NamedTuple):
    """A row of a picture, in units of the outcome; without `outer` nothing is known."""

    name: RowName
    dot: float
    outer: Interval | None
    inner: Interval | None = None


def draw_bands(rows: Sequence[Band]) -> Callable[[Drawing], None]:
    """A row for each name, the first on top: a dot, and one or two bands around it."""
    ends = [end for row in rows if row.outer for end in (row.dot, *row.outer)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)

    def draw(on: Drawing) -> None:
        places = place_rows(on, [row.name for row in rows])
        left, right, bottom = places.left, places.right, places.bottom

        def x(value: float) -> float:
            return left + (value - low) / (high - low) * (right - left)

        for tick in round_ticks(low, high, 4 if on.narrow else 8):
            on.line("zero" if tick == 0 and low < 0 else "grid", x(tick), places.top, x(tick), bottom)
            on.text("middle", x(tick), bottom + 17, say_decimal(tick, 4))
        for row, place in zip(rows, places.rows, strict=True):
            if row.outer is None:
                write_row(on, row.name, place, "")
                on.text("quiet", left, place.middle + 4, "nothing released yet")
                continue
            half, hint, y = row.outer.width / 2, f"{row.name.text}: {say_decimal(row.dot)}", place.middle
            number = f"{say_fixed(row.outer.low, half)} to {say_fixed(row.outer.high, half)}"
            write_row(on, row.name, place, number)
            for kind, band in (("outer", row.outer), ("inner", row.inner)):
                if band is not None:
                    on.rect(kind, x(band.low), y - 4, x(band.high) - x(band.low), 8, hint)
            on.dot("mean", x(row.dot), y, 5, hint)
        on.height = bottom + 24

    return draw


def tell_bands(rows: Sequence[Band]) -> str:
    """The same rows in words."""
    known = [(row, row.outer) for row in rows if row.outer]
    said = [
        f"{row.name.text} {say_decimal(row.dot)}, from {say_decimal(band.low)} to {say_decimal(band.high)}"
        for row, band in known
    ]
    return "; ".join(said) or "Nothing was released."


class Bar(NamedTuple):
    """A row of a picture: the part of the full length, and its number in words."""

    name: RowName
    part: float
    number: str


def draw_bars(rows: Sequence[Bar]) -> Callable[[Drawing], None]:
    """A bar for each row."""

    def draw(on: Drawing) -> None:
        places = place_rows(on, [row.name for row in rows])
        for row, place in zip(rows, places.rows, strict=True):
            write_row(on, row.name, place, row.number)
            wide, y = places.right - places.left, place.middle - 8
            on.rect("track", places.left, y, wide, 16)
            on.rect("bar", places.left, y, row.part * wide, 16)
        on.height = places.bottom + 4

    return draw


def tell_bars(rows: Sequence[Bar]) -> str:
    """The same rows in words."""
    return "; ".join(f"{row.name.text}: {row.number}" for row in rows)
