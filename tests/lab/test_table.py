"""Tables: tidy, with their provenance, written whole or not at all, and resumed without redoing what is there."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue, ResultsExist
from maskedbandit.lab import table
from maskedbandit.lab.experiment import read
from maskedbandit.lab.figures import THEORY, average, draw, regret, values

TEXT = """
about = "three curves"
horizon = 2000
runs = 4
seed = 5
instance = { name = "bernoulli", means = [0.2, 0.8] }
policy = "successive_elimination"
[[curves]]
channel = "raw"
[[curves]]
channel = "central"
[vary]
"channel.epsilon" = [0.5, 2]
"""


@pytest.fixture
def experiment(tmp_path: Path):
    path = tmp_path / "small.toml"
    path.write_text(TEXT)
    return read(path)


def test_a_run_becomes_a_row_for_each_run_and_checkpoint() -> None:
    run = mb.simulate(mb.policies.UCB1(), mb.channels.Raw(), mb.Bernoulli([0.2, 0.8]), 100, runs=3)
    frame = run.to_frame()
    assert frame.height == 3 * run.t.size
    assert frame["regret"].to_numpy().reshape(3, -1) == pytest.approx(run.regret)
    assert {"regret", "realised_regret", "t", "run", "policy", "trust", "pure_epsilon"} <= set(frame.columns)


def test_results_hold_every_setting_and_say_where_they_come_from(experiment, tmp_path) -> None:
    told: list[str] = []
    found = table.collect(
        experiment,
        experiment.settings,
        tmp_path / "out",
        advance=lambda setting, runs: told.extend([setting.id] * runs),
    )
    written = tmp_path / "out" / "table.parquet"
    assert pl.read_parquet(written).equals(found)
    assert found["id"].unique(maintain_order=True).to_list() == ["small/0", "small/1", "small/2"]
    assert sorted(told) == ["small/0"] * 4 + ["small/1"] * 4 + ["small/2"] * 4
    about = pl.read_parquet_metadata(written)
    assert about["experiment"] == TEXT
    assert about["maskedbandit"] == mb.__version__
    assert {"numpy", "numba", "python", "commit"} <= set(about)
    assert not list(tmp_path.rglob("*.draft"))


def test_results_are_not_overwritten_and_resuming_redoes_only_what_is_missing(
    experiment, tmp_path, monkeypatch
) -> None:
    out = tmp_path / "out"
    whole = table.collect(experiment, experiment.settings, out)
    with pytest.raises(ResultsExist, match="--resume"):
        table.collect(experiment, experiment.settings, out)
    lost = sorted((out / "parts").iterdir())[1]
    lost.unlink()
    ran: list[str] = []
    real = table.Setting.run
    monkeypatch.setattr(table.Setting, "run", lambda self, **how: (ran.append(self.id), real(self, **how))[1])
    again = table.collect(experiment, experiment.settings, out, resume=True)
    assert ran == ["small/1"]
    assert again.equals(whole)


def test_a_setting_that_changed_is_run_again(experiment, tmp_path) -> None:
    out = tmp_path / "out"
    before = table.collect(experiment, experiment.settings, out)
    (tmp_path / "small.toml").write_text(TEXT.replace("seed = 5", "seed = 6"))
    after = table.collect(changed := read(tmp_path / "small.toml"), changed.settings, out, resume=True)
    assert not after.equals(before)
    assert after.height == before.height


LEAGUE = """
about = "a small league"
figure = "league"
horizon = 2000
runs = 4
seed = 5
instance = { name = "bernoulli", means = "C2" }
policy = "successive_elimination"
channel = "central"
[[curves]]
label = "bound"
theory = "central"
[[curves]]
label = "elimination"
[[curves]]
label = "DP-SE"
policy = "dpse"
[vary]
"instance.means" = ["C1", "C2"]
"channel.epsilon" = [0.5, 2]
"""


@pytest.fixture
def league(tmp_path: Path):
    path = tmp_path / "league.toml"
    path.write_text(LEAGUE)
    return read(path)


def test_theory_is_rows_of_the_same_table(league, tmp_path) -> None:
    found = table.collect(league, league.settings, tmp_path / "out")
    lines = found.filter(pl.col("trust") == "theory")
    one = lines.filter((pl.col("instance.means") == "C2") & (pl.col("channel.epsilon") == 0.5)).sort("t")
    expected = mb.theory.lower_bound("central", [0.75, 0.625, 0.5, 0.375, 0.25], one["t"].to_numpy(), 0.5)
    assert one["regret"].to_numpy() == pytest.approx(expected)
    assert lines["run"].null_count() == lines.height
    again = table.collect(league, league.settings, tmp_path / "out", resume=True)
    assert again.equals(found)


def test_the_summary_has_a_row_for_each_cell_with_its_worst_run(league, tmp_path) -> None:
    found = table.collect(league, league.settings, tmp_path / "out")
    rows = table.summary(found)
    assert rows.height == 3 * 2 * 2
    cell = (pl.col("label") == "DP-SE") & (pl.col("instance.means") == "C1") & (pl.col("channel.epsilon") == 2)
    final = found.filter(cell & (pl.col("t") == 2000))["regret"].to_numpy()
    (row,) = rows.filter(cell).iter_rows(named=True)
    assert (row["mean"], row["worst"], row["runs"]) == (pytest.approx(final.mean()), final.max(), 4)
    assert row["error"] == pytest.approx(final.std(ddof=1) / 2)
    bound = mb.theory.lower_bound("central", [0.75, 0.7, 0.7, 0.7, 0.7], 2000, 2)
    assert row["ratio"] == pytest.approx(row["mean"] / bound)
    assert rows.filter(pl.col("trust") == "theory")["runs"].to_list() == [0] * 4
    assert pl.read_csv(tmp_path / "out" / "summary.csv").height == rows.height


def test_a_league_shows_every_cell_and_marks_the_best(league, tmp_path) -> None:
    found = table.collect(league, league.settings, tmp_path / "out")
    rows = table.summary(found)
    texts = {text.get_text(): text.get_weight() for text in draw(found, league).axes[0].texts}
    assert {"C1, 2,000 users", "C2, 2,000 users", "ε = 0.5", "ε = 2.0", "bound", "DP-SE"} <= set(texts)
    for where, cells in rows.filter(pl.col("runs") > 0).group_by("instance.means", "channel.epsilon"):
        least = cells["mean"].min()
        for row in cells.iter_rows(named=True):
            text = f"{row['mean']:,.0f} ± {row['error']:,.0f} ({row['worst']:,.0f})"
            assert (texts[text] == "bold") == (row["mean"] == least), (where, text)


def test_lists_that_vary_are_text(tmp_path) -> None:
    path = tmp_path / "lists.toml"
    path.write_text(TEXT + '"instance.means" = [[0.2, 0.8], [0.5, 0.6]]\n')
    found = table.collect(lists := read(path), lists.settings, tmp_path / "out")
    assert found["instance.means"].unique(maintain_order=True).to_list() == ["0.2, 0.8", "0.5, 0.6"]
    assert table.shown({"name": "skellam", "scale": 2}) == "skellam, scale = 2"
    assert len(regret(found).axes) == 4


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:-4] + b"xxxx"])
def test_a_damaged_part_is_done_again_with_a_note(experiment, tmp_path, damage) -> None:
    out, notes = tmp_path / "out", []
    whole = table.collect(experiment, experiment.settings, out)
    broken = sorted((out / "parts").iterdir())[1]
    broken.write_bytes(damage(broken.read_bytes()))
    again = table.collect(experiment, experiment.settings, out, resume=True, note=notes.append)
    assert again.equals(whole)
    assert notes == [f"{broken} is damaged and was removed"]
    table.collect(experiment, experiment.settings, out, resume=True, note=notes.append)
    assert len(notes) == 1


def test_the_average_is_regret_by_time_and_theory_is_thin(league, tmp_path) -> None:
    found = table.collect(league, league.settings, tmp_path / "out")
    figure = average(found, "title")
    assert [plot.get_title() for plot in figure.axes] == [f"{c}, ε = {e}" for c in ("C1", "C2") for e in (0.5, 2.0)]
    bound, elimination, _ = figure.axes[2].lines
    assert bound.get_color() == THEORY[0]
    assert bound.get_linewidth() < elimination.get_linewidth()
    cell = (pl.col("label") == "elimination") & (pl.col("instance.means") == "C2") & (pl.col("channel.epsilon") == 0.5)
    points = found.filter(cell).group_by("t").agg(pl.col("regret").mean()).sort("t").filter(pl.col("regret") > 0)
    assert elimination.get_ydata() == pytest.approx((points["regret"] / points["t"]).to_numpy())


def test_columns_are_drawn_against_the_horizon(tmp_path) -> None:
    path = tmp_path / "value.toml"
    path.write_text(
        TEXT.replace("horizon = 2000", 'figure = "value"\nvalue = "pure_epsilon"\nhorizon = 2000')
        + "horizon = [500, 1000, 10_000]\n"
    )
    found = table.collect(value := read(path), value.settings, tmp_path / "out")
    assert found.filter(pl.col("label") == "central")["horizon"].unique().sort().to_list() == [500, 1000, 10_000]
    final = found.filter(pl.col("label") == "central")  # what has no limit cannot be drawn
    one = draw(final, value).axes[0].lines[0]
    assert one.get_xdata().tolist() == [500, 1000, 10_000]
    assert one.get_ydata().tolist() == [0.5] * 3
    both = values(final, ["pure_epsilon", "regret"])
    assert {text.get_text() for text in both.axes[0].texts} == {"pure_epsilon", "regret"}
    every = values(found.filter(pl.col("pure_epsilon") < np.inf), ["pure_epsilon", "regret"])
    other = values(found.with_columns(pl.lit(1.0).alias("one")), ["one", "regret"])
    assert len(every.axes[0].lines) == 2
    assert {text.get_text() for text in other.axes[0].texts} == {
        f"{label}, {name}" for label in ("raw", "central") for name in ("one", "regret")
    }
    with pytest.raises(InvalidValue, match=r"value is .trust.: it must be a column of numbers: .*regret"):
        values(found, ["trust"])
    mean = (
        found.filter((pl.col("t") == pl.col("horizon")) & (pl.col("label") == "raw"))
        .group_by("horizon")
        .agg(pl.col("regret").mean())
    )
    assert regret(found).axes[0].lines[0].get_ydata() == pytest.approx(mean.sort("horizon")["regret"].to_numpy())


def test_what_else_varies_makes_curves_of_its_own(tmp_path) -> None:
    path = tmp_path / "least.toml"
    path.write_text(TEXT + '"policy.least" = [8, 64]\n')
    found = table.collect(least := read(path), least.settings, tmp_path / "out")
    names = {text.get_text() for text in regret(found).axes[0].texts}
    assert names == {f"{label}, least {n}" for label in ("raw", "central") for n in (8, 64)}


def test_one_setting_alone_gives_the_numbers_that_it_has_in_the_whole(experiment, tmp_path) -> None:
    whole = table.collect(experiment, experiment.settings, tmp_path / "whole", jobs=2)
    alone = table.collect(experiment, experiment.settings[1:2], tmp_path / "alone", jobs=1)
    mine = whole.filter(pl.col("id") == "small/1")
    assert alone["regret"].equals(mine["regret"])
    rest = table.collect(experiment, experiment.settings, tmp_path / "alone", resume=True)
    assert rest.equals(whole)


def test_an_interrupted_run_leaves_whole_parts_and_no_table(experiment, tmp_path, monkeypatch) -> None:
    real = table.Setting.run

    def stop(self, **how):
        if self.id == "small/2":
            raise KeyboardInterrupt
        return real(self, **how)

    with monkeypatch.context() as patched:
        patched.setattr(table.Setting, "run", stop)
        with pytest.raises(KeyboardInterrupt):
            table.collect(experiment, experiment.settings, tmp_path / "out")
    assert not (tmp_path / "out" / "table.parquet").exists()
    assert [pl.read_parquet(path).height > 0 for path in (tmp_path / "out" / "parts").iterdir()] == [True, True]
    table.collect(experiment, experiment.settings, tmp_path / "out", resume=True)


def test_the_summary_compares_with_no_privacy(experiment, tmp_path) -> None:
    rows = table.summary(table.collect(experiment, experiment.settings, tmp_path / "out"))
    assert rows["label"].to_list() == ["raw", "central", "central"]
    assert rows["channel.epsilon"].to_list() == [None, 0.5, 2.0]
    assert rows["ratio"].to_list() == pytest.approx((rows["mean"] / rows["mean"][0]).to_list())
    assert rows["pure_epsilon"].to_list() == [np.inf, 0.5, 2.0]
    assert rows["runs"].to_list() == [4, 4, 4]


def test_a_figure_is_a_pure_function_of_the_table(experiment, tmp_path) -> None:
    found = table.collect(experiment, experiment.settings, tmp_path / "out")
    before = found.clone()
    first, second = regret(found, "title"), regret(found, "title")
    assert found.equals(before)
    assert len(first.axes) == 2  # a panel for each epsilon
    for one, two in zip(first.axes, second.axes, strict=True):
        drawn = [line.get_xydata() for line in one.lines]
        assert len(drawn) == 2
        assert all((a == b.get_xydata()).all() for a, b in zip(drawn, two.lines, strict=True))
    low = found.filter(pl.col("channel.epsilon") == 0.5).group_by("t").agg(pl.col("regret").mean()).sort("t")
    assert first.axes[0].lines[1].get_ydata() == pytest.approx(low.filter(pl.col("regret") > 0)["regret"].to_numpy())


def test_equal_arms_have_a_figure_without_curves(tmp_path) -> None:
    (tmp_path / "equal.toml").write_text(TEXT.replace("[0.2, 0.8]", "[0.5, 0.5]"))
    found = table.collect(equal := read(tmp_path / "equal.toml"), equal.settings, tmp_path / "out")
    assert all(not axis.lines for axis in regret(found).axes)


def test_a_curve_is_one_row_though_its_cohorts_had_several_sizes(tmp_path) -> None:
    text = TEXT.replace('channel = "central"', 'channel = { name = "distributed", noise = "skellam", grid = "paper" }')
    (tmp_path / "sizes.toml").write_text(text.replace("[0.2, 0.8]", '"easy", k = 2').replace("2000", "20_000"))
    (tmp_path / "sizes.toml").write_text((tmp_path / "sizes.toml").read_text() + '"instance.seed" = [0, 1, 2, 3]\n')
    found = table.collect(sizes := read(tmp_path / "sizes.toml"), sizes.settings, tmp_path / "out")
    assert table.summary(found)["runs"].to_list() == [16, 16, 16]
