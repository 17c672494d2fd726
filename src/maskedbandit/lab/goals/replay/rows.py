"""Click rates of replays as rows: of runs, and of their summary.

Runs on a generated log are independent: the error of their mean is computed from them. Runs on a recorded log share its
visits, so each run has the error of its own clicks, and the error of their mean is not smaller.
"""

from typing import Any

import polars as pl
from scipy.stats import t as student

from maskedbandit.lab.goals.columns import list_axes
from maskedbandit.lab.goals.result import LOSSES

NORMAL = 1.96  # standard errors of an interval of 95 %, where the standard error is known well


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Mean click rate for every curve and all that varied, relative to random choice, and its standard error.

    `interval` is half the width of a 95 % confidence interval, by Student's t if the error is estimated from few runs.

    `kept` is the fraction of the gain over random choice that is left, relative to the same policy without privacy and
    with the same delay.
    """
    varied = list_axes(table)
    alone = pl.col("recorded").first() | (pl.col("run").count() == 1)  # then its error is estimated from many clicks
    inside = (pl.col("rate_error") / pl.col("random")).mean()
    rows = table.group_by(["label", "trust", "policy", "sees", *varied], maintain_order=True).agg(
        pl.col(LOSSES).max(),
        pl.col("rate", "random", "taken", "relative").mean(),
        pl.when(alone).then(inside).otherwise(pl.col("relative").std() / pl.col("run").count().sqrt()).alias("error"),
        pl.col("run").count().alias("runs"),
        alone.alias("alone"),
    )
    wide = [
        NORMAL if row["alone"] else float(student.ppf(0.975, row["runs"] - 1)) for row in rows.iter_rows(named=True)
    ]
    rows = rows.with_columns(interval=pl.col("error") * pl.Series(wide)).drop("alone")
    every = list(rows.iter_rows(named=True))
    return rows.with_columns(pl.Series("kept", [kept(row, every, varied) for row in every], dtype=pl.Float64))


def kept(row: dict[str, Any], rows: list[dict[str, Any]], varied: list[str]) -> float | None:
    """The fraction of the gain that is left, relative to the same policy without privacy."""
    same = ["policy", *(name for name in varied if not name.startswith("channel."))]
    for other in rows:
        alike = all(other[name] == row[name] for name in same)
        if alike and other["trust"] == "none" and other["relative"] > 1:
            return float((row["relative"] - 1) / (other["relative"] - 1))
    return None


def cells(row: dict[str, Any]) -> dict[str, str]:
    """The cells of a row of the summary, as text by their headings."""
    return {
        "visits taken": f"{row['taken']:,.0f}",
        "click rate": f"{row['rate']:.4f}",
        "over random": f"{row['relative']:.3f} ± {row['error'] or 0:.3f}",
        "gain kept": "" if row["kept"] is None else f"{row['kept']:.0%}",
        "runs": str(row["runs"]),
    }
