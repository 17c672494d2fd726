"""Parts of results: Parquet files, each with the rows of some runs of one setting, whole or not there.

A part is named by its setting, by a digest of that and of the code that ran, and by its first run and the one after its
last. So a run that is resumed redoes exactly what is missing or changed, and parts of several jobs fit together.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from types import FunctionType
from typing import Any

import polars as pl

from maskedbandit.backends.backend import Backend
from maskedbandit.channels.channel import Channel
from maskedbandit.core import Kernel
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.digest import digest_package, list_ingredients
from maskedbandit.lab.engine.each_run import split_into_ranges
from maskedbandit.lab.files import whole_file
from maskedbandit.lab.goals.columns import join_parts
from maskedbandit.lab.goals.setting import PublishedPoint, Setting, TheoryCurve
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.noises.noise import Noise
from maskedbandit.policies.policy import Policy

FOLDER = "parts"
AnySetting = Setting | TheoryCurve | PublishedPoint
MADE_OF = Policy | Channel | Noise | Backend | Instance | Contexts | Log | Delay


def write_part(table: pl.DataFrame, path: Path, about: dict[str, str]) -> None:
    """A Parquet file, whole or not at all."""
    content = BytesIO()
    table.write_parquet(content, metadata=about | {"digest": digest_table(table)})
    with whole_file(path) as file:
        file.write(content.getbuffer())


def digest_table(table: pl.DataFrame) -> str:
    """A name for all values of a table."""
    return hashlib.sha256(table.write_csv().encode()).hexdigest()


def read_part(path: Path) -> pl.DataFrame | None:
    """A table as it was written; None if it is not: a copy was cut short, or the disk forgot."""
    try:
        table = pl.read_parquet(path)
        return table if pl.read_parquet_metadata(path).get("digest") == digest_table(table) else None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None


@dataclass(frozen=True)
class Parts:
    """The parts of a setting in a folder of results; a curve that is computed or published counts as one run."""

    folder: Path
    name: str
    runs: range
    note: Callable[[str], object]

    @classmethod
    def of(cls, setting: AnySetting, out: Path, note: Callable[[str], object]) -> Parts:
        """The parts of a setting."""
        name = f"{setting.id.replace('/', '-')}-{fingerprint(setting)}"
        return cls(out / FOLDER, name, range(max(setting.runs, 1)), note)

    def path(self, runs: range) -> Path:
        """The file of these runs."""
        return self.folder / f"{self.name}-{runs.start}-{runs.stop}.parquet"

    def there(self) -> list[tuple[range, Path]]:
        """The runs and the files of all parts that are there, in the order of runs."""
        found = list[tuple[range, Path]]()
        for path in self.folder.glob(f"{self.name}-*.parquet"):
            if ends := re.fullmatch(r"-(\d+)-(\d+)", path.stem.removeprefix(self.name)):
                found.append((range(int(ends[1]), int(ends[2])), path))
        return sorted(found, key=lambda each: (each[0].start, each[0].stop))

    def count(self, wanted: range) -> int:
        """The number of these runs that are in a part."""
        return len({run for runs, _ in self.there() for run in runs if run in wanted})

    def missing(self, wanted: range) -> list[range]:
        """Which of these runs are in no part. Call it under their locks: a part that is damaged is removed."""
        kept = set[int]()
        for runs, path in self.there():
            if read_part(path) is None:
                path.unlink(missing_ok=True)
                self.note(f"{path} is damaged and was removed")
            else:
                kept |= {run for run in runs if run in wanted}
        return list(split_into_ranges(run for run in wanted if run not in kept))

    def read(self) -> pl.DataFrame | None:
        """The rows of all runs that are there, each once; None if there are none."""
        tables, left = list[pl.DataFrame](), set(self.runs)
        for runs, path in self.there():
            new = left & set(runs)
            table = read_part(path) if new else None
            if table is not None:
                left -= new
                tables.append(table.filter(pl.col("run").is_null() | pl.col("run").is_in(sorted(new))))
            elif new and path.exists():
                self.note(f"{path} is damaged and was left out: --resume redoes it")
        return join_parts(tables) if tables else None


def fingerprint(setting: AnySetting) -> str:
    """A name for a setting and all code that it may run: that of the package, and of the setting's own classes.

    How many runs it has does not matter: a run is the same beside any number of others.
    """
    kinds = [kind for each in ingredients_of(setting) for kind in type(each).mro()]
    own = {f"{kind.__module__}.{kind.__qualname__}": code(kind) for kind in kinds}
    found = [repr(replace(setting, runs=0)).encode(), digest_package().encode(), *(own[name] for name in sorted(own))]
    return hashlib.sha256(b"\0".join(found)).hexdigest()[:16]


def ingredients_of(whole: Any) -> Iterator[Any]:
    """What a setting is made of, and what that is made of: a channel's noise, its backend."""
    for each in getattr(whole, "__dict__", {}).values():
        if isinstance(each, MADE_OF):
            yield each
            yield from ingredients_of(each)


def code(kind: type) -> bytes:
    """The file of a class from elsewhere, or what its functions do if it has none, as in a notebook."""
    if kind.__module__.partition(".")[0] in ("maskedbandit", "builtins", "abc", "typing"):
        return b""
    try:
        source = inspect.getsourcefile(kind)
        if source is not None and Path(source).is_file():
            return Path(source).read_bytes()
    except (TypeError, OSError):  # no file
        pass
    functions = [getattr(each, "__func__", each) for each in vars(kind).values()]
    functions = [each.function if isinstance(each, Kernel) else each for each in functions]
    functions += [each.fget for each in functions if isinstance(each, property)]
    found = [list_ingredients(each, {}) for each in functions if isinstance(each, FunctionType)]
    return repr(found).encode()
