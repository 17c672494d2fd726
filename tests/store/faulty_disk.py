"""A disk that fails when a test says so, as a layer between SQLite and the real one.

It counts writes and syncs, fails the ones that it is told to, and keeps apart what was written to each file since the
file was last synced: that is what a loss of power takes away.
"""

from collections import defaultdict
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import apsw

from tests.store.racers import LATE

NUMBERS = count()


class Write(NamedTuple):
    """Something that was written, or, without data, where the file was cut."""

    offset: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        """Do it to what is in the file."""
        if self.data is None:
            del content[self.offset :]
            return
        content.extend(bytes(max(0, self.offset - len(content))))
        content[self.offset : self.offset + len(self.data)] = self.data


class Failing(NamedTuple):
    """Which calls fail: those of this kind, from the `first` to the `last`, counted from 1."""

    kind: str  # write or sync
    error: Callable[[], Exception]
    first: int
    last: float
    short: bool = False  # half of what was to be written gets there


def disk_full() -> Exception:
    """No space is left."""
    return apsw.FullError("injected: the disk is full")


def failed_write() -> Exception:
    """The disk failed."""
    why = apsw.IOError("injected: a write failed")
    why.extendedresult = apsw.SQLITE_IOERR_WRITE
    return why


def failed_sync() -> Exception:
    """The disk failed, and what it has kept is unknown."""
    why = apsw.IOError("injected: a sync failed")
    why.extendedresult = apsw.SQLITE_IOERR_FSYNC
    return why


FAULTS = {  # by name: which calls, with which error, whether a part is written
    "disk full": ("write", disk_full, False),
    "failed write": ("write", failed_write, False),
    "short write": ("write", disk_full, True),
    "failed sync": ("sync", failed_sync, False),
}


class Disk(apsw.VFS):
    """The layer; `name` is for `Sqlite(path, vfs=name)`."""

    def __init__(self) -> None:
        self.name = f"faulty{next(NUMBERS)}"
        self.calls = {"write": 0, "sync": 0}
        self.failing: Failing | None = None
        self.stalled: Event | None = None  # syncs wait for it
        self.waiting = Event()  # a sync waits
        self.synced: dict[str, bytearray] = {}
        self.unsynced: dict[str, list[Write]] = defaultdict(list)
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.synced.pop(filename, None)
        self.unsynced.pop(filename, None)

    def fail(self, fault: str, first: int, times: float = 1) -> None:
        """Fail the calls from now on with this fault: the first is the next one of its kind if `first` is 1."""
        kind, error, short = FAULTS[fault]
        first += self.calls[kind]
        self.failing = Failing(kind, error, first, first + times - 1, short)

    def mend(self) -> None:
        """Fail no more."""
        self.failing = None

    def fails(self, kind: str) -> Failing | None:
        """Count a call, and say whether it fails."""
        self.calls[kind] += 1
        found = self.failing
        return found if found and found.kind == kind and found.first <= self.calls[kind] <= found.last else None

    def lose_power(self, folder: Path, survives: Callable[[], bool] = lambda: False) -> None:
        """Write what a loss of power leaves to a folder: all that was synced, and what `survives` of the rest."""
        for name, content in self.synced.items():
            left = bytearray(content)
            for write in self.unsynced[name]:
                if survives():
                    write.apply(left)
            (folder / Path(name).name).write_bytes(left)


class File(apsw.VFSFile):
    """An open file of the disk."""

    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._path = name if isinstance(name, str) else name.filename() if name else ""
        if self._path and self._path not in disk.synced:
            path = Path(self._path)
            disk.synced[self._path] = bytearray(path.read_bytes() if path.exists() else b"")
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        if failing := self._disk.fails("write"):
            if failing.short:
                self._write(data[: len(data) // 2], offset)
            raise failing.error()
        self._write(data, offset)

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._disk.unsynced[self._path].append(Write(size, None))

    def xSync(self, flags: int) -> None:
        if self._disk.stalled:
            self._disk.waiting.set()
            self._disk.stalled.wait(LATE)
        if failing := self._disk.fails("sync"):
            raise failing.error()
        super().xSync(flags)
        for write in self._disk.unsynced.pop(self._path, ()):
            write.apply(self._disk.synced[self._path])

    def excepthook(self, *error: Any) -> bool:
        """A fault where SQLite asks for no answer, as when it closes a file."""
        return True

    def _write(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._disk.unsynced[self._path].append(Write(offset, bytes(data)))
