"""Files on disk to which lines are only ever added, by one owner at a time."""

import os
import weakref
from pathlib import Path

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.process import process


class Journal:
    """A file that is locked until `close`, or until nothing refers to the journal any more.

    The lock is that of the file, not of its name, so no other path leads around it. A last line without its end is
    dropped when the file is opened: it is the beginning of an `append` that never returned.

    **Guarantee**: `append` returns only after the line is on disk, and no other journal of the file is open meanwhile.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder) / "journal")
    ...     journal.append(b"one")
    ...     journal.close()
    ...     print(Journal(Path(folder) / "journal").lines)
    [b'one']
    """

    def __init__(self, path: Path) -> None:
        try:
            import fcntl
        except ImportError:
            raise InvalidValue("path", str(path), "left out: this operating system cannot lock files") from None
        self._path = path.resolve()  # the folder that a relative path starts from may change
        self._process = process()
        file = self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.close = weakref.finalize(self, _release, file, self._process)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                allowed = "a file that nothing else has open: it is open in another process, or elsewhere in this one"
                raise InvalidValue("path", str(path), allowed) from None
            folder = os.open(self._path.parent, os.O_RDONLY)
            os.fsync(folder)  # else a new file may be gone after a loss of power
            os.close(folder)
            with open(file, "rb", closefd=False) as whole:
                content = whole.read()
            self._size = content.rfind(b"\n") + 1
            if self._size < len(content):
                os.ftruncate(file, self._size)
                os.fsync(file)
            self.lines = content[: self._size].split(b"\n")[:-1]  # those that were there when it was opened
        except BaseException:
            self.close()
            raise

    def append(self, line: bytes) -> None:
        """Add a line and wait for the disk; refuse if the file is not as this journal left it."""
        if not self.close.alive:
            raise InvalidValue("path", str(self._path), "open: this journal was closed")
        if process() != self._process:  # the lock is shared with a forked child, what is in memory is not
            raise InvalidValue("path", str(self._path), "used by the process that opened it alone, not by a fork of it")
        if not self._untouched():
            allowed = "unchanged since it was opened here: it was changed or replaced, or a write failed. Open it again"
            raise InvalidValue("path", str(self._path), allowed)
        rest = line + b"\n"
        while rest:
            rest = rest[os.write(self._file, rest) :]
        os.fsync(self._file)
        self._size += len(line) + 1

    def _untouched(self) -> bool:
        held = os.fstat(self._file)
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            return False
        return held.st_size == self._size and (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


def _release(file: int, owner: tuple[int, int]) -> None:
    """Close the file; its lock is given up by the process that opened it, or a forked child would hold it as well."""
    import fcntl

    if process() == owner:
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)
