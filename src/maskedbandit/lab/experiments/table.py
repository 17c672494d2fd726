"""Results as tidy tables in Parquet files that say where they come from.

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

import polars as pl

import maskedbandit
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue, MaskedBanditError, ResultsExist
from maskedbandit.lab.experiments.experiment import Experiment
from maskedbandit.lab.goals.columns import LOSSES
from maskedbandit.lab.goals.setting import PublishedPoint, Setting, TheoryCurve
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy


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


def fingerprint(setting: Setting | TheoryCurve | PublishedPoint) -> str:
    """A name for a setting and all code that it may run: that of the package, and of the setting's own classes."""
    parts = [part for part in vars(setting).values() if isinstance(part, Policy | Channel | Instance | Contexts | Log)]
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
    settings: Iterable[Setting | TheoryCurve | PublishedPoint],
    out: Path,
    resume: bool = False,
    jobs: int | None = None,
    advance: Callable[[Setting | TheoryCurve | PublishedPoint, int], object] = lambda setting, runs: None,
    note: Callable[[str], object] = print,
) -> pl.DataFrame:
    """Run the settings and gather all parts of the experiment in `out/table.parquet`, and its summary in a CSV file.

    `advance` is told of settings as they begin and of runs as they end. A part that is there already is kept if
    `resume`; one that cannot be read is removed, with a `note`.
    """
    if (out / "table.parquet").exists() and not resume:
        raise ResultsExist(f"{out} holds results already: resume them (--resume), or choose another folder (--out)")
    check(experiment)
    goal = experiment.goal
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
            advance(setting, 0)
            if isinstance(setting, TheoryCurve | PublishedPoint):
                found = goal.drawn(setting)
            else:
                found = goal.run(setting, jobs=jobs, advance=partial(advance, setting, 1)).to_frame()
            named = found.select(pl.lit(setting.id).alias("id"), pl.lit(setting.label).alias("label"), pl.all())
            values = {key: pl.lit(shown(value)) for key, value in setting.values.items() if key not in setting.asked}
            if "delay" in values and isinstance(setting, Setting):
                values["delay"] = pl.lit(str(setting.delay))
            write(named.with_columns(**values), paths[setting.id], about)
    except MaskedBanditError:  # a setting that cannot be run: leave no half of an experiment
        if new:
            shutil.rmtree(out)
        raise
    (out / "experiment.toml").write_text(experiment.text)
    table = pl.concat([pl.read_parquet(path) for path in paths.values() if path.exists()], how="diagonal_relaxed")
    write(table, out / "table.parquet", about)
    goal.summary(table).write_csv(out / "summary.csv")
    return table


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
