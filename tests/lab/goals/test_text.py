"""Summaries as text: they fit a terminal, and nothing is left out."""

import polars as pl

from maskedbandit.lab.goals.cells import format_summary
from tests.for_each import for_each

LABELS = ("DP-SE", "a policy with quite a long name, batches that double", "bound")


def rows(**more: list) -> pl.DataFrame:
    n = len(LABELS)
    return pl.DataFrame(
        {
            "label": LABELS,
            "trust": ["central", "none", "theory"],
            "policy": ["DPSE", "UCB1", "central"],
            "sees": ["server: every reward; all others: noisy sums", "server and policy: every reward", "a bound"],
            "horizon": [10**6] * n,
            "pure_epsilon": [0.5, float("inf"), 0.25],
            "epsilon_at_1e-06": [0.5, float("inf"), 0.25],
            **more,
        }
    )


def cells(row: dict) -> dict[str, str]:
    found = {f"column {i} of many": f"{row['label'][:3]} {i}" for i in range(8)}
    return found | {"runs": "20"}


@for_each("width", [60, 80, 100, 300])
def test_a_table_fits_and_has_every_cell(width) -> None:
    found = format_summary(rows(**{"instance.means": ["C1", None, "C2"]}), cells, width)
    assert max(map(len, found.splitlines())) <= width
    assert all(f"{label[:3]} {i}" in found for label in LABELS for i in range(8))
    assert all(f"column {i} of many" in found for i in range(8))
    assert "server: every reward; all others: noisy sums" in " ".join(found.split())
    assert "bound: central, theory; a bound" in found
    assert found.count("20") == (3 + 0 if width == 300 else 1)  # what is the same in all rows is said once
    assert ("In all rows: runs 20." in found) == (width < 300)


def test_a_single_row_keeps_all_columns() -> None:
    found = format_summary(rows().head(1), cells, 80)
    assert "In all rows" not in found
    assert found.count("runs") == 1


def test_all_rows_may_be_the_same() -> None:
    found = format_summary(rows(), lambda row: {f"a long name of a column, number {i}": "7" for i in range(4)}, 80)
    assert "In all rows: a long name of a column, number 0 7, " in " ".join(found.split())
    assert max(map(len, found.splitlines())) <= 80
