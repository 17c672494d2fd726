"""What a report of a bug needs: the versions of all that is used, and where compiled kernels are kept."""

import os
import platform
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import maskedbandit
from maskedbandit.lab.engine.kernel_folder import (
    MOST_BYTES_KEPT,
    PACKAGED,
    find_kernel_folder,
    is_usable_folder,
    list_kernel_files,
)

OURS = ("dev", "bench", "docs")  # extras of those who work on the package


def list_versions() -> list[str]:
    """One line for each thing."""
    return [f"{what:20}{value}" for what, value in list_requirements()]


def list_requirements() -> Iterator[tuple[str, str]]:
    """What it is, and its version."""
    yield "maskedbandit", f"{maskedbandit.__version__}, in {Path(maskedbandit.__file__).parent}"
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    usable_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "system", f"{platform.platform()}, {usable_cores} of {os.cpu_count()} CPUs"
    yield "SQLite of Python", sqlite3.sqlite_version
    for name, extras in required().items():
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, f"not installed (it comes with {', '.join(extras)})"
    kept, where = list_kernel_files(find_kernel_folder()), find_kernel_folder()
    size = f"{sum(each.size for each in kept) / 2**20:.0f} of at most {MOST_BYTES_KEPT / 2**20:.0f} MiB"
    kernels = sum(each.path.endswith(".kernel") for each in kept)
    unusable = "" if is_usable_folder(where) else ", which cannot be used"
    yield "compiled kernels", f"{kernels}, {size}, in {where}{unusable}"
    loops = sum(each.path.endswith(".kernel") for each in list_kernel_files(PACKAGED))
    yield "compiled loops", f"{loops} came with the package"


def required() -> dict[str, list[str]]:
    """The packages that ours needs, and the extras of each."""
    found, lines = dict[str, list[str]](), list[str]()
    with suppress(PackageNotFoundError):  # it runs from its source, without being installed
        lines = requires("maskedbandit") or []
    for line in lines:
        name, extra = re.match(r"[\w.-]+", line), re.search(r"extra == ['\"](\w+)['\"]", line)
        if name and name[0] != "maskedbandit" and not (extra and extra[1] in OURS):
            found.setdefault(name[0], []).extend([extra[1]] if extra else [])
    return found
