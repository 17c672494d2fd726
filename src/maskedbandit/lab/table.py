"""Results as tidy tables: one row for each setting, run and checkpoint, in Parquet files that say where they come from.

Every setting is written as a part of its own as soon as it is done, whole or not at all; a part is named by a
digest of its setting and of the code that ran, so a run that is resumed redoes exactly what is missing or changed.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import maskedbandit
from maskedbandit import theory
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue, MaskedBanditError, ResultsExist
from maskedbandit.lab.engine import Run, checkpoints
from maskedbandit.lab.experiment import Experiment, Line, Setting
from maskedbandit.lab.instances import Instance
from maskedbandit.policies.policy import Policy

DELTA = 1e-6  # where losses that are not pure are quoted
LOSSES = ("pure_epsilon", f"epsilon_at_{DELTA:g}")


def frame(run: Run) -> pl.DataFrame:
    """One row for each run and checkpoint.

    `regret` is pseudo-regret, `realised_regret` holds the luck of the rewards; both are cumulative.
    """
    runs, c = run.regret.shape
    return pl.DataFrame(
        {
            "trust": run.channel.trust,
            "policy": type(run.policy).__name__,
            "channel": type(run.channel).__name__,
            "sees": run.channel.sees,
            **dict(zip(LOSSES, (run.loss.epsilon(), run.loss.epsilon(DELTA)), strict=True)),
            "horizon": run.horizon,
            "run": np.repeat(np.arange(runs), c),
            "t": np.tile(run.t, runs),
            "regret": run.regret.ravel(),
            "realised_regret": run.realised_regret.ravel(),
            **{name: np.repeat(values, c) for name, values in run.findings.items()},
        }
    )


def drawn(line: Line) -> pl.DataFrame:
    """A curve of theory as rows without a run, of the same form as those of a simulation."""
    marks = checkpoints(line.horizon)
    regret = theory.curve(line.theory, line.instance.true_means().tolist(), marks, line.epsilon)
    return pl.DataFrame(
        {
            "trust": "theory",
            "policy": line.theory,
            "sees": theory.CURVES[line.theory],
            **dict.fromkeys(LOSSES, line.epsilon),
            "horizon": line.horizon,
            "run": pl.Series([None] * marks.size, dtype=pl.Int64),
            "t": marks,
            "regret": regret,
        }
    )


def provenance(experiment: Experiment) -> dict[str, str]:
    """What it takes to make a table again: versions, commit and the experiment's text."""
    versions = {name: version(name) for name in ("numpy", "numba", "polars", "scipy")}
    return {
        "maskedbandit": maskedbandit.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        **versions,
        "experiment": experiment.text,
    }


def commit() -> str:
    """The commit of the checkout that the package is imported from; empty outside one."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=40", "--dirty"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def fingerprint(setting: Setting | Line) -> str:
    """A name for a setting and all code that it may run: that of the package, and of the setting's own classes."""
    parts = [part for part in vars(setting).values() if isinstance(part, Policy | Channel | Instance)]
    own = {inspect.getsourcefile(type(part)) for part in parts}
    code = [package(), *(path.read_bytes() for path in map(Path, sorted(filter(None, own))))]
    return hashlib.sha256(b"\0".join([repr(setting).encode(), *code])).hexdigest()[:16]


@cache
def package() -> bytes:
    """All code of the package, as it was when it was first asked for."""
    return b"\0".join(path.read_bytes() for path in sorted(Path(maskedbandit.__file__).parent.rglob("*.py")))


def write(table: pl.DataFrame, path: Path, metadata: dict[str, str]) -> None:
    """A Parquet file, whole or not at all."""
    draft = path.with_suffix(".draft")
    table.write_parquet(draft, metadata=metadata)
    os.replace(draft, path)


def collect(
    experiment: Experiment,
    settings: Iterable[Setting | Line],
    out: Path,
    resume: bool = False,
    jobs: int | None = None,
    advance: Callable[[Setting | Line, int], object] = lambda setting, runs: None,
    note: Callable[[str], object] = print,
) -> pl.DataFrame:
    """Run the settings and gather all parts of the experiment in `out/table.parquet`, and its summary in a CSV file.

    `advance` is told of runs as they end. A part that is there already is kept if `resume`; one that cannot be read is
    removed, with a `note`.
    """
    if (out / "table.parquet").exists() and not resume:
        raise ResultsExist(f"{out} holds results already: resume them (--resume), or choose another folder (--out)")
    check(experiment)
    about, new = provenance(experiment), not out.exists()
    paths = {s.id: out / "parts" / f"{s.id.replace('/', '-')}-{fingerprint(s)}.parquet" for s in experiment.settings}
    try:
        (out / "parts").mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InvalidValue("--out", str(out), f"a folder that can be written ({wrong.strerror})") from None
    for path in paths.values():
        if path.exists() and not readable(path):
            path.unlink()
            note(f"{path} is damaged and was removed")
    try:
        for setting in settings:
            if resume and paths[setting.id].exists():
                advance(setting, setting.runs)
                continue
            if isinstance(setting, Line):
                found = drawn(setting)
            else:
                found = frame(setting.run(jobs=jobs, advance=partial(advance, setting, 1)))
            named = found.select(pl.lit(setting.id).alias("id"), pl.lit(setting.label).alias("label"), pl.all())
            values = {key: pl.lit(shown(value)) for key, value in setting.values.items() if key != "horizon"}
            write(named.with_columns(**values), paths[setting.id], about)
    except MaskedBanditError:  # a setting that cannot be run: leave no half of an experiment
        if new:
            shutil.rmtree(out)
        raise
    (out / "experiment.toml").write_text(experiment.text)
    table = pl.concat([pl.read_parquet(path) for path in paths.values() if path.exists()], how="diagonal_relaxed")
    write(table, out / "table.parquet", about)
    summary(table).write_csv(out / "summary.csv")
    return table


def check(experiment: Experiment) -> None:
    """Refuse a figure of columns that no run will have; what a policy finds has a name before anything is run."""
    known = ["regret", "realised_regret", *LOSSES]
    for setting in experiment.settings:
        if experiment.value and isinstance(setting, Setting):
            start = setting.policy.init(len(setting.instance.true_means()), setting.horizon)
            known += [name for name in setting.policy.findings(start) if name not in known]
    for name in experiment.value.values():
        if name not in known:
            raise InvalidValue("value", name, f"a column of numbers: {', '.join(known)}")


def readable(path: Path) -> bool:
    """Whether a part is whole; a disk that was full, or a copy cut short, leaves half of one."""
    try:
        return pl.read_parquet(path).height > 0
    except (pl.exceptions.PolarsError, OSError):
        return False


def shown(value: Any) -> Any:
    """A value that varies, as it stands in a table: lists and tables as text."""
    if isinstance(value, dict):
        return ", ".join(str(each) if key == "name" else f"{key} = {shown(each)}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def axes(table: pl.DataFrame) -> list[str]:
    """What varied, apart from the horizon, and from the seeds of instances, over which everything is averaged."""
    named = [name for name in table.columns if name.startswith(("policy.", "channel.", "instance."))]
    return [name for name in named if name != "instance.seed"]


def observed(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """The table with a column `observed` of independent values of the column `name`, null elsewhere.

    Where instances vary by their seed, what runs on the same one have in common does not average out over its runs:
    their mean is one observation, and stands at the first of them.
    """
    one = pl.col(name)
    if "instance.seed" in table.columns:
        one = pl.when(pl.col("run").fill_null(0) == 0).then(one.mean().over("id", "label", "t"))
    return table.with_columns(one.alias("observed"))


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Mean regret at the horizon for every curve and all that varied, its standard error and its worst run.

    The ratio is that to the same policy on a channel without privacy, or to the first such curve where that policy has
    none; without any, to the lower bound.
    """
    varied = axes(table)
    final = observed(table.filter(pl.col("t") == pl.col("horizon")), "regret")
    rows = final.group_by(["label", "trust", "policy", "sees", *varied, "horizon"], maintain_order=True).agg(
        pl.col(LOSSES).max(),
        pl.col("regret").mean().alias("mean"),
        (pl.col("observed").std() / pl.col("observed").count().sqrt()).alias("error"),
        pl.col("regret").max().alias("worst"),
        pl.col("run").count().alias("runs"),  # of which theory has none
    )
    every = list(rows.iter_rows(named=True))
    ratios = [row["mean"] / base if (base := baseline(row, every, varied)) else None for row in every]
    return rows.with_columns(pl.Series("ratio", ratios, dtype=pl.Float64))


def baseline(row: dict[str, Any], rows: list[dict[str, Any]], varied: list[str]) -> float | None:
    """The mean regret that a row of the summary is compared with: on the same instance, for as many users."""
    place = ["horizon", *(name for name in varied if name.startswith("instance."))]
    near = [other for other in rows if all(other[name] == row[name] for name in place)]
    free = [other for other in near if other["trust"] == "none"]
    free.sort(key=lambda other: other["policy"] != row["policy"])
    least = [other for other in near if other["trust"] == "theory" and other["policy"] in theory.LOWER]
    least = [other for other in least if all(other[name] in (None, row[name]) for name in varied)]
    return next((other["mean"] for other in [*free, *least]), None)
