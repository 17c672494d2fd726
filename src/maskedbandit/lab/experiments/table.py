"""Results as tidy tables in Parquet files that say where they come from.

Every setting is written as a part of its own as soon as it is done (parts.py), and at an interrupt as much of it as is
done. Several processes may fill one folder: a run belongs to whoever has its lock, and the last one gathers all parts.
"""

import platform
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

import maskedbandit
from maskedbandit.errors import InvalidValue, MaskedBanditError, ResultsExist
from maskedbandit.lab.engine.each_run import MOST_RUNS, Ended, Interrupted, Workers, split_into_ranges
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.experiments.experiment import Experiment, expand_settings
from maskedbandit.lab.experiments.parts import FOLDER, AnySetting, Parts, write_part
from maskedbandit.lab.experiments.protocol_option import put_over_protocol
from maskedbandit.lab.files import Locks, whole_file
from maskedbandit.lab.goals.result import LOSSES
from maskedbandit.lab.goals.setting import PublishedPoint, Setting, TheoryCurve
from maskedbandit.lab.worlds.instance import Instance

LOCK = ".lock"
EVERY = range(MOST_RUNS)


def provenance(experiment: Experiment) -> dict[str, str]:
    """The data needed to make a table again: versions, commit and the experiment's text."""
    versions = {name: version(name) for name in ("numpy", "numba", "polars", "scipy")}
    return {
        "maskedbandit": maskedbandit.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        **versions,
        "name": experiment.name,
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


@dataclass(frozen=True)
class Results:
    """A folder of results that this process works on, maybe beside others."""

    experiment: Experiment
    out: Path
    note: Callable[[str], object]
    finish: Callable[[pl.DataFrame], object]

    @cached_property
    def parts(self) -> dict[str, Parts]:
        """The parts of each setting, by its id."""
        return {each.id: Parts.of(each, self.out, self.note) for each in self.experiment.settings}

    def gathered(self, locks: Locks, about: dict[str, str]) -> pl.DataFrame:
        """The table of all parts that are there, written with its summary, by one process at a time."""
        with locks.waited("the table"):
            found = [part for each in self.parts.values() if (part := each.read()) is not None]
            if not found:
                raise InvalidValue("results", str(self.out), "a folder with parts of this experiment, by this code")
            table = pl.concat(found, how="diagonal_relaxed")
            with whole_file(self.out / "experiment.toml") as file:
                file.write(self.experiment.text.encode())
            with whole_file(self.out / "summary.csv") as file:
                file.write(self.experiment.shown.summary(table).write_csv().encode())
            write_part(table, self.out / "table.parquet", about)  # the last, as it says that the folder holds results
            self.finish(table)
            return table


def collect_results(
    experiment: Experiment,
    settings: Iterable[AnySetting],
    out: Path,
    resume: bool = False,
    executor: Workers = Threads,
    advance: Callable[[AnySetting, int], object] = lambda setting, runs: None,
    note: Callable[[str], object] = print,
    runs: range = EVERY,
    finish: Callable[[pl.DataFrame], object] = lambda table: None,
) -> pl.DataFrame:
    """Run the settings and gather all parts of the experiment in `out/table.parquet`, and its summary in a CSV file.

    `advance` is called with a setting and 0 when it begins, and with 1 for each of its runs that is done. What is there
    already is kept; a part that cannot be read is removed, with a `note`. A folder that holds a table is left alone
    unless `resume`. Of every setting those of `runs` are done that it has. `finish` is called with the table, by one
    process at a time. Processes may share a folder: each run is done by one of them, and the others wait for it. An
    interrupt keeps the runs that had come back, and a `note` says how many there are.
    """
    if (out / "table.parquet").exists() and not resume:
        raise ResultsExist(f"{out} holds results already: resume them (--resume), or choose another folder (--out)")
    check_figure(experiment)
    about, new, written = provenance(experiment), not out.exists(), list[Path]()
    results = Results(experiment, out, note, finish)

    def complete(setting: AnySetting, wanted: range) -> None:
        parts = results.parts[setting.id]
        missing = parts.missing(wanted)
        left = sum(map(len, missing))
        if not left or len(wanted) > left:
            advance(setting, min(len(wanted) - left, setting.runs))
        for each in missing:
            advance(setting, 0)
            try:
                keep(setting, each, executor, partial(advance, setting, 1))
            except Interrupted as cut:
                for some in split_into_ranges(sorted(cut.found)):
                    with suppress(Interrupted):  # of a log that is recorded, no run is known before the first
                        keep(setting, some, Ended(cut.found), lambda: None)
                raise

    def keep(setting: AnySetting, some: range, workers: Workers, heard: Callable[[], object]) -> None:
        path = results.parts[setting.id].path(some)
        write_part(part(experiment, setting, some, workers, heard), path, about)
        written.append(path)

    def waits(name: str) -> None:
        note(f"waiting for another process that works on {name} in {out}")

    wanted = [(each, runs_of(each, runs)) for each in settings]
    with open_locks(out) as locks:
        try:
            locks.in_turn({(each.id, some): partial(complete, each, some) for each, some in wanted if some}, waits)
            return results.gathered(locks, about)
        except KeyboardInterrupt:
            done = sum(results.parts[each.id].count(some) for each, some in wanted if each.runs)
            whole = sum(len(some) for each, some in wanted if each.runs)
            note(f"{done} of {whole} runs are kept in {out}: --resume goes on from there" if done else "no run is kept")
            raise
        except MaskedBanditError:  # a setting that cannot be run: leave no half of an experiment
            for path in written if new else ():
                path.unlink(missing_ok=True)
            raise
        finally:
            if new and locks.alone():
                remove_without_parts(out)


def runs_of(setting: AnySetting, runs: range) -> range:
    """The requested runs that a setting has; a curve that is computed or published is one run."""
    return range(runs.start, min(runs.stop, setting.runs)) if setting.runs else range(1)


def open_locks(out: Path) -> Locks:
    """The locks of a folder, which is made; whoever else made it may remove it again in between."""
    while True:
        try:
            out.mkdir(parents=True, exist_ok=True)
            locks = Locks(out / LOCK)
            (out / FOLDER).mkdir(exist_ok=True)
            return locks
        except FileNotFoundError:
            continue
        except OSError as wrong:
            raise InvalidValue("--out", str(out), f"a folder that can be written ({wrong.strerror})") from None


def part(
    experiment: Experiment, setting: AnySetting, runs: range, executor: Workers, advance: Callable[[], object]
) -> pl.DataFrame:
    """The rows of some runs of a setting, or of one that is computed or was published."""
    if isinstance(setting, TheoryCurve | PublishedPoint):
        found = experiment.shown.tabulate_curve(setting)
    else:
        some = replace(setting, runs=len(runs))
        found = experiment.goal.run(some, runs_from=runs.start, executor=executor, advance=advance).to_frame()
    named = found.select(pl.lit(setting.id).alias("id"), pl.lit(setting.label).alias("label"), pl.all())
    values = {key: pl.lit(shown_value(value)) for key, value in setting.values.items() if key not in setting.task}
    if "delay" in values and isinstance(setting, Setting):
        values["delay"] = pl.lit(str(setting.delay))
    return named.with_columns(**values)


def remove_without_parts(out: Path) -> None:
    """Remove a folder in which nothing was written but its lock."""
    with suppress(OSError):  # it holds something
        (out / FOLDER).rmdir()
        (out / LOCK).unlink(missing_ok=True)
        out.rmdir()


def check_figure(experiment: Experiment) -> None:
    """Refuse a figure of columns that no run will have; what a policy finds has a name before anything is run."""
    known = ["regret", "realised_regret", *LOSSES]
    for setting in experiment.settings:
        if experiment.value and isinstance(setting, Setting) and isinstance(setting.instance, Instance):
            start = setting.policy.init(len(setting.instance.true_means()), setting.task["horizon"])
            known += [name for name in setting.policy.findings(start) if name not in known]
    for name in experiment.value.values():
        if name not in known:
            raise InvalidValue("value", name, f"a column of numbers: {', '.join(known)}")


def shown_value(value: Any) -> Any:
    """A value that varies, as it stands in a table: lists and tables as text."""
    if isinstance(value, dict):
        return ", ".join(str(each) if key == "name" else f"{key} = {shown_value(each)}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def experiment_of(folder: Path) -> Experiment:
    """The experiment whose results a folder holds."""
    try:
        about = pl.read_parquet_metadata(folder / "table.parquet")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InvalidValue("DIR", str(folder), "a folder with a table.parquet, as `run` writes it") from None
    text = about["experiment"]
    found = expand_settings(about["name"], text, tomllib.loads(text))
    return put_over_protocol(found, about["protocol"])[0] if "protocol" in about else found


def merge_results(
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
    with open_locks(out) as locks:
        results = Results(experiment, out, note, finish)
        for setting in experiment.settings:
            for each in folders:
                copy_parts(Parts.of(setting, each, note), out / FOLDER)
        table = results.gathered(locks, provenance(experiment))
        for setting in experiment.settings:
            left = results.parts[setting.id].missing(range(max(setting.runs, 1)))
            if left:
                said = ", ".join(f"{each.start} to {each.stop - 1}" if len(each) > 1 else str(each[0]) for each in left)
                note(f"runs {said} of {setting.id} are missing: `run --resume` does them")
    return table


def copy_parts(parts: Parts, folder: Path) -> None:
    """Copy parts to a folder that does not have them."""
    for _, path in parts.there():
        if not (folder / path.name).exists():
            with whole_file(folder / path.name) as file:
                file.write(path.read_bytes())
