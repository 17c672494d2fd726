"""Columns that all results have, whatever the goal: who ran over what, what it cost a user, and what varied."""

from __future__ import annotations

from typing import Any

import polars as pl

from maskedbandit.channels.channel import real
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.goals.result import Result

DELTA = 1e-6  # where losses that are not pure are quoted
VARIED = ("policy.", "channel.", "instance.", "delay")  # how columns begin of what may vary
LOSSES = ("pure_epsilon", f"epsilon_at_{DELTA:g}")


def who(run: Result) -> dict[str, Any]:
    """What all rows of a run have in common."""
    over = f", over {type(backend).__name__}" if (backend := real(run.channel)) else ""
    return {
        **({} if run.delay == AT_ONCE else {"delay": str(run.delay)}),
        "trust": run.channel.trust,
        "policy": type(run.policy).__name__,
        "channel": type(run.channel).__name__,
        "sees": run.channel.sees + over,
        **dict(zip(LOSSES, (run.loss.epsilon(), run.loss.epsilon(DELTA)), strict=True)),
    }


def axes(table: pl.DataFrame) -> list[str]:
    """What varied, apart from the horizon, and from the seeds of instances, over which everything is averaged."""
    named = [name for name in table.columns if name.startswith(VARIED)]
    return [name for name in named if name != "instance.seed"]


def observed(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """The table with a column `observed` of independent values of the column `name`, null elsewhere.

    Where instances vary by their seed, what runs on the same one have in common does not average out over its runs:
    their mean is one observation, and stands at the first of them.
    """
    one = pl.col(name)
    if "instance.seed" in table.columns:
        one = pl.when(pl.col("run").fill_null(0) == 0).then(
            one.mean().over([each for each in ("id", "label", "t") if each in table.columns])
        )
    return table.with_columns(one.alias("observed"))
