"""Columns of what varied, and the observations that a mean is taken of."""

from collections.abc import Iterable

import polars as pl

from maskedbandit.lab.goals.cells import VARIED
from maskedbandit.lab.goals.result import LOSSES


def join_parts(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Parts of the runs of a setting as one table: a user's loss is the worst in all of them, and bounds go by it."""
    table = pl.concat(parts)
    worst = [pl.col(LOSSES).max(), *(pl.col(name).min() for name in ("bound",) if name in table.columns)]
    return table if len(parts) == 1 else table.with_columns(worst)


def list_axes(table: pl.DataFrame) -> list[str]:
    """The columns of what varied, except the horizon, and the seeds of instances, over which everything is averaged."""
    named = [name for name in table.columns if name.startswith(VARIED)]
    return [name for name in named if name != "instance.seed"]


def with_observations(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """The table with a column `observed` of independent values of the column `name`, null elsewhere.

    If the seed of an instance varies, runs on the same instance are not independent: their mean is one observation, in
    the row of the first of them.
    """
    one = pl.col(name)
    if "instance.seed" in table.columns:
        same, run = [each for each in ("id", "label", "t") if each in table.columns], pl.col("run").fill_null(0)
        one = pl.when(run == run.min().over(same)).then(one.mean().over(same))
    return table.with_columns(one.alias("observed"))


def label_curves(names: Iterable[str]) -> pl.Expr:
    """The labels of curves, with their values of these columns, as far as a curve has them."""
    parts = [pl.format(", {} {}", pl.lit(name.rpartition(".")[2]), name) for name in names]
    return pl.concat_str("label", *(pl.coalesce(part, pl.lit("")) for part in parts)).alias("label")
