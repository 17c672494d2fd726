"""Regret as rows: of runs, of curves of theory, and of their summary."""

from typing import Any

import polars as pl

from maskedbandit import theory
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.goals.columns import list_axes, with_observations
from maskedbandit.lab.goals.result import LOSSES
from maskedbandit.lab.goals.setting import TheoryCurve


def tabulate_curve(curve: TheoryCurve) -> pl.DataFrame:
    """A curve of theory as rows without a run, of the same form as those of a simulation."""
    horizon = curve.task["horizon"]
    marks = list_checkpoints(horizon)
    regret = theory.curve(curve.theory, curve.instance.true_means().tolist(), marks, curve.epsilon)
    return pl.DataFrame(
        {
            "trust": "theory",
            "policy": curve.theory,
            "sees": theory.CURVES[curve.theory],
            **dict.fromkeys(LOSSES, curve.epsilon),
            "horizon": horizon,
            "run": pl.Series([None] * marks.size, dtype=pl.Int64),
            "t": marks,
            "regret": regret,
        }
    )


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Mean regret at the horizon for every curve and every value that varied, its standard error and its worst run.

    `ratio` divides it by that of the same policy on a channel without privacy. If there is no such curve, it divides by
    the first curve without privacy, and if there is none, by the lower bound.
    """
    varied = list_axes(table)
    final = with_observations(table.filter(pl.col("t") == pl.col("horizon")), "regret")
    rows = final.group_by(["label", "trust", "policy", "sees", *varied, "horizon"], maintain_order=True).agg(
        pl.col(LOSSES).max(),
        pl.col("regret").mean().alias("mean"),
        (pl.col("observed").std() / pl.col("observed").count().sqrt()).alias("error"),
        pl.col("regret").max().alias("worst"),
        pl.col("run").count().alias("runs"),  # theory has none
    )
    every = list(rows.iter_rows(named=True))
    ratios = [row["mean"] / base if (base := baseline(row, every, varied)) else None for row in every]
    return rows.with_columns(pl.Series("ratio", ratios, dtype=pl.Float64))


def baseline(row: dict[str, Any], rows: list[dict[str, Any]], varied: list[str]) -> float | None:
    """The mean regret that a row of the summary is divided by: on the same instance, for as many users."""
    where = ["horizon", *(name for name in varied if name.startswith("instance."))]
    near = [other for other in rows if all(other[name] == row[name] for name in where)]
    free = [other for other in near if other["trust"] == "none" and other.get("delay") == row.get("delay")]
    free.sort(key=lambda other: other["policy"] != row["policy"])
    least = [other for other in near if other["trust"] == "theory" and other["policy"] in theory.LOWER]
    least = [other for other in least if all(other[name] in (None, row[name]) for name in varied)]
    return next((other["mean"] for other in [*free, *least]), None)


def cells(row: dict[str, Any]) -> dict[str, str]:
    """The cells of a row of the summary, as text by their headings."""
    return {
        "mean regret": f"{row['mean']:,.0f} ± {row['error'] or 0:,.0f}" if row["runs"] else f"{row['mean']:,.0f}",
        "worst run": f"{row['worst']:,.0f}" if row["runs"] else "",
        "ratio": "" if row["ratio"] is None else f"{row['ratio']:.2f}",
        "runs": str(row["runs"] or ""),
    }
