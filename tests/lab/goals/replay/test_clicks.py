"""Click rates as rows: the columns of a replay, and means, errors, intervals and kept gains, computed by hand."""

from math import nan, sqrt

import numpy as np
import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.lab.goals.replay.replayed import ReplayedContexts
from maskedbandit.lab.goals.replay.rows import cells, summary
from maskedbandit.privacy.loss import Loss
from tests.for_each import for_each
from tests.lab.corner import Corner

RANDOM = 0.1  # click rate of random choice in every table below


def table(label: str, relative: list[float], trust: str = "central", loss: float = 0.5, **more: object) -> pl.DataFrame:
    """Runs of a curve, each with an error of its own of a tenth of random choice."""
    runs = len(relative)
    columns = {
        "label": label,
        "trust": trust,
        "policy": "LinUCB",
        "sees": "server: sums",
        "pure_epsilon": loss,
        "epsilon_at_1e-06": loss,
        "recorded": False,
        "run": np.arange(runs),
        "taken": np.arange(runs) + 100,
        "rate": RANDOM * np.array(relative),
        "rate_error": RANDOM / 10,
        "random": RANDOM,
        "relative": relative,
    }
    return pl.DataFrame(columns | more)


def rows(*tables: pl.DataFrame) -> list[dict[str, object]]:
    return list(summary(pl.concat(tables, how="diagonal")).iter_rows(named=True))


def test_a_replay_is_a_row_for_each_run() -> None:
    policy, channel, runs = mb.policies.RandomChoice(), mb.channels.Central(epsilon=2), np.arange(3)
    found = ReplayedContexts(
        policy=policy,
        channel=channel,
        log=Corner(),
        t=np.array([10]),
        reward=np.full((3, 1), 3.0),
        users=np.array([10, 20, 5]),
        clicks=np.array([2.0, 5.0, 0.0]),
        pulls=np.array([[4, 3, 3], [9, 6, 5], [2, 2, 1]]),
        matched=runs + 30,
        weighted=runs + 0.1,
        weighted_error=runs + 0.2,
        normalised=runs + 0.3,
        normalised_error=runs + 0.4,
        random=np.array([0.1, 0.5, 0.0]),
        releases=runs + 7,
        loss=Loss.pure(2),
        findings={"phases": runs + 0.6},
    )
    table = found.to_frame()
    assert table.columns[: table.columns.index("log")] == [
        *("trust", "policy", "channel", "sees", "pure_epsilon", "epsilon_at_1e-06")
    ]
    wanted = {
        "log": [str(Corner())] * 3,
        "recorded": [False] * 3,
        "run": [0, 1, 2],
        "taken": [10, 20, 5],
        "matched": [30, 31, 32],
        "rate": [0.2, 0.25, 0],
        "rate_error": [sqrt(0.2 * 0.8 / 10), sqrt(0.25 * 0.75 / 20), 0],
        "random": [0.1, 0.5, 0],
        "relative": [2.0, 0.5, nan],  # nobody clicked in the third
        "weighted": [0.1, 1.1, 2.1],
        "weighted_error": [0.2, 1.2, 2.2],
        "normalised": [0.3, 1.3, 2.3],
        "normalised_error": [0.4, 1.4, 2.4],
        "releases": [7, 8, 9],
        "phases": [0.6, 1.6, 2.6],
    }
    for name, values in wanted.items():
        assert table[name].to_list() == pytest.approx(values, nan_ok=True), name
    assert set(table.columns) >= set(wanted)


def test_runs_on_generated_logs_have_the_error_between_them() -> None:
    (row,) = rows(table("a", [1.1, 1.3, 1.5], instance_seed=1))
    assert row["relative"] == pytest.approx(1.3)
    assert row["rate"] == pytest.approx(0.13)
    assert row["taken"] == 101
    assert row["runs"] == 3
    assert row["error"] == pytest.approx(0.2 / sqrt(3))
    assert row["interval"] == pytest.approx(0.2 / sqrt(3) * 4.302652729911275)  # Student's distribution of 2 degrees


def test_ten_runs_have_an_interval_of_nine_degrees() -> None:
    (row,) = rows(table("a", [1.0, 2.0] * 5))
    assert row["error"] == pytest.approx(sqrt(10 * 0.25 / 9) / sqrt(10))
    assert row["interval"] == pytest.approx(row["error"] * 2.2621571627409915)


@for_each(("relative", "recorded"), [([1.1, 1.3, 1.5], True), ([1.2], False), ([1.2], True)])
def test_runs_that_share_their_visits_have_the_error_inside_of_one(relative, recorded) -> None:
    (row,) = rows(table("a", relative, recorded=recorded))
    assert row["error"] == pytest.approx(0.1)  # not less for more runs
    assert row["interval"] == pytest.approx(0.196)


def test_the_error_inside_is_relative_run_by_run() -> None:
    errors = pl.Series("rate_error", [0.01, 0.04])
    (row,) = rows(table("a", [1.0, 1.2], recorded=True).with_columns(errors, random=pl.Series([0.1, 0.2])))
    assert row["error"] == pytest.approx((0.1 + 0.2) / 2)


def test_a_curve_is_quoted_with_its_largest_loss_and_each_value_by_itself() -> None:
    runs = table("a", [1.1, 1.3]).with_columns(pl.Series("pure_epsilon", [0.5, 2.0]))
    found = rows(
        runs.with_columns(pl.lit(1).alias("channel.epsilon")), table("a", [1.4, 1.6], **{"channel.epsilon": 2})
    )
    assert [row["pure_epsilon"] for row in found] == [2.0, 0.5]
    assert [row["relative"] for row in found] == pytest.approx([1.2, 1.5])
    seeds = pl.concat([table("a", [1.1, 1.2], **{"instance.seed": seed}) for seed in (1, 2)])
    assert rows(seeds)[0]["runs"] == 4  # what is averaged over does not part them


FREE = {"trust": "none", "loss": float("inf")}


def kept(*tables: pl.DataFrame) -> list[object]:
    return [row["kept"] for row in rows(*tables)]


def test_the_gain_kept_is_of_the_same_policy_without_privacy() -> None:
    other = table("other", [1.8, 1.8], policy="LinThompson", **FREE)
    private = table("private", [1.1, 1.2], **{"channel.epsilon": 0.5})
    assert kept(other, private, table("free", [1.6, 1.6], **FREE)) == pytest.approx([1, 0.15 / 0.6, 1])
    assert kept(other, private) == [pytest.approx(1), None]
    assert kept(private) == [None]


@for_each("name", ["delay", "policy.alpha", "instance.k"])
def test_the_gain_kept_is_at_the_same_delay_and_parameters(name: str) -> None:
    free = [table("free", [gain, gain], **FREE, **{name: at}) for gain, at in ((2.0, "0"), (1.5, "100"))]
    private = [table("private", [1.1, 1.1], **{name: at, "channel.epsilon": 1.0}) for at in ("0", "100", "7")]
    assert kept(*free, *private) == [pytest.approx(1), pytest.approx(1), pytest.approx(0.1), pytest.approx(0.2), None]


def test_of_nothing_gained_nothing_can_be_kept() -> None:
    assert kept(table("free", [0.9, 1.1], **FREE), table("private", [1.1, 1.1])) == [None, None]


def test_cells_say_it_in_words() -> None:
    (row,) = rows(table("a", [1.1, 1.3, 1.5]).with_columns(taken=pl.lit(12345)))
    said = {"visits taken": "12,345", "click rate": "0.1300", "over random": "1.300 ± 0.115", "gain kept": ""}
    assert cells(row) == said | {"runs": "3"}
    assert cells(row | {"kept": 0.256})["gain kept"] == "26%"
