"""Results as tidy tables in Parquet files that say where they come from.

Every setting is written as a part of its own as soon as it is done, whole or not at all; a part is named by a
digest of its setting and of the code that ran, so a run that is resumed redoes exactly what is missing or changed.
Several processes may fill one folder: a part belongs to whoever has its lock, and the last one gathers all parts.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

import maskedbandit
from maskedbandit.errors import InvalidValue, MaskedBanditError, ResultsExist
from maskedbandit.lab.experiments.experiment import Experiment
from maskedbandit.lab.experiments.fingerprint import fingerprint
from maskedbandit.lab.files import Locks, whole_file
from maskedbandit.lab.goals.columns import LOSSES
from maskedbandit.lab.goals.setting import PublishedPoint, Setting, TheoryCurve
from maskedbandit.lab.worlds.instance import Instance

LOCK = ".lock"
AnySetting = Setting | TheoryCurve | PublishedPoint


def provenance(experiment: Experiment) -> dict[str, str]:
    """What it takes to make a table again: versions, commit and the experiment's text."""
    versions = {name: version(name) for name in ("numpy", "numba", "polars", "scipy")}
    return {
        "maskedbandit": maskedbandit.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        **versions,
        "experiment": experiment.text,
        **({"protocol": experiment.protocol} if experiment.protocol else {}),
    }


def commit() -> str:
    """The commit of the checkout that the package is imported from; empty outside one."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=40", "--dirty"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def write(table: pl.DataFrame, path: Path, about: dict[str, str]) -> None:
    """A Parquet file, whole or not at all."""
    content = BytesIO()
    table.write_parquet(content, metadata=about | {"digest": digest(table)})
    with whole_file(path) as file:
        file.write(content.getbuffer())


def digest(table: pl.DataFrame) -> str:
    """A name for all values of a table."""
    return hashlib.sha256(table.write_csv().encode()).hexdigest()


def readable(path: Path) -> pl.DataFrame | None:
    """A table as it was written; None if it is not: a copy was cut short, or the disk forgot."""
    try:
        table = pl.read_parquet(path)
        return table if pl.read_parquet_metadata(path).get("digest") == digest(table) else None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None


@dataclass(frozen=True)
class Results:
    """A folder of results that this process works on, maybe beside others."""

    experiment: Experiment
    out: Path
    locks: Locks
    note: Callable[[str], object]
    paths: dict[str, Path]  # of the part of each setting, by its id

    def kept(self, setting: AnySetting) -> bool:
        """Whether the part of a setting is there. Call it under the lock of the part: a damaged one is removed."""
        path = self.paths[setting.id]
        if not path.exists():
            return False
        if readable(path) is None:
            path.unlink()
            self.note(f"{path} is damaged and was removed")
            return False
        return True

    def gather(self, about: dict[str, str]) -> pl.DataFrame:
        """The table of all parts that are there, written with its summary. Call it under the lock of the table."""
        found = []
        for path in self.paths.values():
            part = readable(path) if path.exists() else None
            if part is not None:
                found.append(part)
            elif path.exists():
                self.note(f"{path} is damaged and was left out: --resume redoes it")
        table = pl.concat(found, how="diagonal_relaxed")
        with whole_file(self.out / "experiment.toml") as file:
            file.write(self.experiment.text.encode())
        with whole_file(self.out / "summary.csv") as file:
            file.write(self.experiment.goal.summary(table).write_csv().encode())
        write(table, self.out / "table.parquet", about)  # the last, as it says that the folder holds results
        return table


def collect(
    experiment: Experiment,
    settings: Iterable[AnySetting],
    out: Path,
    resume: bool = False,
    jobs: int | None = None,
    advance: Callable[[AnySetting, int], object] = lambda setting, runs: None,
    note: Callable[[str], object] = print,
) -> pl.DataFrame:
    """Run the settings and gather all parts of the experiment in `out/table.parquet`, and its summary in a CSV file.

    `advance` is called with a setting and 0 when it begins, and with 1 as each of its runs ends. A part that is there
    already is kept; one that cannot be read is removed, with a `note`. A folder that holds a table is left alone unless
    `resume`. Processes may share a folder: each part is run by one of them, and the others wait for it.
    """
    if (out / "table.parquet").exists() and not resume:
        raise ResultsExist(f"{out} holds results already: resume them (--resume), or choose another folder (--out)")
    check(experiment)
    about, new, written = provenance(experiment), not out.exists(), list[Path]()
    paths = {s.id: out / "parts" / f"{s.id.replace('/', '-')}-{fingerprint(s)}.parquet" for s in experiment.settings}
    try:
        (out / "parts").mkdir(parents=True, exist_ok=True)
        locks = Locks(out / LOCK)
    except OSError as wrong:
        raise InvalidValue("--out", str(out), f"a folder that can be written ({wrong.strerror})") from None
    results = Results(experiment, out, locks, note, paths)

    def complete(setting: AnySetting) -> None:
        if results.kept(setting):
            advance(setting, setting.runs)
            return
        advance(setting, 0)
        write(part(experiment, setting, jobs, partial(advance, setting, 1)), paths[setting.id], about)
        written.append(paths[setting.id])

    def waits(name: str) -> None:
        note(f"waiting for another process that works on {name} in {out}")

    try:
        with locks:
            locks.in_turn({setting.id: partial(complete, setting) for setting in settings}, waits)
            tables = list[pl.DataFrame]()
            locks.in_turn({"the table": lambda: tables.append(results.gather(about))}, lambda name: None)
        return tables[0]
    except MaskedBanditError:  # a setting that cannot be run: leave no half of an experiment
        for path in written if new else ():
            path.unlink(missing_ok=True)
        raise
    finally:
        if new:
            remove_without_parts(out)


def part(experiment: Experiment, setting: AnySetting, jobs: int | None, advance: Callable[[], object]) -> pl.DataFrame:
    """The rows of a setting: run, computed or published."""
    if isinstance(setting, TheoryCurve | PublishedPoint):
        found = experiment.goal.drawn(setting)
    else:
        found = experiment.goal.run(setting, jobs=jobs, advance=advance).to_frame()
    named = found.select(pl.lit(setting.id).alias("id"), pl.lit(setting.label).alias("label"), pl.all())
    values = {key: pl.lit(shown(value)) for key, value in setting.values.items() if key not in setting.asked}
    if "delay" in values and isinstance(setting, Setting):
        values["delay"] = pl.lit(str(setting.delay))
    return named.with_columns(**values)


def remove_without_parts(out: Path) -> None:
    """Remove a folder in which nothing was written but its lock."""
    with suppress(OSError):  # it holds something
        (out / "parts").rmdir()
        (out / LOCK).unlink(missing_ok=True)
        out.rmdir()


def check(experiment: Experiment) -> None:
    """Refuse a figure of columns that no run will have; what a policy finds has a name before anything is run."""
    known = ["regret", "realised_regret", *LOSSES]
    for setting in experiment.settings:
        if experiment.value and isinstance(setting, Setting) and isinstance(setting.instance, Instance):
            start = setting.policy.init(len(setting.instance.true_means()), setting.asked["horizon"])
            known += [name for name in setting.policy.findings(start) if name not in known]
    for name in experiment.value.values():
        if name not in known:
            raise InvalidValue("value", name, f"a column of numbers: {', '.join(known)}")


def shown(value: Any) -> Any:
    """A value that varies, as it stands in a table: lists and tables as text."""
    if isinstance(value, dict):
        return ", ".join(str(each) if key == "name" else f"{key} = {shown(each)}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value
