"""Samples until a policy stops as rows: of runs, of curves of theory, and of their summary.

A run that was cut off after `max_pulls` users counts as one with that many: it stays in the mean, which is then a lower
bound, and in the quantiles, which are right as long as they are below `max_pulls`.
"""

import math
from typing import Any

import polars as pl

from maskedbandit import theory
from maskedbandit.lab.goals.columns import list_axes, with_observations
from maskedbandit.lab.goals.interval import binomial_interval
from maskedbandit.lab.goals.result import LOSSES
from maskedbandit.lab.goals.setting import PublishedPoint, TheoryCurve


def tabulate_curve(curve: TheoryCurve | PublishedPoint) -> pl.DataFrame:
    """A point of a curve of theory, in the same form as a run; below the epsilon `critical`, privacy costs samples.

    Where an upper bound is infinite, there is no point.

    A published point becomes a row in the same way.
    """
    if isinstance(curve, PublishedPoint):
        names = {
            "trust": "published",
            "policy": "",
            "sees": "",
            **dict.fromkeys(LOSSES, curve.values["channel.epsilon"]),
        }
        return pl.DataFrame({**names, **curve.task, "run": pl.Series([None], dtype=pl.Int64), "samples": curve.samples})
    means, upper = curve.instance.true_means().tolist(), curve.theory in theory.UPPER_SAMPLES
    samples = (theory.most_samples if upper else theory.least_samples)(
        curve.theory, means, curve.task["delta"], curve.epsilon
    )
    free = upper or curve.theory in theory.WITHOUT_EPSILON
    return pl.DataFrame(
        {
            "trust": "theory",
            "policy": curve.theory,
            "sees": "upper bound as δ → 0" if upper else "lower bound",
            **dict.fromkeys(LOSSES, curve.epsilon),
            **curve.task,
            "run": pl.Series([None], dtype=pl.Int64),
            "samples": pl.Series([samples if math.isfinite(samples) else None], dtype=pl.Float64),
            "critical": pl.Series([None if free else theory.critical_epsilon(curve.theory, means)], dtype=pl.Float64),
        }
    )


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Samples for every curve and all that varied: mean, standard error and quantiles; stops and wrong answers.

    Only runs that stopped can be wrong; `wrong_low` and `wrong_high` are an interval for that (interval.py).
    Rows without runs have a mean alone, and a mean of runs some of which were cut off has no standard error.
    """
    varied = list_axes(table)
    keys = ["label", "trust", "policy", "sees", *varied, "delta", "max_pulls"]
    given = {
        "bound": pl.Float64,
        "stopped": pl.Boolean,
        "correct": pl.Boolean,
    }  # columns that theory alone does not have
    missing = [pl.lit(None, kind).alias(name) for name, kind in given.items() if name not in table.columns]
    rows = (
        with_observations(table.with_columns(missing), "samples")
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col(LOSSES).max(),
            pl.col("samples").mean().alias("mean"),
            (pl.col("observed").std() / pl.col("observed").count().sqrt()).alias("error"),
            pl.col("samples").quantile(0.05).alias("low"),
            pl.col("samples").median().alias("median"),
            pl.col("samples").quantile(0.95).alias("high"),
            pl.col("stopped").sum(),
            (pl.col("stopped") & ~pl.col("correct")).sum().alias("wrong"),
            pl.col("run").count().alias("runs"),
            (pl.col("samples") / pl.col("bound")).mean().alias("ratio"),
        )
    )
    between = [binomial_interval(wrong, runs) for wrong, runs in rows.select("wrong", "runs").iter_rows()]
    ends = {f"wrong_{end}": pl.Series([pair[i] for pair in between]) for i, end in enumerate(("low", "high"))}
    whole, ran = pl.col("stopped") == pl.col("runs"), pl.col("runs") > 0
    rows = rows.with_columns(pl.when(whole).then("error").alias("error"), **ends)
    return rows.with_columns(pl.when(ran).then(pl.col("low", "median", "high", "stopped", "wrong", *ends)).name.keep())


def cells(row: dict[str, Any]) -> dict[str, str]:
    """The cells of a row of the summary, as text by their headings."""
    if row["runs"] == 0:
        mean = "" if row["mean"] is None else f"{row['mean']:,.0f}"
        return {"mean samples": mean, **dict.fromkeys(("median", "5 %", "95 %"), "")} | dict.fromkeys(
            ("stopped", "wrong (99 %)", "over bound"), ""
        )
    least = "≥ " if row["stopped"] < row["runs"] else ""
    return {
        "mean samples": f"{least}{row['mean']:,.0f}" + ("" if least else f" ± {row['error'] or 0:,.0f}"),
        "median": reached(row, "median", row["stopped"] <= row["runs"] // 2),
        "5 %": reached(row, "low"),
        "95 %": reached(row, "high"),
        "stopped": f"{row['stopped']}/{row['runs']}",
        "wrong (99 %)": f"{row['wrong']} ({row['wrong_low']:.2g}-{row['wrong_high']:.2g})",
        "over bound": "" if row["ratio"] is None else f"{least}{row['ratio']:.1f}",
    }


def reached(row: dict[str, Any], name: str, cut: bool = False) -> str:
    """A quantile as text, with ≥ where runs were cut off."""
    return f"{'≥ ' if cut or row[name] >= row['max_pulls'] else ''}{row[name]:,.0f}"
