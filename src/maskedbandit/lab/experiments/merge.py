"""Several folders of results of one experiment as one, such as those of the jobs of an array."""

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.experiment import Experiment, expand
from maskedbandit.lab.experiments.parts import FOLDER, Parts
from maskedbandit.lab.experiments.protocol_option import over
from maskedbandit.lab.experiments.table import Results, opened, provenance
from maskedbandit.lab.files import whole_file

ABOUT = ("name", "experiment", "protocol")


def experiment_of(folder: Path) -> Experiment:
    """The experiment whose results a folder holds."""
    try:
        about = pl.read_parquet_metadata(folder / "table.parquet")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InvalidValue("DIR", str(folder), "a folder with a table.parquet, as `run` writes it") from None
    text = about["experiment"]
    found = expand(about["name"], text, tomllib.loads(text))
    return over(found, about["protocol"])[0] if "protocol" in about else found


def merge(
    folders: Sequence[Path],
    out: Path,
    note: Callable[[str], object] = print,
    finish: Callable[[pl.DataFrame], object] = lambda table: None,
) -> pl.DataFrame:
    """Copy the parts of all folders to `out`, which may be one of them, and gather them as `run` does.

    A run that several folders hold is taken once. There is a `note` of runs that are in none.
    """
    experiment = experiment_of(folders[0])
    for each in folders[1:]:
        other = experiment_of(each)
        if (other.name, other.text, other.protocol) != (experiment.name, experiment.text, experiment.protocol):
            raise InvalidValue("DIR", str(each), f"a folder with results of the same experiment as {folders[0]}")
    with opened(out) as locks:
        results = Results(experiment, out, note, finish)
        for setting in experiment.settings:
            for each in folders:
                copy(Parts.of(setting, each, note), out / FOLDER)
        table = results.gathered(locks, provenance(experiment))
        for setting in experiment.settings:
            left = results.parts[setting.id].missing(range(max(setting.runs, 1)))
            if left:
                said = ", ".join(f"{each.start} to {each.stop - 1}" if len(each) > 1 else str(each[0]) for each in left)
                note(f"runs {said} of {setting.id} are missing: `run --resume` does them")
    return table


def copy(parts: Parts, folder: Path) -> None:
    """Copy parts to a folder that does not have them."""
    for _, path in parts.there():
        if not (folder / path.name).exists():
            with whole_file(folder / path.name) as file:
                file.write(path.read_bytes())
