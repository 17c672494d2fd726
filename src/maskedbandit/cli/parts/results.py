"""What `run` and `merge` show at the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from maskedbandit.lab.experiments.experiment import Experiment


def finished(experiment: Experiment, out: Path) -> Callable[[pl.DataFrame], None]:
    """What is done with a table as it is written: its figure is drawn."""
    from maskedbandit.lab.experiments.figure import save

    return lambda table: save(experiment.draw(table), out / "figure")


def show(experiment: Experiment, table: pl.DataFrame, out: Path) -> None:
    """Print the summary of a table, and where everything is."""
    from maskedbandit.lab.goals.cells import text

    if experiment.about:
        print(f"\n{experiment.about}\n")
    width = shutil.get_terminal_size((80, 24)).columns
    print(text(experiment.shown.summary(table), experiment.shown.cells, width))
    print(f"\ntable   {out / 'table.parquet'}\nsummary {out / 'summary.csv'}\nfigure  {out / 'figure.png'}")
