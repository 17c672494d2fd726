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
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import maskedbandit
from maskedbandit.errors import MaskedBanditError, ResultsExist
from maskedbandit.lab.engine import Run
from maskedbandit.lab.experiment import Experiment, Setting

DELTA = 1e-6  # where losses that are not pure are quoted


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
            "pure_epsilon": run.loss.epsilon(),
            f"epsilon_at_{DELTA:g}": run.loss.epsilon(DELTA),
            "horizon": run.horizon,
            "run": np.repeat(np.arange(runs), c),
            "t": np.tile(run.t, runs),
            "regret": run.regret.ravel(),
            "realised_regret": run.realised_regret.ravel(),
            **{name: np.repeat(values, c) for name, values in run.findings.items()},
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


def fingerprint(setting: Setting) -> str:
    """A name for a setting and all code that it may run: that of the package, and of the setting's own classes."""
    package = sorted(Path(maskedbandit.__file__).parent.rglob("*.py"))
    own = {inspect.getsourcefile(type(part)) for part in (setting.policy, setting.channel, setting.instance)}
    code = [path.read_bytes() for path in [*package, *map(Path, sorted(filter(None, own)))]]
    return hashlib.sha256(b"\0".join([repr(setting).encode(), *code])).hexdigest()[:16]


def write(table: pl.DataFrame, path: Path, metadata: dict[str, str]) -> None:
    """A Parquet file, whole or not at all."""
    draft = path.with_suffix(".draft")
    table.write_parquet(draft, metadata=metadata)
    os.replace(draft, path)


def collect(
    experiment: Experiment,
    settings: Iterable[Setting],
    out: Path,
    resume: bool = False,
    jobs: int | None = None,
    advance: Callable[[Setting, int], object] = lambda setting, runs: None,
) -> pl.DataFrame:
    """Run the settings and gather all parts of the experiment in `out/table.parquet`.

    `advance` is told of runs as they end. A part that is there already is kept if `resume`.
    """
    if (out / "table.parquet").exists() and not resume:
        raise ResultsExist(f"{out} holds results already: resume them (--resume), or choose another folder (--out)")
    about, new = provenance(experiment), not out.exists()
    paths = {s.id: out / "parts" / f"{s.id.replace('/', '-')}-{fingerprint(s)}.parquet" for s in experiment.settings}
    (out / "parts").mkdir(parents=True, exist_ok=True)
    try:
        for setting in settings:
            if resume and paths[setting.id].exists():
                advance(setting, setting.runs)
                continue
            run = setting.run(jobs=jobs, advance=partial(advance, setting, 1))
            values = {key: pl.lit(value) for key, value in setting.values.items() if not isinstance(value, dict | list)}
            named = frame(run).select(pl.lit(setting.id).alias("id"), pl.lit(setting.label).alias("label"), pl.all())
            write(named.with_columns(**values), paths[setting.id], about)
    except MaskedBanditError:  # a setting that cannot be run: leave no half of an experiment
        if new:
            shutil.rmtree(out)
        raise
    (out / "experiment.toml").write_text(experiment.text)
    table = pl.concat([pl.read_parquet(path) for path in paths.values() if path.exists()], how="diagonal_relaxed")
    write(table, out / "table.parquet", about)
    return table


def axes(table: pl.DataFrame) -> list[str]:
    """What varied, apart from the instance."""
    return [name for name in table.columns if name.startswith(("policy.", "channel."))]


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Mean regret at the horizon for every curve, and its ratio to that without privacy.

    The baseline is the same policy on a channel without privacy, or the first such curve where that policy has none.
    """
    varied = axes(table)
    final = table.filter(pl.col("t") == pl.col("horizon"))
    losses = ["pure_epsilon", f"epsilon_at_{DELTA:g}"]
    rows = final.group_by(["label", "trust", "policy", "sees", *varied], maintain_order=True).agg(
        pl.col(losses).max(),
        pl.col("regret").mean().alias("mean"),
        (pl.col("regret").std() / pl.len().sqrt()).alias("error"),
        pl.len().alias("runs"),
    )
    free = rows.filter(pl.col("trust") == "none")
    same = {row["policy"]: row["mean"] for row in reversed(list(free.iter_rows(named=True)))}
    first = free["mean"][0] if free.height else None
    bases: list[Any] = [same.get(policy, first) for policy in rows["policy"]]
    return rows.with_columns((pl.col("mean") / pl.Series(bases, dtype=pl.Float64)).alias("ratio"))
