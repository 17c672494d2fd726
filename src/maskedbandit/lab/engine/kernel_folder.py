"""The folders of compiled kernels: where they are, whether they can be trusted, and how the user's own stays small.

A wheel for one Python brings the loops of the first study, compiled for any processor of its platform, in a folder of
the package (tools/packaged_loops.py). Nothing is written there. Whoever may write there could change the package.

A file that is used is marked with the time, at most once a day. When the files of a folder take more than MOST bytes,
those that were not used for longest are removed, until three quarters are left. Any number of processes may do this at
once: a file that one of them removes while another is about to read it is compiled anew.
"""

import logging
import os
import stat
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

MOST_BYTES_KEPT = 2**30  # bytes: some thousand kernels
LEFT = 0.75  # of them, after files were removed
SECONDS_A_DAY = 86_400
SUFFIXES = (".kernel", ".compiled", ".draft")  # a draft is left behind by a process that was killed

folder_log = logging.getLogger("maskedbandit")


PACKAGED = Path(__file__).with_name("loops")  # what came with the package, in the same files as in the user's folder


def find_kernel_folder() -> Path:
    """The user's folder of compiled kernels: $MASKEDBANDIT_CACHE, or one in the user's cache folder."""
    home = os.environ.get("MASKEDBANDIT_CACHE") or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/maskedbandit"
    return Path(home).expanduser()


@cache
def is_usable_folder(where: Path) -> bool:
    """Whether the folder is there and nobody else can put files into it; it is made if it can be."""
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = where.stat()
    except OSError:
        return False
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        folder_log.warning("kernels are compiled in memory: the cache folder %s is not yours alone to write", where)
        return False
    return True


class File(NamedTuple):
    """A file of the folder, as much of it as decides when it goes."""

    used: float
    size: int
    path: str


def list_kernel_files(where: Path) -> list[File]:
    """All that is kept, what was not used for longest first."""
    found = []
    with suppress(OSError), os.scandir(where) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIXES):
                with suppress(OSError):  # another process has removed it
                    about = entry.stat()
                    found.append(File(about.st_mtime, about.st_size, entry.path))
    return sorted(found)


def mark_as_used(path: Path) -> None:
    """Remember that a file was used."""
    with suppress(OSError):  # the folder is read-only, or another process has removed the file
        if time.time() - path.stat().st_mtime > SECONDS_A_DAY:
            os.utime(path)


def prune(where: Path, most: int) -> int:
    """Remove files if there are too many; how many bytes are left."""
    found = list_kernel_files(where)
    total = sum(each.size for each in found)
    if total > most:
        for each in found:
            if total <= LEFT * most:
                break
            with suppress(OSError):
                os.unlink(each.path)
            total -= each.size
    return total


class SpaceLeft:
    """How much room is left in a folder, as far as this process knows: it looks when it first writes, and when it has
    filled what was left.
    """

    def __init__(self) -> None:
        self._left: dict[Path, int] = {}
        self.taken = 0  # bytes that this process has written

    def take(self, where: Path, size: int) -> None:
        """Count so many bytes as written."""
        self.taken += size
        self._left[where] = self._left.get(where, 0) - size
        if self._left[where] < 0:
            self._left[where] = MOST_BYTES_KEPT - prune(where, MOST_BYTES_KEPT)


ROOM = SpaceLeft()
