"""Wrong answers as rows: of curves of theory, and of the summary of runs."""

from typing import Any

import polars as pl

from maskedbandit.lab.goals.columns import list_axes
from maskedbandit.lab.goals.interval import binomial_interval
from maskedbandit.lab.goals.result import LOSSES
from maskedbandit.lab.goals.setting import TheoryCurve
from maskedbandit.theory.wrong_answers import least_wrong


def tabulate_curve(curve: TheoryCurve) -> pl.DataFrame:
    """A point of a curve of theory, in the same form as a run."""
    horizon = curve.task["horizon"]
    return pl.DataFrame(
        {
            "trust": "theory",
            "policy": curve.theory,
            "sees": "lower bound",
            **dict.fromkeys(LOSSES, curve.epsilon),
            "horizon": horizon,
            "run": pl.Series([None], dtype=pl.Int64),
            "least": least_wrong(curve.theory, curve.instance.true_means().tolist(), horizon, curve.epsilon),
        }
    )


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Wrong answers for every curve, every number of users and all that varied: their share, and what is proved.

    `low` and `high` are a confidence interval for the probability, at the LEVEL of interval.py; rows of theory
    have none.
    """
    given = {"bound": pl.Float64, "least": pl.Float64, "correct": pl.Boolean, "users": pl.Float64}
    missing = [pl.lit(None, kind).alias(name) for name, kind in given.items() if name not in table.columns]
    keys = ["label", "trust", "policy", "sees", *list_axes(table), "horizon"]
    rows = (
        table.with_columns(missing)
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col(LOSSES).max(),
            pl.col("run").count().alias("runs"),
            (~pl.col("correct")).sum().alias("wrong"),
            pl.coalesce((~pl.col("correct")).mean(), pl.col("least").mean()).alias("share"),
            pl.col("users").mean(),
            pl.col("bound").max(),
        )
    )
    between = [
        binomial_interval(wrong, runs) if runs else (None, None) for wrong, runs in rows.select("wrong", "runs").rows()
    ]
    ends = {end: pl.Series([pair[i] for pair in between], dtype=pl.Float64) for i, end in enumerate(("low", "high"))}
    return rows.with_columns(**ends)


def cells(row: dict[str, Any]) -> dict[str, str]:
    """The cells of a row of the summary, as text by their headings."""
    runs = bool(row["runs"])
    return {
        "wrong": f"{row['share']:.2g}",
        "99 %": f"{row['low']:.2g}-{row['high']:.2g}" if runs else "",
        "at most": "" if row["bound"] is None else f"{row['bound']:.2g}",
        "runs": str(row["runs"] or ""),
    }
