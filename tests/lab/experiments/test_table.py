"""Tables: tidy, with their provenance, written whole or not at all, and resumed without redoing what is there."""

import random
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.errors import ResultsExist
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.experiments import parts, table
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.lab.goals.regret.figure import average, regret
from maskedbandit.lab.goals.regret.rows import summary

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


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


@pytest.fixture
def experiment(tmp_path: Path):
    path = tmp_path / "small.toml"
    path.write_text(TEXT)
    return read_experiment(path)


def test_a_run_becomes_a_row_for_each_run_and_checkpoint() -> None:
    run = mb.simulate(mb.policies.UCB1(), mb.channels.Raw(), mb.Bernoulli([0.2, 0.8]), 100, runs=3)
    frame = run.to_frame()
    assert frame.height == 3 * run.t.size
    assert frame["regret"].to_numpy().reshape(3, -1) == pytest.approx(run.regret)
    assert {"regret", "realised_regret", "t", "run", "policy", "trust", "pure_epsilon"} <= set(frame.columns)


def test_results_hold_every_setting_and_say_where_they_come_from(experiment, tmp_path) -> None:
    advanced: list[str] = []
    found = table.collect_results(
        experiment,
        experiment.settings,
        tmp_path / "out",
        advance=lambda setting, runs: advanced.extend([setting.id] * runs),
    )
    written = tmp_path / "out" / "table.parquet"
    assert pl.read_parquet(written).equals(found)
    assert found["id"].unique(maintain_order=True).to_list() == ["small/0", "small/1", "small/2"]
    assert sorted(advanced) == ["small/0"] * 4 + ["small/1"] * 4 + ["small/2"] * 4
    about = pl.read_parquet_metadata(written)
    assert about["experiment"] == TEXT
    assert about["maskedbandit"] == mb.__version__
    assert {"numpy", "numba", "python", "commit"} <= set(about)
    assert not list(tmp_path.rglob("*.draft"))


def test_results_are_not_overwritten_and_resuming_redoes_only_what_is_missing(experiment, tmp_path) -> None:
    out = tmp_path / "out"
    whole = table.collect_results(experiment, experiment.settings, out)
    with pytest.raises(ResultsExist, match="--resume"):
        table.collect_results(experiment, experiment.settings, out)
    lost = sorted((out / "parts").iterdir())[1]
    lost.unlink()
    ran: list[str] = []
    verb = experiment.goal.verb
    heard = replace(experiment.goal, verb=lambda *on, **how: (ran.append(how["study"]), verb(*on, **how))[1])
    again = table.collect_results(replace(experiment, goal=heard), experiment.settings, out, resume=True)
    assert ran == ["small/1"]
    assert again.equals(whole)


def test_a_setting_that_changed_is_run_again(experiment, tmp_path) -> None:
    out = tmp_path / "out"
    before = table.collect_results(experiment, experiment.settings, out)
    (tmp_path / "small.toml").write_text(TEXT.replace("seed = 5", "seed = 6"))
    after = table.collect_results(
        changed := read_experiment(tmp_path / "small.toml"), changed.settings, out, resume=True
    )
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
    return read_experiment(path)


@pytest.mark.slow
def test_theory_is_rows_of_the_same_table(league, tmp_path) -> None:
    found = table.collect_results(league, league.settings, tmp_path / "out")
    lines = found.filter(pl.col("trust") == "theory")
    one = lines.filter((pl.col("instance.means") == "C2") & (pl.col("channel.epsilon") == 0.5)).sort("t")
    expected = mb.theory.lower_bound("central", [0.75, 0.625, 0.5, 0.375, 0.25], one["t"].to_numpy(), 0.5)
    assert one["regret"].to_numpy() == pytest.approx(expected)
    assert lines["run"].null_count() == lines.height
    again = table.collect_results(league, league.settings, tmp_path / "out", resume=True)
    assert again.equals(found)


@pytest.mark.slow
def test_the_summary_has_a_row_for_each_cell_with_its_worst_run(league, tmp_path) -> None:
    found = table.collect_results(league, league.settings, tmp_path / "out")
    rows = summary(found)
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


@pytest.mark.slow
def test_lists_that_vary_are_text(tmp_path) -> None:
    path = tmp_path / "lists.toml"
    path.write_text(TEXT + '"instance.means" = [[0.2, 0.8], [0.5, 0.6]]\n')
    found = table.collect_results(lists := read_experiment(path), lists.settings, tmp_path / "out")
    assert found["instance.means"].unique(maintain_order=True).to_list() == ["0.2, 0.8", "0.5, 0.6"]
    assert table.shown_value({"name": "skellam", "scale": 2}) == "skellam, scale = 2"
    assert len(regret(found).axes) == 4


@pytest.mark.slow
@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:-4] + b"xxxx"])
def test_a_damaged_part_is_done_again_with_a_note(experiment, tmp_path, damage) -> None:
    out, notes = tmp_path / "out", []
    whole = table.collect_results(experiment, experiment.settings, out)
    broken = sorted((out / "parts").iterdir())[1]
    broken.write_bytes(damage(broken.read_bytes()))
    again = table.collect_results(experiment, experiment.settings, out, resume=True, note=notes.append)
    assert again.equals(whole)
    assert notes == [f"{broken} is damaged and was removed"]
    table.collect_results(experiment, experiment.settings, out, resume=True, note=notes.append)
    assert len(notes) == 1


@pytest.mark.slow
def test_a_part_with_a_wrong_byte_is_read_as_it_was_or_not_at_all(tmp_path) -> None:
    """A file may be whole and say other numbers, or end the reader with an error of its own."""
    path, luck = tmp_path / "part.parquet", random.Random(1)
    whole = pl.DataFrame({"id": ["a"] * 50, "regret": [float(i) for i in range(50)]})
    parts.write_part(whole, path, {"about": "x" * 300})
    good, other = path.read_bytes(), 0
    for _ in range(400):
        wrong = bytearray(good)
        wrong[luck.randrange(len(wrong))] ^= luck.randrange(1, 256)
        path.write_bytes(wrong)
        found = parts.read_part(path)
        assert found is None or found.equals(whole)
        with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
            other += not pl.read_parquet(path).equals(whole)
    assert other > 0  # the control: without the digest these would be taken


@pytest.mark.slow
def test_one_setting_alone_gives_the_numbers_that_it_has_in_the_whole(experiment, tmp_path) -> None:
    whole = table.collect_results(experiment, experiment.settings, tmp_path / "whole", executor=partial(Threads, 2))
    alone = table.collect_results(
        experiment, experiment.settings[1:2], tmp_path / "alone", executor=partial(Threads, 1)
    )
    mine = whole.filter(pl.col("id") == "small/1")
    assert alone["regret"].equals(mine["regret"])
    rest = table.collect_results(experiment, experiment.settings, tmp_path / "alone", resume=True)
    assert rest.equals(whole)


def test_an_interrupted_run_leaves_whole_parts_and_no_table(experiment, tmp_path) -> None:
    def stop(*on, **how):
        if how["study"] == "small/2":
            raise KeyboardInterrupt
        return experiment.goal.verb(*on, **how)

    stopped = replace(experiment, goal=replace(experiment.goal, verb=stop))
    with pytest.raises(KeyboardInterrupt):
        table.collect_results(stopped, experiment.settings, tmp_path / "out")
    assert not (tmp_path / "out" / "table.parquet").exists()
    assert [pl.read_parquet(path).height > 0 for path in (tmp_path / "out" / "parts").iterdir()] == [True, True]
    table.collect_results(experiment, experiment.settings, tmp_path / "out", resume=True)


def test_the_summary_compares_with_no_privacy(experiment, tmp_path) -> None:
    rows = summary(table.collect_results(experiment, experiment.settings, tmp_path / "out"))
    assert rows["label"].to_list() == ["raw", "central", "central"]
    assert rows["channel.epsilon"].to_list() == [None, 0.5, 2.0]
    assert rows["ratio"].to_list() == pytest.approx((rows["mean"] / rows["mean"][0]).to_list())
    assert rows["pure_epsilon"].to_list() == [np.inf, 0.5, 2.0]
    assert rows["runs"].to_list() == [4, 4, 4]


@pytest.mark.slow
def test_a_curve_is_one_row_though_its_cohorts_had_several_sizes(tmp_path) -> None:
    text = TEXT.replace('channel = "central"', 'channel = { name = "distributed", noise = "skellam", grid = "paper" }')
    (tmp_path / "sizes.toml").write_text(text.replace("[0.2, 0.8]", '"easy", k = 2').replace("2000", "20_000"))
    (tmp_path / "sizes.toml").write_text((tmp_path / "sizes.toml").read_text() + '"instance.seed" = [0, 1, 2, 3]\n')
    found = table.collect_results(sizes := read_experiment(tmp_path / "sizes.toml"), sizes.settings, tmp_path / "out")
    assert summary(found)["runs"].to_list() == [16, 16, 16]


@pytest.mark.slow
def test_theory_alone_is_a_table_and_a_figure_too(league, tmp_path) -> None:
    lines = [setting for setting in league.settings if setting.label == "bound"]
    found = table.collect_results(league, lines, tmp_path / "out")
    assert summary(found)["runs"].to_list() == [0] * 4
    assert len(league.draw(found).axes) == 1
    assert len(regret(found).axes) == 4
    mixed = table.collect_results(league, league.settings, tmp_path / "all")
    assert found.schema.items() <= mixed.schema.items()


def test_runs_on_one_instance_are_one_observation(tmp_path) -> None:
    """Of 2 instances with 4 runs each, the error is that of two means; without instances, that of all runs."""
    (tmp_path / "two.toml").write_text(TEXT.replace("[0.2, 0.8]", '"easy", k = 3') + '"instance.seed" = [0, 1]\n')
    found = table.collect_results(two := read_experiment(tmp_path / "two.toml"), two.settings, tmp_path / "out")
    raw = found.filter((pl.col("label") == "raw") & (pl.col("t") == 2000))
    positions = raw.group_by("instance.seed").agg(pl.col("regret").mean())["regret"]
    error = positions.std() / np.sqrt(2)
    row = summary(found).filter(pl.col("label") == "raw")
    assert (row["mean"][0], row["runs"][0]) == (pytest.approx(raw["regret"].mean()), 8)
    assert row["error"][0] == pytest.approx(error)
    assert error != pytest.approx(raw["regret"].std() / np.sqrt(8), rel=0.01)  # the control: what was wrong
    plot = average(found).axes[0]
    mean = plot.lines[0].get_ydata()[-1]
    assert mean == pytest.approx(raw["regret"].mean() / 2000)
    edge = plot.collections[0].get_paths()[0].vertices[:, 1]
    assert np.isclose(edge, mean + error / 2000).any()
