"""Figures of replays: points, bars, lines and bands are where the table says, and labels hold what varies."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

from maskedbandit.lab.goals.goal import Labels
from maskedbandit.lab.goals.replay.figure import rates
from maskedbandit.lab.goals.style import COLOURS, THEORY
from tests.for_each import for_each
from tests.lab.goals.replay.test_clicks import FREE, table

WIDE = 12.706204736432095  # Student's distribution of one degree: how many errors an interval of two runs has


def drawn(kind: str, *tables: pl.DataFrame, **words: str) -> Axes:
    (plot,) = rates(pl.concat(tables, how="diagonal"), Labels(**words), kind).axes
    return plot


def points(plot: Axes) -> dict[str, tuple[list[float], list[float], list[float]]]:
    """Places, heights and half widths of every label."""
    found = {}
    for each in plot.containers:
        data, _, (bars,) = each.lines
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        positions = [segment[0, 0] for segment in bars.get_segments()]
        assert positions == pytest.approx(list(data.get_xdata()))
        assert ends.mean(axis=1) == pytest.approx(np.array(data.get_ydata()))
        found[each.get_label()] = (*(list(xs) for xs in data.get_data()), list(np.diff(ends, axis=1)[:, 0] / 2))
    return found


def late(label: str, gains: dict[str, float], **more: Any) -> list[pl.DataFrame]:
    """Two runs for each delay, which are 0.02 apart."""
    return [table(label, [gain - 0.01, gain + 0.01], delay=delay, **more) for delay, gain in gains.items()]


def test_points_are_grouped_by_delay() -> None:
    a, b = late("a", {"0": 1.5, "100": 1.4, "1000": 1.3}), late("b", {"0": 1.2, "1000": 1.1}, recorded=True)
    plot = drawn("delays", *a, *b, title="t", caption="Said.")
    found = points(plot)
    assert list(found) == ["a", "b"]
    assert found["a"][0] == pytest.approx([-0.2, 0.8, 1.8])
    assert found["b"][0] == pytest.approx([0.2, 2.2])
    assert found["a"][1] == pytest.approx([1.5, 1.4, 1.3])
    assert found["b"][1] == pytest.approx([1.2, 1.1])
    assert found["a"][2] == pytest.approx([0.01 * WIDE] * 3)
    assert found["b"][2] == pytest.approx([0.196] * 2)
    assert [tick.get_text() for tick in plot.get_xticklabels()] == ["0", "100", "1000"]
    assert plot.get_xticks().tolist() == [0, 1, 2]
    figure = plot.figure
    assert figure.get_suptitle() == "t"
    assert figure.get_supxlabel() == "Said. Bars are intervals of 95 %."


def test_without_delays_all_points_are_at_none() -> None:
    plot = drawn("delays", table("a", [1.4, 1.6]))
    assert points(plot)["a"][:2] == ([pytest.approx(0)], [pytest.approx(1.5)])
    assert [tick.get_text() for tick in plot.get_xticklabels()] == ["0"]


def levels(plot: Axes) -> list[float]:
    """Heights of grey lines from end to end."""
    lines = [line for line in plot.lines if line.get_color() == THEORY]
    assert all(list(line.get_xdata()) == [0, 1] for line in lines)
    return [float(line.get_ydata()[0]) for line in lines]


def lines(plot: Axes) -> dict[str, tuple[list[float], list[float], np.ndarray]]:
    """Places and heights of every label, as its colour says, and the corners of its band."""
    names = {each.get_color(): each.get_text() for each in plot.texts}
    bands = {tuple(band.get_facecolor()[0][:3]): band.get_paths()[0].vertices for band in plot.collections}
    found = {}
    for line in plot.lines:
        if line.get_color() != THEORY:
            corners = bands[tuple(int(line.get_color()[i : i + 2], 16) / 255 for i in (1, 3, 5))]
            found[names[line.get_color()]] = (list(line.get_xdata()), list(line.get_ydata()), corners)
    return found


def private(label: str, gains: dict[float, float], **more: Any) -> list[pl.DataFrame]:
    pairs = ((epsilon, [gain - 0.01, gain + 0.01]) for epsilon, gain in gains.items())
    return [table(label, gain, loss=epsilon, **{"channel.epsilon": epsilon}, **more) for epsilon, gain in pairs]


def test_lines_are_drawn_against_the_loss_and_without_privacy_level() -> None:
    free, some = table("free", [1.79, 1.81], **FREE), private("some", {2.0: 1.6, 0.5: 1.2})
    plot = drawn("privacy", free, *some)
    found = lines(plot)
    assert plot.get_xscale() == "log"
    assert plot.get_xlim() == (0.5, 2)
    assert found["some"][:2] == ([0.5, 2], pytest.approx([1.2, 1.6]))
    assert found["free"][:2] == ([0.5, 2], pytest.approx([1.8, 1.8]))
    for label, least, most in (("some", 1.2, 1.6), ("free", 1.8, 1.8)):
        below, above = found[label][2].min(axis=0), found[label][2].max(axis=0)
        assert (below[0], above[0]) == (0.5, 2)
        assert below[1] == pytest.approx(least - 0.01 * WIDE)
        assert above[1] == pytest.approx(most + 0.01 * WIDE)
    assert plot.figure.get_supxlabel() == "Bands are intervals of 95 %."
    assert plot.get_xlabel() == "ε of a user (at δ = 1e-06 where it is not pure)"


def test_what_is_not_pure_is_drawn_at_its_loss_at_delta() -> None:
    mixed = [each.with_columns(pl.lit(np.inf).alias("pure_epsilon")) for each in private("mixed", {3.0: 1.1, 6.0: 1.3})]
    both = [each.with_columns(pl.lit(5.0).alias("epsilon_at_1e-06")) for each in private("pure", {1.0: 1.1, 2.0: 1.3})]
    found = lines(drawn("privacy", *mixed, *both))
    assert found["mixed"][0] == [3, 6]
    assert found["pure"][0] == [1, 2]


@for_each("kind", ["delays", "privacy"])
def test_random_choice_is_a_level_line(kind: str) -> None:
    assert levels(drawn(kind, *private("some", {2.0: 1.6, 0.5: 1.2}))) == [1]


def test_labels_hold_what_varies_under_them_and_nothing_else() -> None:
    a = [table("a", [1.1, 1.2], **{"policy.alpha": alpha, "policy.ridge": 3.0}) for alpha in (0.1, 0.2)]
    b, c = table("b", [1.3, 1.4], **{"policy.alpha": 0.3, "policy.ridge": 4.0}), table("c", [1.5, 1.5], **FREE)
    assert list(points(drawn("delays", *a, b, c))) == ["a, alpha 0.1", "a, alpha 0.2", "b", "c"]
    d = [each for alpha in (0.1, 0.2) for each in private("d", {0.5: 1.2 + alpha, 2.0: 1.6}, **{"policy.alpha": alpha})]
    found = lines(drawn("privacy", *d, c))
    assert set(found) == {"d, alpha 0.1", "d, alpha 0.2", "c"}  # epsilon is the axis
    assert found["d, alpha 0.2"][:2] == ([0.5, 2], pytest.approx([1.4, 1.6]))
    by_delay = drawn("delays", *late("a", {"0": 1.5, "9": 1.4}), *private("b", {0.5: 1.1, 2.0: 1.2}, delay="0"))
    assert list(points(by_delay)) == ["a", "b, epsilon 0.5", "b, epsilon 2.0"]  # delay is


def test_looks_follow_the_order_of_the_table() -> None:
    plot = drawn("delays", table("z", [1.1, 1.2]), table("a", [1.1, 1.2]))
    assert [each.lines[0].get_color() for each in plot.containers] == list(COLOURS[:2])
    assert len({each.lines[0].get_marker() for each in plot.containers}) == 2
