"""Figures: what they draw is what the table says, however curves are called and however many there are."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments import table
from maskedbandit.lab.experiments.experiment import Experiment, read_experiment
from maskedbandit.lab.goals.goal import Labels
from maskedbandit.lab.goals.regret.figure import average, regret, values
from maskedbandit.lab.goals.regret.rows import summary
from maskedbandit.lab.goals.style import PLAIN, THEORY, name_ends
from tests.lab.experiments.test_table import LEAGUE, TEXT


@pytest.fixture(autouse=True)
def as_python(monkeypatch) -> None:
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def collected(tmp_path, text: str = TEXT) -> tuple[pl.DataFrame, Experiment]:
    """The results of an experiment, and itself."""
    (tmp_path / "league.toml").write_text(text)
    drawn = read_experiment(tmp_path / "league.toml")
    return table.collect_results(drawn, drawn.settings, tmp_path / "out"), drawn


@pytest.mark.slow
def test_a_league_shows_every_cell_and_marks_the_best(tmp_path) -> None:
    found, league = collected(tmp_path, LEAGUE)
    rows = summary(found)
    texts = [(text.get_text(), text.get_weight() == "bold") for text in league.draw(found).axes[0].texts]
    assert {"C1, 2,000 users", "C2, 2,000 users", "ε = 0.5", "ε = 2.0", "bound", "DP-SE"} <= {text for text, _ in texts}
    expected = []
    for _, cells in rows.filter(pl.col("runs") > 0).group_by("instance.means", "channel.epsilon"):
        least = cells["mean"].min()
        for row in cells.iter_rows(named=True):
            text = f"{row['mean']:,.0f} ± {row['error']:,.0f} ({row['worst']:,.0f})"
            expected.append((text, row["mean"] == least))
    assert Counter(expected) <= Counter(texts)


@pytest.mark.slow
def test_the_average_is_regret_by_time_and_theory_is_thin(tmp_path) -> None:
    found, _ = collected(tmp_path, LEAGUE)
    figure = average(found, Labels("title"))
    assert [plot.get_title() for plot in figure.axes] == [f"{c}, ε = {e}" for c in ("C1", "C2") for e in (0.5, 2.0)]
    bound, elimination, _ = figure.axes[2].lines
    assert bound.get_color() == THEORY
    assert bound.get_linewidth() < elimination.get_linewidth()
    cell = (pl.col("label") == "elimination") & (pl.col("instance.means") == "C2") & (pl.col("channel.epsilon") == 0.5)
    points = found.filter(cell).group_by("t").agg(pl.col("regret").mean()).sort("t").filter(pl.col("regret") > 0)
    assert elimination.get_ydata() == pytest.approx((points["regret"] / points["t"]).to_numpy())


@pytest.mark.slow
def test_columns_are_drawn_against_the_horizon(tmp_path) -> None:
    text = TEXT.replace("horizon = 2000", 'figure = "value"\nvalue = "pure_epsilon"\nhorizon = 2000')
    found, value = collected(tmp_path, text + "horizon = [500, 1000, 10_000]\n")
    assert found.filter(pl.col("label") == "central")["horizon"].unique().sort().to_list() == [500, 1000, 10_000]
    final = found.filter(pl.col("label") == "central")  # what has no limit cannot be drawn
    one = value.draw(final).axes[0].lines[0]
    assert one.get_xdata().tolist() == [500, 1000, 10_000]
    assert one.get_ydata().tolist() == [0.5] * 3
    both = values(final, Labels(columns={"ε": "pure_epsilon", "lost": "regret"}))
    assert {text.get_text() for text in both.axes[0].texts} == {"ε", "lost"}
    assert both.axes[0].get_ylabel() == "value"
    every = values(
        found.filter(pl.col("pure_epsilon") < np.inf), Labels(columns={"ε": "pure_epsilon", "lost": "regret"})
    )
    other = values(found.with_columns(pl.lit(1.0).alias("one")), Labels(columns={"one": "one", "regret": "regret"}))
    assert len(every.axes[0].lines) == 2
    names = {"raw, one\n= central, one", "raw, regret", "central, regret"}  # both ones are the same curve
    assert {text.get_text() for text in other.axes[0].texts} == names
    with pytest.raises(InvalidValue, match=r"value is .trust.: it must be a column of numbers: .*regret"):
        values(found, Labels(columns={"trust": "trust"}))
    mean = (
        found.filter((pl.col("t") == pl.col("horizon")) & (pl.col("label") == "raw"))
        .group_by("horizon")
        .agg(pl.col("regret").mean())
    )
    assert regret(found).axes[0].lines[0].get_ydata() == pytest.approx(mean.sort("horizon")["regret"].to_numpy())


VARIED = """
figure = "varied"
horizon = 1000
runs = 3
channel = "raw"
policy = "uniform"
instance = { name = "drifting", instance = { name = "bernoulli", means = [0.4, 0.6] }, period = 50 }
[[curves]]
label = "uniform"
[[curves]]
label = "elimination"
policy = "successive_elimination"
[vary]
"""
SHAPES = '"instance.shape" = ["sine", "step"]\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vary", "against", "values"),
    [
        (SHAPES + '"instance.amplitude" = [0.1, 0, 0.3]', "instance.amplitude", [0, 0.1, 0.3]),
        (SHAPES + "delay = [0, 1, 200]", "delay", [0, 1, 200]),
        ('"instance.amplitude" = [0.2, 0.4]', "instance.amplitude", [0.2, 0.4]),
    ],
)
def test_regret_is_drawn_against_what_varies(tmp_path, monkeypatch, vary, against, values) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    found, experiment = collected(tmp_path, VARIED + vary)
    plots, rows = experiment.draw(found).axes, summary(found)
    shapes = ["sine", "step"] if SHAPES in vary else [None]
    assert [plot.get_title() for plot in plots] == [shape or "" for shape in shapes]
    for plot, shape in zip(plots, shapes, strict=True):
        assert len(plot.lines) == 4  # means and largest runs
        for i, label in enumerate(("uniform", "elimination")):
            mine = rows.filter(pl.col("label") == label)
            mine = mine if shape is None else mine.filter(pl.col("instance.shape") == shape)
            mine = mine.with_columns(pl.col(against).cast(float)).sort(against)
            assert plot.lines[2 * i].get_xdata().tolist() == values
            assert plot.lines[2 * i].get_ydata() == pytest.approx(mine["mean"].to_numpy())
            assert plot.lines[2 * i + 1].get_ydata() == pytest.approx(mine["worst"].to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize(
    "vary",
    [
        SHAPES,
        '"instance.amplitude" = [0, 0.1]\n"instance.period" = [20, 50]',
        'delay = [0, { name = "geometric", mean = 9 }]',
    ],
)
def test_what_varies_must_be_one_number(tmp_path, monkeypatch, vary) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    found, experiment = collected(tmp_path, VARIED + vary)
    with pytest.raises(InvalidValue, match="figure is 'varied': it must be given if one number varies"):
        experiment.draw(found)


def test_names_of_curves_do_not_overlap_and_stay_beside_the_plot() -> None:
    plot = Figure().subplots()
    plot.set(yscale="log", ylim=(1, 1000))
    ends = {f"curve {i}": 990.0 for i in range(12)} | {"low": 2.0, "lowest": 0.1}
    name_ends(plot, ends, {label: {"color": "#000000"} for label in ends})
    heights = {text.get_text(): text.xy[1] for text in plot.texts}
    assert heights["lowest"] == 0
    assert heights["low"] == pytest.approx(np.log10(2) / 3)
    assert max(heights.values()) == pytest.approx(1)
    assert np.diff(sorted(heights.values())).min() >= 0.05 - 1e-9


def test_curves_that_lie_on_one_another_have_a_name_of_two_lines_and_room_for_it() -> None:
    plot, ends = Figure().subplots(), {"one": 5.0, "other": 5.0, "third": 5.1, "fourth": 4.9}
    plot.set(ylim=(0, 10))
    for label, end in ends.items():
        plot.plot([0, 1], [0, end], label=label)
    name_ends(plot, ends, {label: {"color": "#000000"} for label in ends})
    heights = {text.get_text(): text.xy[1] for text in plot.texts}
    assert list(heights) == ["fourth", "one\n= other", "third"]
    assert np.diff(list(heights.values())) == pytest.approx([0.075, 0.075])


@pytest.mark.slow
def test_what_else_varies_makes_curves_of_its_own(tmp_path) -> None:
    found, _ = collected(tmp_path, TEXT + '"policy.least" = [8, 64]\n')
    names = {text.get_text() for text in regret(found).axes[0].texts}
    assert names == {f"{label}, least {n}" for label in ("raw", "central") for n in (8, 64)}


def test_a_figure_is_a_pure_function_of_the_table(tmp_path) -> None:
    found, _ = collected(tmp_path)
    before = found.clone()
    first, second = regret(found, Labels("title")), regret(found, Labels("title"))
    assert found.equals(before)
    assert len(first.axes) == 2  # a panel for each epsilon
    for one, two in zip(first.axes, second.axes, strict=True):
        drawn = [line.get_xydata() for line in one.lines]
        assert len(drawn) == 2
        assert all((a == b.get_xydata()).all() for a, b in zip(drawn, two.lines, strict=True))
    low = found.filter(pl.col("channel.epsilon") == 0.5).group_by("t").agg(pl.col("regret").mean()).sort("t")
    assert first.axes[0].lines[1].get_ydata() == pytest.approx(low.filter(pl.col("regret") > 0)["regret"].to_numpy())


def test_equal_arms_have_a_figure_without_curves(tmp_path) -> None:
    found, _ = collected(tmp_path, TEXT.replace("[0.2, 0.8]", "[0.5, 0.5]"))
    assert all(not axis.lines for axis in regret(found).axes)


@pytest.mark.slow
def test_no_two_curves_look_alike(tmp_path) -> None:
    found = collected(tmp_path)[0].filter(pl.col("channel.epsilon") == 0.5)
    many = pl.concat([found.with_columns(pl.lit(f"curve {i}").alias("label")) for i in range(57)])
    looks = [str((line.get_color(), line._dash_pattern)) for line in regret(many).axes[0].lines]
    assert len(set(looks[:56])) == 56
    assert looks[56] == looks[0]


@pytest.mark.slow
def test_dollars_are_text(tmp_path, monkeypatch) -> None:
    """What lies between two of them is not parsed as a formula, which fails where it is none."""
    found, league = collected(tmp_path, LEAGUE.replace("a small league", "$_$"))
    priced = found.with_columns(pl.lit("costs $a_ or $\\b").alias("label"), pl.lit("$x_$").alias("instance.means"))
    said = Labels("$_$")
    for figure in (regret(priced, said), league.draw(priced), values(priced, said._replace(columns={"$_$": "regret"}))):
        figure.savefig(tmp_path / "figure.png")
    monkeypatch.delitem(PLAIN, "parse_math")  # the control
    with pytest.raises(ValueError, match="Expected"):
        regret(priced).savefig(tmp_path / "figure.png")
