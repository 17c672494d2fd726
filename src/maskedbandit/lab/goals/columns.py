"""Columns that all results have, whatever the goal: policy, channel, trust model, loss of a user, and what varied."""

from __future__ import annotations

from typing import Any

import polars as pl

from maskedbandit.channels.channel import real
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.goals.result import Result

DELTA = 1e-6  # the δ of losses that are not pure
VARIED = ("policy.", "channel.", "instance.", "delay")  # prefixes of the columns of what may vary
LOSSES = ("pure_epsilon", f"epsilon_at_{DELTA:g}")


def who(run: Result) -> dict[str, Any]:
    """The columns that are the same in all rows of a run."""
    over = f", over {type(backend).__name__}" if (backend := real(run.channel)) else ""
    return {
        **({} if run.delay == AT_ONCE else {"delay": str(run.delay)}),
        "trust": run.channel.trust,
        "policy": type(run.policy).__name__,
        "channel": type(run.channel).__name__,
        "sees": run.channel.sees + over,
        **dict(zip(LOSSES, (run.loss.epsilon(), run.loss.epsilon(DELTA)), strict=True)),
    }


def together(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Parts of the runs of a setting as one table: a user's loss is the worst in all of them, and bounds go by it."""
    table = pl.concat(parts)
    worst = [pl.col(LOSSES).max(), *(pl.col(name).min() for name in ("bound",) if name in table.columns)]
    return table if len(parts) == 1 else table.with_columns(worst)


def axes(table: pl.DataFrame) -> list[str]:
    """The columns of what varied, except the horizon, and the seeds of instances, over which everything is averaged."""
    named = [name for name in table.columns if name.startswith(VARIED)]
    return [name for name in named if name != "instance.seed"]


def observed(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """The table with a column `observed` of independent values of the column `name`, null elsewhere.

    If the seed of an instance varies, runs on the same instance are not independent: their mean is one observation, in
    the row of the first of them.
    """
    one = pl.col(name)
    if "instance.seed" in table.columns:
        same, run = [each for each in ("id", "label", "t") if each in table.columns], pl.col("run").fill_null(0)
        one = pl.when(run == run.min().over(same)).then(one.mean().over(same))
    return table.with_columns(one.alias("observed"))
