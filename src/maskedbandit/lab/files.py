"""Files of results: each is whole or not there, and processes that share a folder take turns."""

import errno
import hashlib
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

PAUSE = 0.2  # seconds until a process that waits for others looks again
FIRST_TRY = range(1)  # the numbers of a name that is locked as a whole
LOCKED_BYTE = 2**62  # the byte that everybody shares who has the file open
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)  # how file systems say that they have none


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which gets its name once it is on disk; until then it is a draft that no other process writes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "result") as file:
    ...         _ = file.write(b"all of it")
    ...     [each.name for each in Path(folder).iterdir()]
    ['result']
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.draft")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException as wrong:
        with suppress(OSError):
            draft.unlink()
        if isinstance(wrong, OSError) and not wrong.filename:  # a write says nothing of its file
            wrong.filename = str(path)
        raise


class Locks:
    """Locks between processes, any number in one file. The system frees those of a process that ends, however it ends.

    They do not hold between threads of one process. On a system without `fcntl` (Windows), and on a file system that
    has no locks, they do not hold at all.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Locks(Path(folder) / "lock") as locks, locks.held("part 1") as mine:
    ...     mine
    True
    """

    def __init__(self, path: Path) -> None:
        while True:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            here = take_lock(self._file, "LOCK_SH", LOCKED_BYTE, 1)
            with suppress(FileNotFoundError):  # what was removed in between is locked for nobody
                if here and os.path.samestat(os.fstat(self._file), path.stat()):
                    break
            os.close(self._file)
            time.sleep(0 if here else PAUSE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    @contextmanager
    def held(self, name: str, numbers: range = FIRST_TRY) -> Iterator[bool]:
        """Whether this process got the locks of these numbers of a name, which it then has to the end of the block."""
        # a lock is that of one byte, which need not be there; names meet with a chance of 2^-37
        start = (int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 27 << 24) + numbers.start
        mine = take_lock(self._file, "LOCK_EX", start, len(numbers))
        try:
            yield mine
        finally:
            if mine:
                take_lock(self._file, "LOCK_UN", start, len(numbers))

    @contextmanager
    def waited(self, name: str, patience: float = math.inf) -> Iterator[None]:
        """This process has the lock of a name to the end of the block, or has waited for so many seconds in vain."""
        end = time.monotonic() + patience
        while True:
            with self.held(name) as mine:
                if mine or time.monotonic() >= end:
                    yield
                    return
            time.sleep(PAUSE)

    def alone(self) -> bool:
        """Whether no other process has the file open; if so, none has before this one closes it."""
        return take_lock(self._file, "LOCK_EX", LOCKED_BYTE, 1)

    def in_turn(self, tasks: Mapping[tuple[str, range], Callable[[], object]], waits: Callable[[str], object]) -> None:
        """Do every task under its locks: first those that no other process has, the rest as they get free.

        `waits` is called once, with the name of a task, if there is nothing else to do.
        """
        left, quiet = dict(tasks), True
        while left:
            busy = {}
            for (name, numbers), task in left.items():
                with self.held(name, numbers) as mine:
                    if mine:
                        task()
                    else:
                        busy[name, numbers] = task
            if len(busy) == len(left):
                if quiet:
                    waits(next(iter(busy))[0])
                quiet = False
                time.sleep(PAUSE)
            left = busy


def take_lock(file: int, how: str, start: int, length: int) -> bool:
    """Whether these bytes could be locked, or where no locks are."""
    try:
        import fcntl
    except ImportError:
        return True
    kind: int = getattr(fcntl, how)
    try:
        fcntl.lockf(file, kind | (0 if how == "LOCK_UN" else fcntl.LOCK_NB), length, start)
    except OSError as wrong:
        if wrong.errno in NO_LOCKS:
            return True
        if wrong.errno in (errno.EAGAIN, errno.EACCES):  # systems differ in how they say that another process has it
            return False
        raise
    return True
