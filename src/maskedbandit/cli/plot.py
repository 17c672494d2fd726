"""Draw the figure of a results folder again."""

import argparse
from pathlib import Path

from maskedbandit.errors import InvalidValue

EXAMPLE = "maskedbandit plot results/quickstart"


def add(parser: argparse.ArgumentParser) -> None:
    """The folder."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that `run` wrote")


def do(options: argparse.Namespace) -> None:
    """Draw the figure."""
    import polars as pl

    from maskedbandit.lab.experiments.experiment import read_experiment
    from maskedbandit.lab.experiments.figure import save_figure

    path = options.folder / "table.parquet"
    if not path.exists():
        raise InvalidValue("DIR", str(options.folder), "a folder with a table.parquet, as `run` writes it")
    try:
        table = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as wrong:
        raise InvalidValue("DIR", str(options.folder), f"a folder whose table can be read ({wrong})") from None
    save_figure(read_experiment(options.folder / "experiment.toml").draw(table), options.folder / "figure")
    print(options.folder / "figure.png")
