"""The pictures of a study."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from maskedbandit.drawing import Drawing, draw_picture, round_ticks, round_times
from maskedbandit.service.page.tables import group_arms, name_delays
from maskedbandit.service.views.view import ArmView, StudyView
from maskedbandit.theory.sequences import Interval
from maskedbandit.words import say_count, say_decimal, say_duration, say_fixed, say_percent, say_things
from maskedbandit.words import say_epsilon as as_text

MOST_DRAWN = 30  # arms, at most


def choose_arms(view: StudyView) -> list[ArmView]:
    """The arms that are drawn: those with the highest means, if there are many."""
    if len(view.arms) <= MOST_DRAWN:
        return list(view.arms)
    least = -math.inf
    means = [arm.estimate.mean if arm.estimate else least for arm in view.arms]
    best = sorted(range(len(means)), key=lambda arm: -means[arm])[:MOST_DRAWN]
    return [view.arms[arm] for arm in sorted(best)]


def choose_colours(view: StudyView) -> list[tuple[str, str, tuple[int, ...]]]:
    """The class, the name and the arms of each colour; the others have none of their own."""
    found = [(f"c{i}", name, arms) for i, (name, arms) in enumerate(group_arms(view))]
    return found if len(found[-1][2]) == 1 else [*found[:-1], ("rest", *found[-1][1:])]


def draw_estimates(view: StudyView) -> Markup:
    """A row for each arm: the released mean, the band of the people, and the band of the people and the noise."""
    rows, scale = list[Band](), view.protocol.reward.in_units
    for arm in choose_arms(view):
        if (each := arm.estimate) is None:
            rows.append(Band(arm.name, 0.0, None))
        else:
            outer, inner = (Interval(*map(scale, band)) for band in (each.outer, each.inner))
            rows.append(Band(arm.name, scale(each.mean), outer, inner))
    return draw_picture(
        "estimates", "Estimated outcome of each arm, with two bands", tell_bands(rows), draw_bands(rows)
    )


def draw_differences(view: StudyView) -> Markup:
    """A row for each arm that was compared with the control, or the first arm, over the same people."""
    units = view.protocol.reward.width
    rows = [
        Band(arm.name, units * arm.more.mean, Interval(*(units * end for end in arm.more.interval)))
        for arm in view.arms
        if arm.more
    ]
    return draw_picture(
        "differences", f"What each arm has more than {view.base.name}", tell_bands(rows), draw_bands(rows)
    )


class Band(NamedTuple):
    """A row of a picture, in units of the outcome; without `outer` nothing is known."""

    name: str
    dot: float
    outer: Interval | None
    inner: Interval | None = None


def draw_bands(rows: Sequence[Band]) -> Callable[[Drawing], None]:
    """A row for each name, the first on top: a dot, and one or two bands around it."""
    ends = [end for row in rows if row.outer for end in (row.dot, *row.outer)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)

    def draw(on: Drawing) -> None:
        tall, label = (44, 0) if on.narrow else (34, 150)
        left, right, top = label + 8, on.width - (16 if on.narrow else 116), 6
        bottom = top + tall * len(rows)

        def x(value: float) -> float:
            return left + (value - low) / (high - low) * (right - left)

        for tick in round_ticks(low, high, 4 if on.narrow else 8):
            on.line("zero" if tick == 0 and low < 0 else "grid", x(tick), top, x(tick), bottom)
            on.text("middle", x(tick), bottom + 17, say_decimal(tick, 4))
        for i, row in enumerate(rows):
            y = top + tall * i + (tall - 11 if on.narrow else tall / 2)
            on.text("label", 0, y - 13 if on.narrow else y + 4, shorten_name(row.name, on))
            if row.outer is None:
                on.text("quiet", left, y + 4, "nothing released yet")
                continue
            half, hint = row.outer.width / 2, f"{row.name}: {say_decimal(row.dot)}"
            number = f"{say_fixed(row.outer.low, half)} to {say_fixed(row.outer.high, half)}"
            on.text("value end", on.width, y - 13 if on.narrow else y + 4, number)
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
        f"{row.name} {say_decimal(row.dot)}, from {say_decimal(band.low)} to {say_decimal(band.high)}"
        for row, band in known
    ]
    return "; ".join(said) or "Nothing was released."


def draw_bars(rows: list[tuple[str, float, str]]) -> Callable[[Drawing], None]:
    """A bar for each row: its name, the part of the full length, and its number in words."""

    def draw(on: Drawing) -> None:
        row, left = (42, 0) if on.narrow else (28, 158)
        right = on.width - 84
        for i, (name, part, number) in enumerate(rows):
            y = row * i + (20 if on.narrow else 6)
            on.text("label", 0, y - 6 if on.narrow else y + 12, shorten_name(name, on))
            on.rect("track", left, y, right - left, 16)
            on.rect("bar", left, y, part * (right - left), 16)
            on.text("value", right + 8, y + 12, number)
        on.height = row * len(rows) + 4

    return draw


def draw_audit(part: Mapping[str, Any], number: int) -> Markup:
    """The ε that is promised, found, and found of each broken twin; one that has no end is as long as the longest."""
    named = [("promised", part["promised"]["epsilon"]), ("found", part["lower_bound"])]
    named += [(each["twin"], each["lower_bound"]) for each in part["controls"]]
    longest = max(epsilon for _, epsilon in named if epsilon is not None)
    rows = [
        (name, (longest if epsilon is None else epsilon) / (longest or 1), as_text(epsilon)) for name, epsilon in named
    ]
    said = "; ".join(f"{name}: {text}" for name, _, text in rows)
    return draw_picture(f"audit-{number}", "The ε that is promised, and what was found", said, draw_bars(rows))


def shorten_name(name: str, on: Drawing) -> str:
    """As much of a name as fits."""
    most = 42 if on.narrow else 19
    return name if len(name) <= most else name[: most - 1] + "…"


def draw_confidences(view: StudyView) -> Markup:
    """A bar for each arm in play: how surely another one is better."""
    rows = [(arm.name, arm.confidence.beaten) for arm in view.arms if arm.confidence]
    about = "; ".join(f"{name} {say_percent(sure)}" for name, sure in rows)
    draw = draw_bars([(name, sure, say_percent(sure)) for name, sure in rows])
    return draw_picture("beaten", "How surely another arm is better than each", about, draw)


def draw_delays(view: StudyView) -> Markup:
    """A bar for each length of time."""
    rows = list(zip(name_delays(), view.counts.delays, strict=True))
    while len(rows) > 1 and rows[-1][1] == 0:
        rows.pop()
    most = max(people for _, people in rows) or 1
    draw = draw_bars([(name, people / most, say_count(people)) for name, people in rows])
    about = "; ".join(f"{name}: {say_count(people)}" for name, people in rows)
    return draw_picture("delays", "How long it took until people saw their arm", about, draw)


def draw_time_axis(on: Drawing, view: StudyView, left: float, top: float, bottom: float) -> tuple[float, float]:
    """The axis of time below a picture: where a column begins, and how wide it is."""
    columns, step = view.counts.columns, view.counts.step
    start, end = columns[0].at, columns[-1].at + step
    wide = (on.width - 8 - left) / len(columns)
    for at, name in round_times(start, end, 4 if on.narrow else 7):
        x = left + (at - start) / step * wide
        if x <= on.width - 24:
            on.line("grid", x, bottom, x, bottom + 4)
            on.text("middle", max(x, left + 12), bottom + 18, name)
    return left, wide


def draw_allocation(view: StudyView) -> Markup:
    """Columns over time that are divided as the people were, with a mark for each release."""
    columns, step, parts = view.counts.columns, view.counts.step, choose_colours(view)

    def draw(on: Drawing) -> None:
        left, top, bottom = 48, 22, 182 if on.narrow else 212
        _, wide = draw_time_axis(on, view, left, top, bottom)
        for share in (0, 0.5, 1):
            y = bottom - share * (bottom - top)
            on.line("grid", left, y, on.width - 8, y)
            on.text("end", left - 6, y + 4, f"{share:.0%}")
        for i, column in enumerate(columns):
            total, y = sum(column.arms), float(bottom)
            for kind, name, arms in parts:
                people = sum(column.arms[arm] for arm in arms)
                if people:
                    tall = people / total * (bottom - top)
                    y -= tall
                    on.rect(f"part {kind}", left + i * wide, y, wide + 0.3, tall, f"{name}: {people} of {total}")
                    on.line("split", left + i * wide, y, left + (i + 1) * wide, y)
        start = columns[0].at
        marks = {round((left + (each.at - start) / step * wide) * 2) / 2 for each in view.releases}
        for x in sorted(marks):
            if left <= x <= on.width - 8:
                on.line("mark", x, top, x, bottom)
                on.arrow("tip", x, top, "a release")
        draw_legend(on, parts, bottom + 40)

    title = "Share of each arm among the people who came, over time"
    whole = max(sum(view.counts.dealt), 1)
    about = "; ".join(
        f"{name} {say_percent(sum(view.counts.dealt[arm] for arm in arms) / whole)} of all" for _, name, arms in parts
    )
    return draw_picture("allocation", title, about, draw)


def draw_legend(on: Drawing, parts: list[tuple[str, str, tuple[int, ...]]], y: float) -> None:
    """What each colour means, and the mark; it ends the drawing."""
    x = 0.0
    for kind, name, _ in [*parts, ("", "a release", ())]:
        text = shorten_name(name, on)
        wide = 34 + 7.7 * len(text)
        if x and x + wide > on.width:
            x, y = 0.0, y + 22
        if kind:
            on.rect(f"part {kind}", x, y - 10, 12, 12)
        else:
            on.arrow("tip", x + 6, y - 1)
        on.text("label", x + 18, y, text)
        x += wide
    on.height = y + 10


def draw_arrivals(view: StudyView) -> Markup:
    """Columns over time: how many people came."""
    columns, step = view.counts.columns, view.counts.step
    most = max((sum(column.arms) for column in columns), default=1)

    def draw(on: Drawing) -> None:
        left, top, bottom = 48, 10, 130
        _, wide = draw_time_axis(on, view, left, top, bottom)
        for tick in round_ticks(0, most, 3):
            y = bottom - tick / most * (bottom - top)
            on.line("grid", left, y, on.width - 8, y)
            on.text("end", left - 6, y + 4, say_count(int(tick)) if tick == int(tick) else "")
        for i, column in enumerate(columns):
            tall = sum(column.arms) / most * (bottom - top)
            on.rect("bar", left + i * wide + 0.5, bottom - tall, wide - 1, tall, f"{sum(column.arms)} people")
        on.height = bottom + 24

    about = f"At most {say_things(most, 'person', 'people')} in {say_duration(step)}."
    return draw_picture("arrivals", "People who were given a place, over time", about, draw)
