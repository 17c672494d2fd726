"""The pictures of a study."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from maskedbandit.drawing import LINE, Drawing, draw_picture, measure_text, round_ticks, round_times, wrap_text
from maskedbandit.service.page.arm_order import OUT_OF_PLAY, order_arms, say_arm
from maskedbandit.service.page.row_pictures import Band, Bar, RowName, draw_bands, draw_bars, tell_bands, tell_bars
from maskedbandit.service.page.tables import group_arms, name_delays
from maskedbandit.service.views.view import ArmView, StudyView
from maskedbandit.theory.sequences import Interval
from maskedbandit.words import say_count, say_duration, say_percent, say_things
from maskedbandit.words import say_epsilon as as_text

MOST_DRAWN = 40  # arms, at most


def choose_arms(view: StudyView, order: Sequence[int]) -> list[ArmView]:
    """The arms that are drawn, in this order; if there are many, those in play with the highest means."""
    if len(order) <= MOST_DRAWN:
        return [view.arms[arm] for arm in order]
    drawn = set(order_arms(view, "mean")[:MOST_DRAWN])
    return [view.arms[arm] for arm in order if arm in drawn]


def name_row(arm: ArmView) -> RowName:
    """What the row of an arm is called, and that it is out of play."""
    return RowName(say_arm(arm), arm.stands if arm.stands in OUT_OF_PLAY else "")


def choose_colours(view: StudyView) -> list[tuple[str, str, tuple[int, ...]]]:
    """The class, the name and the arms of each colour; the others have none of their own."""
    found = [(f"c{i}", name, arms) for i, (name, arms) in enumerate(group_arms(view))]
    return found if len(found[-1][2]) == 1 else [*found[:-1], ("rest", *found[-1][1:])]


def draw_estimates(view: StudyView, order: Sequence[int]) -> Markup:
    """A row for each arm: the released mean, the band of the people, and the band of the people and the noise."""
    rows, scale = list[Band](), view.protocol.reward.in_units
    for arm in choose_arms(view, order):
        if (each := arm.estimate) is None:
            rows.append(Band(name_row(arm), 0.0, None))
        else:
            outer, inner = (Interval(*map(scale, band)) for band in (each.outer, each.inner))
            rows.append(Band(name_row(arm), scale(each.mean), outer, inner))
    return draw_picture(
        "estimates", "Estimated outcome of each arm, with two bands", tell_bands(rows), draw_bands(rows)
    )


def draw_differences(view: StudyView, order: Sequence[int]) -> Markup:
    """A row for each arm that was compared with the control, or the first arm, over the same people."""
    units = view.protocol.reward.width
    rows = [
        Band(name_row(arm), units * arm.more.mean, Interval(*(units * end for end in arm.more.interval)))
        for arm in (view.arms[each] for each in order)
        if arm.more
    ]
    return draw_picture(
        "differences", f"What each arm has more than {view.base.name}", tell_bands(rows), draw_bands(rows)
    )


def draw_audit(part: Mapping[str, Any], number: int) -> Markup:
    """The ε that is promised, the one found, and those of broken twins; an infinite one is as long as the longest."""
    named = [("promised", part["promised"]["epsilon"]), ("found", part["lower_bound"])]
    named += [(each["twin"], each["lower_bound"]) for each in part["controls"]]
    longest = max(epsilon for _, epsilon in named if epsilon is not None)
    rows = [
        Bar(RowName(name), (longest if epsilon is None else epsilon) / (longest or 1), as_text(epsilon))
        for name, epsilon in named
    ]
    title = "The ε that is promised, and what was found"
    return draw_picture(f"audit-{number}", title, tell_bars(rows), draw_bars(rows))


def draw_confidences(view: StudyView, order: Sequence[int]) -> Markup:
    """A bar for each arm in play: how surely another one is better."""
    rows = [
        Bar(name_row(arm), arm.confidence.beaten, say_percent(arm.confidence.beaten))
        for arm in (view.arms[each] for each in order)
        if arm.confidence
    ]
    return draw_picture("beaten", "How surely another arm is better than each", tell_bars(rows), draw_bars(rows))


def draw_delays(view: StudyView) -> Markup:
    """A bar for each length of time."""
    found = list(zip(name_delays(), view.counts.delays, strict=True))
    while len(found) > 1 and found[-1][1] == 0:
        found.pop()
    most = max(people for _, people in found) or 1
    rows = [Bar(RowName(name), people / most, say_count(people)) for name, people in found]
    return draw_picture("delays", "How long it took until people saw their arm", tell_bars(rows), draw_bars(rows))


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
    columns, step, parts, after = view.counts.columns, view.counts.step, choose_colours(view), say_later(view)

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
        start, right = columns[0].at, on.width - 8
        for x in sorted({round((left + (each.at - start) / step * wide) * 2) / 2 for each in view.releases}):
            if left <= x <= right:
                on.line("mark", x, top, x, bottom)
                on.arrow("tip", x, top, "a release")
        if after:
            on.arrow_right("tip", right + 8, top - 4)
        draw_legend(on, parts, after, bottom + 40)

    title = "Share of each arm among the people who came, over time"
    whole = max(sum(view.counts.dealt), 1)
    about = "; ".join(
        f"{name} {say_percent(sum(view.counts.dealt[arm] for arm in arms) / whole)} of all" for _, name, arms in parts
    )
    about += f"; {after}" if after else ""
    return draw_picture("allocation", title, about, draw)


def say_later(view: StudyView) -> str:
    """Say which releases came after the last place was given, to the right of the picture; empty if none did."""
    end = view.counts.columns[-1].at + view.counts.step
    later = [each.at for each in view.releases if each.at > end]
    if not later:
        return ""
    until = datetime.fromtimestamp(max(later) / 1000, UTC).strftime("%-d %b %Y, %H:%M UTC")
    return f"{say_things(len(later), 'release')} later, {'at' if len(later) == 1 else 'until'} {until}"


def draw_legend(on: Drawing, parts: list[tuple[str, str, tuple[int, ...]]], after: str, y: float) -> None:
    """What each colour means, and the marks; it ends the drawing."""
    x = 0.0
    for kind, name in [
        *((kind, name) for kind, name, _ in parts),
        ("tip", "a release"),
        *([("after", after)] * bool(after)),
    ]:
        lines = wrap_text(name, on.width - 18)
        wide = 34 + max(map(measure_text, lines))
        if x and x + wide > on.width:
            x, y = 0.0, y + 22
        if kind == "tip":
            on.arrow("tip", x + 6, y - 1)
        elif kind == "after":
            on.arrow_right("tip", x + 10, y - 4)
        else:
            on.rect(f"part {kind}", x, y - 10, 12, 12)
        on.lines("label", x + 18, y, lines)
        y += LINE * (len(lines) - 1)
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
