"""Columns that all results have, whatever the goal: who ran over what, what it cost a user, and what varied."""

from __future__ import annotations

from collections.abc import Callable
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


def aligned(rows: pl.DataFrame, cells: Callable[[dict[str, Any]], dict[str, str]]) -> str:
    """A summary as text; `cells` are those of the goal."""
    places = [name for name in rows.columns if name.startswith(VARIED)]
    places += [name for name in ("horizon", "delta", "max_pulls") if name in rows.columns and rows[name].n_unique() > 1]
    lines = []
    for row in rows.iter_rows(named=True):
        where = {name: "" if row[name] is None else str(row[name]) for name in places}
        left = {"curve": row["label"], "trust": row["trust"], "policy": row["policy"], **where}
        left["who sees what"] = row["sees"]
        lines.append(left | {"ε of a user": epsilon(row), **cells(row)})
    head = list(lines[0])
    widths = [max(len(name), *(len(line[name]) for line in lines)) for name in head]
    pad = [str.ljust if i < len(left) else str.rjust for i in range(len(head))]
    text = [head, ["─" * width for width in widths], *(list(line.values()) for line in lines)]
    return "\n".join("  ".join(pad[i](cell, widths[i]) for i, cell in enumerate(line)).rstrip() for line in text)


def epsilon(row: dict[str, Any]) -> str:
    """What a user loses, in words that fit a cell."""
    name = next(name for name in row if name.startswith("epsilon_at_"))
    if row["pure_epsilon"] < float("inf"):
        return f"{row['pure_epsilon']:g}"
    if row[name] < float("inf"):
        return f"{row[name]:.3g} (δ = {name.removeprefix('epsilon_at_')})"
    return "no limit"
