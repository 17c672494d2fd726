"""Tables: tidy, with their provenance, written whole or not at all, and resumed without redoing what is there."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.errors import ResultsExist
from maskedbandit.lab import table
from maskedbandit.lab.experiment import read
from maskedbandit.lab.figures import regret

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
